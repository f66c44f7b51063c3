#include "selftest/conformance/shorthand.h"

#include <utility>

namespace horizon {

StreamRef NewStream(Device& device, Findings& findings, const std::string& name) {
  const absl::StatusOr<StreamRef> stream = device.CreateStream({.name = name});
  VERIFY_OK(findings, stream);
  return stream.value_or(StreamRef{});
}

EventRef NewEvent(Device& device, Findings& findings) {
  const absl::StatusOr<EventRef> event = device.CreateEvent();
  VERIFY_OK(findings, event);
  return event.value_or(EventRef{});
}

DeviceMemory NewMemory(Device& device, Findings& findings, Bytes bytes) {
  absl::StatusOr<DeviceMemory> memory = device.Allocate(bytes);
  VERIFY_OK(findings, memory);
  return memory.ok() ? *std::move(memory) : DeviceMemory();
}

absl::Status Finish(Device& device, Findings& findings, StreamRef stream) {
  const EventRef end = NewEvent(device, findings);
  const absl::Status recorded = device.Record(stream, end);
  VERIFY_OK(findings, recorded);
  return device.Await(end);
}

KernelCall KernelReturning(absl::Status status, std::shared_ptr<int> calls) {
  return [status = std::move(status), calls = std::move(calls)](const KernelContext&) {
    if (calls != nullptr) ++*calls;
    return status;
  };
}

bool MessageContains(const absl::Status& status, std::string_view part) {
  return std::string(status.message()).find(part) != std::string::npos;
}

RegisteredBytes::RegisteredBytes(Device& device, Findings& findings, Bytes bytes)
    : device_(device), findings_(findings), bytes_(bytes.value()) {
  if (bytes == 0_B) return;
  VERIFY_OK(findings_, device_.RegisterHost(bytes_));
}

RegisteredBytes::~RegisteredBytes() {
  if (bytes_.empty()) return;
  VERIFY_OK(findings_, device_.UnregisterHost(bytes_));
}

void RegisteredBytes::Fill(int salt) {
  for (size_t i = 0; i < bytes_.size(); ++i) {
    bytes_[i] = static_cast<std::byte>((i * 131 + i / 251 + static_cast<size_t>(salt) * 17) & 0xFF);
  }
}

}  // namespace horizon

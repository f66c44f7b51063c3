#include "tests/runtime/device/shorthand.h"

#include <gtest/gtest.h>

#include <utility>

namespace horizon {

StreamRef NewStream(Device& device, const std::string& name) {
  const absl::StatusOr<StreamRef> stream = device.CreateStream({.name = name});
  EXPECT_TRUE(stream.ok()) << stream.status();
  return stream.value_or(StreamRef{});
}

EventRef NewEvent(Device& device) {
  const absl::StatusOr<EventRef> event = device.CreateEvent();
  EXPECT_TRUE(event.ok()) << event.status();
  return event.value_or(EventRef{});
}

DeviceMemory NewMemory(Device& device, uint64_t bytes) {
  absl::StatusOr<DeviceMemory> memory = device.Allocate(bytes);
  EXPECT_TRUE(memory.ok()) << memory.status();
  return memory.ok() ? *std::move(memory) : DeviceMemory();
}

absl::Status Finish(Device& device, StreamRef stream) {
  const EventRef end = NewEvent(device);
  const absl::Status recorded = device.Record(stream, end);
  EXPECT_TRUE(recorded.ok()) << recorded;
  return device.Await(end);
}

Kernel Returning(absl::Status status, std::shared_ptr<int> calls) {
  return [status = std::move(status), calls = std::move(calls)](const KernelContext&) {
    if (calls != nullptr) ++*calls;
    return status;
  };
}

RegisteredBytes::RegisteredBytes(Device& device, uint64_t bytes) : device_(device), bytes_(bytes) {
  if (bytes == 0) return;
  const absl::Status status = device_.RegisterHost(bytes_);
  EXPECT_TRUE(status.ok()) << status;
}

RegisteredBytes::~RegisteredBytes() {
  if (bytes_.empty()) return;
  const absl::Status status = device_.UnregisterHost(bytes_);
  EXPECT_TRUE(status.ok()) << status;
}

void RegisteredBytes::Fill(int salt) {
  for (size_t i = 0; i < bytes_.size(); ++i) {
    bytes_[i] = static_cast<std::byte>((i * 131 + i / 251 + static_cast<size_t>(salt) * 17) & 0xFF);
  }
}

}  // namespace horizon

#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "common/units.h"
#include "runtime/device/device.h"
#include "selftest/findings.h"

namespace horizon {

// Shorthand that adds a finding and goes on with what is no stream, event or memory.
StreamRef NewStream(Device& device, Findings& findings, const std::string& name = "stream");
EventRef NewEvent(Device& device, Findings& findings);
DeviceMemory NewMemory(Device& device, Findings& findings, Bytes bytes);
// A mark behind the work so far, and its Await.
absl::Status Finish(Device& device, Findings& findings, StreamRef stream);
// A kernel that returns `status` and, if given, counts its calls.
KernelCall Returning(absl::Status status, std::shared_ptr<int> calls = nullptr);
// Whether the message of an error has `part` in it.
bool Says(const absl::Status& status, std::string_view part);

// Bytes of the host, registered with the device for as long as they live. A refusal is a finding.
class RegisteredBytes {
 public:
  RegisteredBytes(Device& device, Findings& findings, Bytes bytes);
  RegisteredBytes(const RegisteredBytes&) = delete;
  RegisteredBytes& operator=(const RegisteredBytes&) = delete;
  ~RegisteredBytes();

  std::byte* data() { return bytes_.data(); }
  std::byte& operator[](uint64_t index) { return bytes_[index]; }
  uint64_t size() const { return bytes_.size(); }
  // Bytes that tell their place, different for each `salt`.
  void Fill(int salt);
  bool Equals(const RegisteredBytes& other) const { return bytes_ == other.bytes_; }

 private:
  Device& device_;
  Findings& findings_;
  std::vector<std::byte> bytes_;
};

}  // namespace horizon

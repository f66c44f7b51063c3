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

// Helpers for conformance checks. These three create a stream, an event or memory; on failure they
// add a finding and return an empty one, so that the check can go on.
StreamRef NewStream(Device& device, Findings& findings, const std::string& name = "stream");
EventRef NewEvent(Device& device, Findings& findings);
DeviceMemory NewMemory(Device& device, Findings& findings, Bytes bytes);
// Waits for all work on the stream so far: records a new event and awaits it. Returns the status of
// Await.
absl::Status Finish(Device& device, Findings& findings, StreamRef stream);
// A kernel that returns `status`. If `calls` is given, it counts the calls there.
KernelCall KernelReturning(absl::Status status, std::shared_ptr<int> calls = nullptr);
// Whether the message of an error contains `part`.
bool MessageContains(const absl::Status& status, std::string_view part);

// Host bytes that are registered (page-locked) with the device while this object exists. A failure
// to register or unregister them is a finding.
class RegisteredBytes {
 public:
  RegisteredBytes(Device& device, Findings& findings, Bytes bytes);
  RegisteredBytes(const RegisteredBytes&) = delete;
  RegisteredBytes& operator=(const RegisteredBytes&) = delete;
  ~RegisteredBytes();

  std::byte* data() { return bytes_.data(); }
  std::byte& operator[](uint64_t index) { return bytes_[index]; }
  uint64_t size() const { return bytes_.size(); }
  // Fills the bytes with a pattern that differs by position and by `salt`.
  void Fill(int salt);
  bool Equals(const RegisteredBytes& other) const { return bytes_ == other.bytes_; }

 private:
  Device& device_;
  Findings& findings_;
  std::vector<std::byte> bytes_;
};

}  // namespace horizon

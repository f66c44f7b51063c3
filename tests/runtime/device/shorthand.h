#pragma once

#include <cstdint>
#include <string>

#include "runtime/device/device.h"
#include "selftest/conformance/shorthand.h"
#include "tests/selftest/conformance/test_findings.h"

namespace horizon {

// The shorthand of the conformance suite for tests: what would be a finding there fails the test,
// which goes on.
inline StreamRef NewStream(Device& device, const std::string& name = "stream") {
  TestFindings findings;
  return NewStream(device, findings, name);
}
inline EventRef NewEvent(Device& device) {
  TestFindings findings;
  return NewEvent(device, findings);
}
inline DeviceMemory NewMemory(Device& device, Bytes bytes) {
  TestFindings findings;
  return NewMemory(device, findings, bytes);
}
inline absl::Status Finish(Device& device, StreamRef stream) {
  TestFindings findings;
  return Finish(device, findings, stream);
}

// Findings first: they die last, with what the bytes found when they were unregistered.
class TestBytes : private TestFindings, public RegisteredBytes {
 public:
  TestBytes(Device& device, Bytes bytes) : RegisteredBytes(device, *this, bytes) {}
};

}  // namespace horizon

#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "runtime/device/device.h"

namespace horizon {

// What every device must do (runtime/device/device.h), as one suite. A device takes part with
//
//   INSTANTIATE_TEST_SUITE_P(Mine, DeviceConformance, testing::Values(DeviceFactory{...}));
struct DeviceFactory {
  std::string name;
  // Tests of order are run with seeds 0 .. seeds - 1; a device without a will of its own has 1.
  int seeds = 1;
  std::function<absl::StatusOr<std::unique_ptr<Device>>(uint64_t capacity, Clock* clock,
                                                        uint64_t seed)>
      create;

  friend void PrintTo(const DeviceFactory& factory, std::ostream* out) { *out << factory.name; }
};

class DeviceConformance : public testing::TestWithParam<DeviceFactory> {
 protected:
  static constexpr uint64_t kCapacity = uint64_t{1} << 16;

  std::unique_ptr<Device> Make(uint64_t capacity = kCapacity, uint64_t seed = 0);
  // Calls `test` with a fresh device of every seed.
  void ForEachSeed(const std::function<void(Device&)>& test);

  VirtualClock clock_{VirtualClock::Mode::kSleepAdvances};
};

// Shorthand that fails the test and goes on with what is no stream, event or memory.
StreamRef NewStream(Device& device, const std::string& name = "stream");
EventRef NewEvent(Device& device);
DeviceMemory NewMemory(Device& device, uint64_t bytes);
// A mark behind the work so far, and its Await.
absl::Status Finish(Device& device, StreamRef stream);
// A kernel that returns `status` and, if given, counts its calls.
Kernel Returning(absl::Status status, std::shared_ptr<int> calls = nullptr);

// Bytes of the host, registered with the device for as long as they live.
class RegisteredBytes {
 public:
  RegisteredBytes(Device& device, uint64_t bytes);
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
  std::vector<std::byte> bytes_;
};

}  // namespace horizon

#pragma once

#include <gtest/gtest.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "runtime/device/device.h"
#include "tests/runtime/device/chain.h"
#include "tests/runtime/device/shorthand.h"

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
  DoubleWords double_words = DoubleWordsOnHost;
  // Whether time that a kernel lets pass on the clock is the device's time too.
  bool kernels_take_the_clocks_time = true;

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

}  // namespace horizon

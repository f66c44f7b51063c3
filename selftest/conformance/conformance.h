#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/units.h"
#include "runtime/device/device.h"
#include "selftest/conformance/chain.h"
#include "selftest/findings.h"

namespace horizon {

// What every device must do (runtime/device/device.h), as one suite of checks. To check a device:
//
//   const DeviceFactory factory{.name = "mine", .create = ...};
//   for (const ConformanceCheck& check : ConformanceChecks()) {
//     Findings findings;
//     check.run(factory, findings);
//     if (!findings.none()) ...  // the device does not conform
//   }

// How a check gets its devices: one after the other, each gone before the next is created.
struct DeviceFactory {
  std::string name;
  // Checks of order are run with seeds 0 .. seeds - 1; a device without a will of its own has 1.
  int seeds = 1;
  // A fresh device with `capacity` of memory, at most 16 MiB. The clock outlives it.
  std::function<absl::StatusOr<std::unique_ptr<Device>>(Bytes capacity, Clock* clock,
                                                        uint64_t seed)>
      create;
  DoubleWords double_words = DoubleWordsOnHost;
  // Whether time that a kernel lets pass on the clock is the device's time too.
  bool kernels_take_the_clocks_time = true;
};

struct ConformanceCheck {
  std::string_view name;  // what holds, in one word: CancelEndsAllWork
  // Runs the check and adds what does not hold. All devices are gone when it returns; it does not
  // if a call of the device hangs.
  void (*run)(const DeviceFactory& factory, Findings& findings);
};

// All checks, simple ones first: what is found there explains what is found later.
std::span<const ConformanceCheck> ConformanceChecks();

}  // namespace horizon

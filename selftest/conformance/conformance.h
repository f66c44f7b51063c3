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
#include "selftest/conformance/pipeline.h"
#include "selftest/findings.h"

namespace horizon {

// The conformance suite: checks of what every Device must do (runtime/device/device.h). To check a
// device:
//
//   const DeviceFactory factory{.name = "mine", .create = ...};
//   for (const ConformanceCheck& check : ConformanceChecks()) {
//     Findings findings;
//     check.run(factory, findings);
//     if (!findings.none()) ...  // the device does not conform
//   }

// How a check creates its devices. It creates them one after the other, and destroys each before
// the next.
struct DeviceFactory {
  std::string name;
  // Checks of ordering run with seeds 0 to seeds - 1. A device that reorders work at random has
  // several, an ordinary device has 1.
  int seeds = 1;
  // Creates a device with `capacity` bytes of memory, at most 16 MiB. The clock outlives it.
  std::function<absl::StatusOr<std::unique_ptr<Device>>(Bytes capacity, Clock* clock,
                                                        uint64_t seed)>
      create;
  DoubleWords double_words = DoubleWordsOnHost;
  // Whether the device's event times are times of `clock`, so that a kernel that sleeps on the
  // clock for 7 ns takes exactly 7 ns. False for CUDA.
  bool device_time_is_clock_time = true;
};

// One check of the suite.
struct ConformanceCheck {
  std::string_view name;  // what holds, in one word: CancelEndsAllWork
  // Runs the check and adds a finding for everything that does not hold. It destroys all devices
  // before it returns. It does not return if a call of the device hangs.
  void (*run)(const DeviceFactory& factory, Findings& findings);
};

// All checks, simple ones first, since their findings explain those of later checks.
std::span<const ConformanceCheck> ConformanceChecks();

}  // namespace horizon

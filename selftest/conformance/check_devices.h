#pragma once

#include <cstdint>
#include <memory>

#include "absl/functional/function_ref.h"
#include "common/clock.h"
#include "common/units.h"
#include "runtime/device/device.h"
#include "selftest/conformance/conformance.h"
#include "selftest/findings.h"

namespace horizon {

// The devices of one check, with a clock that goes on by sleeping alone. Both arguments and this
// outlive the devices.
class CheckDevices {
 public:
  static constexpr Bytes kCapacity = 64_KiB;

  CheckDevices(const DeviceFactory& factory, Findings& findings)
      : factory_(factory), findings_(findings) {}

  // A fresh device; null, and a finding, if there is none.
  std::unique_ptr<Device> Make(Bytes capacity = kCapacity, uint64_t seed = 0);
  // Calls `check` with a fresh device of every seed, up to the first seed with a finding, which
  // names the seed.
  void ForEachSeed(absl::FunctionRef<void(Device& device)> check);
  // The seeds alone, for a check that creates and ends its devices itself.
  void ForSeeds(absl::FunctionRef<void(uint64_t seed)> check);
  VirtualClock& clock() { return clock_; }

 private:
  const DeviceFactory& factory_;
  Findings& findings_;
  VirtualClock clock_{VirtualClock::Mode::kSleepAdvances};
};

}  // namespace horizon

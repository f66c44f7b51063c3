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

// Creates the devices of one conformance check. They share a virtual clock, on which a sleep
// returns at once and advances the time. `factory`, `findings` and this object must outlive the
// devices.
class CheckDevices {
 public:
  static constexpr Bytes kCapacity = 64_KiB;

  CheckDevices(const DeviceFactory& factory, Findings& findings)
      : factory_(factory), findings_(findings) {}

  // Creates a device; returns null and adds a finding if that fails.
  std::unique_ptr<Device> Make(Bytes capacity = kCapacity, uint64_t seed = 0);
  // Calls `check` with a new device for every seed of the factory, up to the first seed with a
  // finding. The finding names the seed.
  void ForEachSeed(absl::FunctionRef<void(Device& device)> check);
  // The same with the seeds only, for a check that creates and destroys its devices itself.
  void ForSeeds(absl::FunctionRef<void(uint64_t seed)> check);
  VirtualClock& clock() { return clock_; }

 private:
  const DeviceFactory& factory_;
  Findings& findings_;
  VirtualClock clock_{VirtualClock::Mode::kSleepAdvances};
};

}  // namespace horizon

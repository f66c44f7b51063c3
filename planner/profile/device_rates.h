#pragma once

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/units.h"
#include "kernels/arguments/values.h"
#include "kernels/kernel_table.h"
#include "runtime/device/device.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// A device whose rates are to be measured, through the calls a run makes of it.
struct RatedDevice {
  Device& device;
  const KernelTable& kernels;  // of that device
  DeviceContext* device_context = nullptr;
  ValueType values = ValueType::kBf16;  // of its activations and weights
  int threads = 1;                      // of the host, where its kernels run there
};

struct DeviceRates {
  Seconds time{4};  // all measurements together
  // Of the largest matrix to multiply, at least kLeastMatrixBytes, whole kDeviceAlignment.
  Bytes matrix_bytes;
  std::string when;  // the date, for the profile
};
inline constexpr Bytes kLeastMatrixBytes = 512_KiB;
inline constexpr Bytes kUsualMatrixBytes = 32_MiB;
// The capacity of a CUDA device, or of device host, that measuring takes.
Bytes CudaRatingBytes(const DeviceRates& rates);
Bytes HostRatingBytes(const DeviceRates& rates, int threads);

// Fills in the rates of `device` and `link`, each marked `measured` with repeats and spread:
// products by rows, attention by sequence, passes over elements, launches, copies by size and way
// and both ways at once. Times are those the device's events tell. Sizes ascend as long as there is
// time for them, so a slow device has shorter curves; each has at least one point. What a pageable
// copy reaches is computed from a pinned one and a copy by one thread (`host.pack`, which is
// measured before). Leaves nothing on the device. Errors of the device and its kernels.
absl::Status MeasureDeviceRates(Clock& clock, const RatedDevice& rated, const DeviceRates& rates,
                                HardwareProfile& profile);

}  // namespace horizon

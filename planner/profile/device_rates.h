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

// The device to measure. It is measured through the same calls that a run makes.
struct RatedDevice {
  Device& device;
  const KernelTable& kernels;               // the kernels of that device
  DeviceContext* device_context = nullptr;  // of a CUDA device; nullptr: device `host`
  ValueType values = ValueType::kBf16;      // type of its activations and weights
  int threads = 1;                          // host threads, if its kernels run on the host
};

// How to measure the rates of a device.
struct DeviceRateOptions {
  Seconds time{4};  // for all measurements together
  // Bytes of the largest matrix to multiply: at least kLeastMatrixBytes and a multiple of
  // kDeviceAlignment (CHECK).
  Bytes matrix_bytes;
  std::string when;  // the date, for the profile
};
inline constexpr Bytes kLeastMatrixBytes = 512_KiB;
inline constexpr Bytes kUsualMatrixBytes = 32_MiB;
// The device memory that the measurements take, on a CUDA device and on device `host`.
Bytes CudaRatingBytes(const DeviceRateOptions& options);
Bytes HostRatingBytes(const DeviceRateOptions& options, int threads);

// Measures the rates of `profile.device` and `profile.link`: GEMMs by rows, attention by sequence
// length, element-wise passes, launches, and copies by size in each direction and in both at once.
// Each rate is marked `measured` with repeats and spread. Times come from the events of the device.
//
// Sizes ascend while there is time for them, so a slow device has shorter curves; each curve has at
// least one point. The rate of a pageable copy is computed from a pinned copy and a copy by one
// thread (`host.pack`, which must have been measured before; CHECK). Nothing stays allocated on the
// device. Errors are those of the device and its kernels.
absl::Status MeasureDeviceRates(Clock& clock, const RatedDevice& rated,
                                const DeviceRateOptions& options, HardwareProfile& profile);

}  // namespace horizon

#pragma once

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/units.h"
#include "planner/profile/device_rates.h"
#include "planner/profile/probe_host.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// Device memory that context, code and libraries take when a program opens the device (an
// assumption).
inline constexpr Bytes kCudaReservedBytes = 512_MiB;

// A CUDA device to measure. The caller has opened it with CudaRatingBytes of memory.
struct CudaProbe {
  HostProbe host;
  RatedDevice rated;
  DeviceRateOptions rates;
  std::string name;  // of the device
  Bytes free_bytes;  // free device memory, without the memory of the measurements
};

// Measures this machine with a CUDA device: the host with ProbeHost, the device and its link with
// MeasureDeviceRates, and how much copies, Adam and passes over host memory slow each other down.
// Errors are those of these three.
absl::StatusOr<HardwareProfile> ProbeCuda(Io& io, Clock& clock, const CudaProbe& probe);

}  // namespace horizon

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

// Of what is free before a program opens the device: its context, code and libraries (a guess).
inline constexpr Bytes kCudaReservedBytes = 512_MiB;

// A CUDA device to be measured, opened by the caller with CudaRatingBytes of memory.
struct CudaProbe {
  HostProbe host;
  RatedDevice rated;
  DeviceRates rates;
  std::string name;  // of the device
  Bytes free_bytes;  // of its memory, without what is measured in
};

// This machine with a CUDA device: its host as ProbeHost measures it, the device and its link as
// MeasureDeviceRates does, and what copies, Adam and passes over host memory lose to each other.
// Errors of all.
absl::StatusOr<HardwareProfile> ProbeCuda(Io& io, Clock& clock, const CudaProbe& probe);

}  // namespace horizon

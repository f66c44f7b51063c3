#include "planner/probe_cuda.h"

#include "common/status_macros.h"
#include "common/str_cat.h"

namespace horizon {

absl::StatusOr<HardwareProfile> ProbeCuda(Io& io, Clock& clock, const CudaProbe& probe) {
  ASSIGN_OR_RETURN(HardwareProfile profile, ProbeHost(io, clock, probe.host));
  DeviceProfile& device = profile.device;
  device = {.kind = DeviceKind::kCuda, .name = probe.name};
  device.memory_bytes = {.value = static_cast<double>(probe.free_bytes),
                         .origin = {.kind = OriginKind::kMeasured,
                                    .source = "free memory, as CUDA tells it",
                                    .when = probe.rates.when,
                                    .repeats = 1}};
  device.reserved_bytes = {.value = static_cast<double>(kCudaReservedBytes),
                           .origin = {.source = "context, code and libraries"}};
  profile.host.memlock_bytes.reset();  // a driver locks memory itself
  profile.summary = StrCat(probe.name, " and ", profile.host.name);
  RETURN_IF_ERROR(MeasureDeviceRates(clock, probe.rated, probe.rates, profile));
  return profile;
}

}  // namespace horizon

#include "planner/profile/probe_cuda.h"

#include <memory>
#include <vector>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "planner/profile/device_link_workloads.h"
#include "planner/profile/host_lane_workloads.h"
#include "planner/profile/measure_contention.h"

namespace horizon {

namespace {

// Of the time for the device, and besides it.
constexpr double kContentionShare = 0.2;
constexpr int64_t kRounds = 5;
constexpr Bytes kLaneBytes = 128_MiB;

// The contention matrix of a machine whose copies are the device's own and whose GEMMs take
// nothing of the host: copies, Adam and passes over host memory beside one another.
absl::StatusOr<std::vector<LaneContention>> MeasureBeside(Clock& clock, const CudaProbe& probe,
                                                          int64_t cores) {
  std::vector<LaneContention> none;
  if (cores < 2) return none;
  ASSIGN_OR_RETURN(const std::unique_ptr<HostLaneWorkloads> host,
                   HostLaneWorkloads::Create(cores - 1, kLaneBytes));
  ASSIGN_OR_RETURN(const std::unique_ptr<DeviceLinkWorkloads> link,
                   DeviceLinkWorkloads::Create(probe.rated.device));
  std::vector<LaneWorkload> workloads = link->workloads();
  for (const LaneWorkload& work : host->workloads()) {
    if (work.lane == Lane::kHost || work.lane == Lane::kOptimizer) workloads.push_back(work);
  }
  return MeasureContention(clock, workloads,
                           {.time = {probe.rates.time.value * kContentionShare},
                            .rounds = kRounds,
                            .when = probe.rates.when});
}

}  // namespace

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
  ASSIGN_OR_RETURN(profile.contention, MeasureBeside(clock, probe, profile.host.cores));
  return profile;
}

}  // namespace horizon

#include "training/speed_before.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/stages.h"
#include "planner/profile/host/host_limits.h"

namespace horizon {
namespace {

constexpr int kMostLooks = 3;
constexpr double kBusyShare = 0.5;

// What every run has besides its parameters (planner/process_estimate.h): a look may use it, since
// the run comes later.
constexpr uint64_t kLeastRunBytes = uint64_t{32} << 20;

// Half of what is free at most: there are others, and the figure is a moment's.
uint64_t MayTake(const HostLimits& limits, const ModelSpec& spec) {
  const uint64_t parameters = CountParameters(ListStages(spec)).total;
  // Each is there in bf16 at least.
  return std::min(limits.free_memory().value() / 2, kLeastRunBytes + 2 * parameters);
}

std::string Percent(double share) { return StrCat(std::lround(100 * share), " %"); }

}  // namespace

absl::StatusOr<MachineSpeed> MeasureSpeedBefore(Io& io, Clock& clock, Log& log,
                                                const ModelSpec& spec,
                                                const HardwareProfile& profile) {
  if (!profile.host.yardstick_flops_per_second.has_value()) return MachineSpeed{};
  ASSIGN_OR_RETURN(const HostLimits limits, ReadHostLimits(io));
  const SpeedMeasurement look{.may_take = MayTake(limits, spec)};
  if (look.may_take < kGemmSpeedBytes) {
    log.Info(StrCat("too little memory is free (", ToString(limits.free_memory()),
                    ") to look at this machine's speed: the plan is made from the profile"));
    return MachineSpeed{};
  }
  MachineSpeed fastest{.products = 0, .memory = 0};
  for (int i = 0; i < kMostLooks; ++i) {
    ASSIGN_OR_RETURN(const MachineSpeed now,
                     MeasureSpeed(clock, profile, profile.host.cores, look));
    fastest.products = std::max(fastest.products, now.products);
    fastest.memory = std::max(fastest.memory, now.memory);
    if (std::min(fastest.products, fastest.memory) >= kBusyShare) {
      log.Info(StrCat("this machine now computes at ", Percent(fastest.products),
                      " of the profile's speed, its memory is at ", Percent(fastest.memory)));
      return fastest;
    }
  }
  log.Warning(StrCat(
      "this machine is busy: in ", kMostLooks, " looks it computed at ", Percent(fastest.products),
      " of the profile's speed and its memory was at ", Percent(fastest.memory),
      ", so the plan is made from the profile. Steps take longer than predicted while others use "
      "the machine; if it has become slower for good, `horizon profile` measures it again"));
  return MachineSpeed{};
}

}  // namespace horizon

#include "app/this_machine.h"

#include <optional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "app/make_folders.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "planner/host_limits.h"
#include "planner/probe_cuda.h"
#include "planner/probe_disk.h"
#include "planner/probe_host.h"
#include "runtime/compute_device.h"
#include "runtime/device/cuda_survey.h"

namespace horizon {
namespace {

// Of measuring alone; what is around it takes a second or two more.
struct Times {
  Seconds host;
  Seconds device;  // where it is not the host
};
Times TimesOf(ProfileDepth depth) {
  if (depth == ProfileDepth::kQuick) return {.host = Seconds{8}, .device = Seconds{6}};
  return {.host = Seconds{100}, .device = Seconds{50}};
}

std::string Date(int64_t unix_seconds) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", absl::FromUnixSeconds(unix_seconds),
                          absl::UTCTimeZone());
}

// What tells one device from another.
std::string IdentityOf(const ChosenDevice& device) {
  if (device.name.kind == DeviceKind::kHost) return "host";
  const CudaSurvey survey = SurveyCuda();
  for (const CudaDeviceFacts& facts : survey.devices) {
    if (facts.index != device.name.index) continue;
    return StrCat(facts.name, ", ", facts.memory_bytes, " bytes, driver ", survey.driver_version);
  }
  return ToString(device.name);
}

class Measuring {
 public:
  Measuring(const CommandContext& context, const ChosenDevice& device, ProfileDepth depth)
      : context_(context), device_(device), times_(TimesOf(depth)) {
    host_.quick = depth == ProfileDepth::kQuick;
    host_.time = times_.host;
    host_.when = Date(context.clock.UnixSeconds());
    host_.on_measured = [this](int64_t done, int64_t total) { Tell(done, total); };
  }

  absl::StatusOr<HardwareProfile> Measure() {
    const double all = times_.host.value + (on_cuda() ? times_.device.value : 0);
    context_.log.Info(StrCat("measuring this machine", on_cuda() ? " and its device" : "",
                             " for about ", static_cast<int64_t>(all), " s"));
    if (!on_cuda()) return ProbeHost(context_.io, context_.clock, host_);
    const DeviceRates rates{
        .time = times_.device, .matrix_bytes = kUsualMatrixBytes, .when = host_.when};
    ASSIGN_OR_RETURN(const ComputeDevice device,
                     OpenComputeDevice({.name = device_.name,
                                        .capacity = CudaRatingBytes(rates),
                                        .clock = context_.clock,
                                        .log = context_.log}));
    return ProbeCuda(context_.io, context_.clock,
                     {.host = host_,
                      .rated = {.device = *device.device,
                                .kernels = *device.kernels,
                                .products = device.products.get()},
                      .rates = rates,
                      .name = device_.model,
                      .free_bytes = device_.free_bytes});
  }

 private:
  bool on_cuda() const { return device_.name.kind == DeviceKind::kCuda; }

  // A line now and then, so that a person sees that it goes on.
  void Tell(int64_t done, int64_t total) {
    const Nanoseconds now = context_.clock.Now();
    if (done < total && now - told_ < std::chrono::seconds(10)) return;
    told_ = now;
    context_.log.Info(StrCat("measured ", done, " of ", total));
  }

  const CommandContext& context_;
  const ChosenDevice& device_;
  const Times times_;
  HostProbe host_;
  Nanoseconds told_ = context_.clock.Now();
};

}  // namespace

absl::StatusOr<KeptProfile> MeasureThisMachine(const CommandContext& context,
                                               const ChosenDevice& device, ProfileDepth depth,
                                               const std::string& disk_folder) {
  ASSIGN_OR_RETURN(const HostLimits limits, ReadHostLimits(context.io));
  KeptProfile kept{.hardware = HardwareOf(limits, IdentityOf(device)),
                   .made = context.clock.UnixSeconds(),
                   .quick = depth == ProfileDepth::kQuick};
  // First what can fail for a name that is wrong.
  std::vector<DiskProfile> disks;
  if (!disk_folder.empty()) {
    ASSIGN_OR_RETURN(DiskProfile disk, ProbeDisk(context.io, context.clock, disk_folder));
    disks.push_back(std::move(disk));
  }
  ASSIGN_OR_RETURN(kept.profile, Measuring(context, device, depth).Measure());
  kept.profile.disks = std::move(disks);
  if (context.cache_folder.empty()) return kept;
  absl::Status status = MakeFolders(context.io, context.cache_folder);
  if (status.ok()) {
    const absl::StatusOr<std::string> path = KeepProfile(context.io, context.cache_folder, kept);
    if (path.ok()) kept.path = *path;
    status = path.status();
  }
  if (!status.ok()) {
    context.log.Warning(
        StrCat("the profile is not kept for later: ", std::string(status.message())));
  }
  return kept;
}

absl::StatusOr<HardwareProfile> ProfileOfThisMachine(const CommandContext& context,
                                                     const ChosenDevice& device) {
  ASSIGN_OR_RETURN(const HostLimits limits, ReadHostLimits(context.io));
  std::optional<KeptProfile> kept =
      FindKeptProfile(context.io, context.cache_folder, HardwareOf(limits, IdentityOf(device)));
  if (kept.has_value()) {
    context.log.Info(
        StrCat("profile of this machine: ", AgeText(kept->made, context.clock.UnixSeconds()),
               kept->quick ? ", quick" : "", "; `horizon profile` measures again"));
  } else {
    ASSIGN_OR_RETURN(kept, MeasureThisMachine(context, device, ProfileDepth::kQuick));
  }
  SetHostMemory(limits, kept->profile);
  if (device.name.kind == DeviceKind::kCuda) {
    kept->profile.device.memory_bytes.value = static_cast<double>(device.free_bytes);
  }
  return std::move(kept->profile);
}

}  // namespace horizon

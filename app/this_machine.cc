#include "app/this_machine.h"

#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "common/files/make_folders.h"
#include "common/progress.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "experiments/measured/rates_in_runs.h"
#include "planner/machines/machine_catalog.h"
#include "planner/profile/host/host_limits.h"
#include "planner/profile/host/host_topology.h"
#include "planner/profile/probe_cuda.h"
#include "planner/profile/probe_disk.h"
#include "planner/profile/probe_host.h"
#include "planner/profile/probe_link.h"
#include "runtime/device/cuda_survey.h"
#include "runtime/execution/compute_device.h"

namespace horizon {
namespace {

// How long the measurements take; the work around them takes a second or two more.
struct Times {
  Seconds host;
  Seconds device;  // where it is not the host
};
Times TimesOf(ProfileDepth depth) {
  if (depth == ProfileDepth::kQuick) return {.host = Seconds{7}, .device = Seconds{6}};
  return {.host = Seconds{110}, .device = Seconds{50}};
}

std::string Date(int64_t unix_seconds) {
  return absl::FormatTime("%Y-%m-%d %H:%M UTC", absl::FromUnixSeconds(unix_seconds),
                          absl::UTCTimeZone());
}

// A text that identifies a device, and its place on the bus.
struct DeviceIdentity {
  std::string text;
  std::string bus_id;
};
DeviceIdentity IdentityOf(const ChosenDevice& device) {
  if (device.name.kind == DeviceKind::kHost) return {.text = "host"};
  const CudaSurvey survey = SurveyCuda();
  for (const CudaDeviceFacts& facts : survey.devices) {
    if (facts.index != device.name.index) continue;
    return {.text = StrCat(facts.name, ", ", facts.memory_bytes.value(), " bytes, driver ",
                           survey.driver_version),
            .bus_id = facts.bus_id};
  }
  return {.text = ToString(device.name)};
}

absl::StatusOr<ProfiledHardware> HardwareHere(const CommandContext& context,
                                              const ChosenDevice& device) {
  ASSIGN_OR_RETURN(const HostLimits limits, ReadHostLimits(context.io));
  return HardwareOf(limits, IdentityOf(device).text);
}

// The driver's index of the device at this place on the bus.
std::optional<int> IndexOnBus(Nvml& nvml, const std::string& bus_id) {
  const int count = nvml.CountDevices().value_or(0);
  for (int i = 0; i < count; ++i) {
    const absl::StatusOr<NvmlDevice> device = nvml.Read(i);
    if (device.ok() && SameBusId(device->bus_id, bus_id)) return i;
  }
  return std::nullopt;
}

// Measures this machine and the device, and shows how far it has got.
class MachineProfiler {
 public:
  MachineProfiler(const CommandContext& context, const ChosenDevice& device,
                  const ProfileRequest& request)
      : context_(context), device_(device), request_(request), times_(TimesOf(request.depth)) {
    host_.quick = request.depth == ProfileDepth::kQuick;
    host_.time = times_.host;
    host_.when = Date(context.clock.UnixSeconds());
    host_.on_measured = [this](int64_t done, int64_t total) { UpdateProgress(done, total); };
  }

  absl::StatusOr<HardwareProfile> Measure() {
    const double all = times_.host.value + (on_cuda() ? times_.device.value : 0);
    context_.log.Info(StrCat("measuring this machine", on_cuda() ? " and its device" : "",
                             " for about ", static_cast<int64_t>(all), " s"));
    if (on_cuda()) return MeasureCuda();
    ASSIGN_OR_RETURN(HardwareProfile profile, ProbeHost(context_.io, context_.clock, host_));
    return InRuns(std::move(profile));
  }

 private:
  bool on_cuda() const { return device_.name.kind == DeviceKind::kCuda; }

  absl::StatusOr<HardwareProfile> MeasureCuda() {
    const DeviceRateOptions rates{
        .time = times_.device, .matrix_bytes = kUsualMatrixBytes, .when = host_.when};
    ASSIGN_OR_RETURN(const ComputeDevice device,
                     OpenComputeDevice({.name = device_.name,
                                        .capacity = CudaRatingBytes(rates),
                                        .clock = context_.clock,
                                        .log = &context_.log}));
    ASSIGN_OR_RETURN(HardwareProfile profile,
                     ProbeCuda(context_.io, context_.clock,
                               {.host = host_,
                                .rated = {.device = *device.device,
                                          .kernels = *device.kernels,
                                          .device_context = device.context.get()},
                                .rates = rates,
                                .name = device_.model,
                                .free_bytes = device_.free_bytes}));
    ASSIGN_OR_RETURN(profile.link.pcie, MeasureLink(*device.device));
    return profile;
  }

  // Adds the share of each rate that operations reach in a run. A machine with little memory has a
  // profile without it.
  absl::StatusOr<HardwareProfile> InRuns(HardwareProfile profile) {
    if (profile.usable_host_bytes() < 2.0 * static_cast<double>(kRunsForProfileBytes))
      return profile;
    context_.log.Info("making small runs, for what the rates are in a run");
    const absl::StatusOr<Refit> refit =
        MeasureRatesInRuns(profile, {.io = context_.io,
                                     .clock = context_.clock,
                                     .depth = host_.quick ? RunsDepth::kQuick : RunsDepth::kFull,
                                     .when = host_.when});
    if (refit.ok()) return refit->profile;
    if (!absl::IsResourceExhausted(refit.status())) return refit.status();
    context_.log.Warning(StrCat("the profile has no rates in runs: ", refit.status().message()));
    return profile;
  }

  // Nothing where the driver's library is missing, which is no error.
  absl::StatusOr<std::optional<PcieState>> MeasureLink(Device& device) {
    const absl::StatusOr<std::unique_ptr<Nvml>> nvml = Nvml::Open(request_.nvml_library);
    if (!nvml.ok()) return std::nullopt;
    const std::optional<int> index = IndexOnBus(**nvml, IdentityOf(device_).bus_id);
    if (!index) return std::nullopt;
    return ProbeLink(context_.clock, device, [&] { return (*nvml)->ReadLink(*index); });
  }

  void UpdateProgress(int64_t done, int64_t total) {
    if (progress_ == nullptr) {
      progress_ = std::make_unique<Progress>(
          context_.log, context_.clock,
          ProgressOptions{.what = "measuring this machine", .total = static_cast<uint64_t>(total)});
    }
    if (done < total) return progress_->Update(static_cast<uint64_t>(done));
    progress_->Finish(static_cast<uint64_t>(done));
    if (on_cuda()) context_.log.Info("measuring the device and its link");
  }

  const CommandContext& context_;
  const ChosenDevice& device_;
  const ProfileRequest& request_;
  const Times times_;
  HostProbe host_;
  std::unique_ptr<Progress> progress_;  // from the first measurement on
};

absl::StatusOr<std::vector<DiskProfile>> MeasureDisk(const CommandContext& context,
                                                     const ProfileRequest& request) {
  std::vector<DiskProfile> disks;
  if (request.disk_folder.empty()) return disks;
  absl::StatusOr<DiskProfile> disk = ProbeDisk(context.io, context.clock, request.disk_folder);
  if (disk.ok()) {
    disks.push_back(*std::move(disk));
  } else if (request.disk_needed) {
    return disk.status();
  } else {
    context.log.Warning(StrCat("the disk is not measured: ", disk.status().message(),
                               "; --folder names another place"));
  }
  return disks;
}

}  // namespace

std::string CacheMachineProfile(const CommandContext& context, const HardwareProfile& profile) {
  if (context.cache_folder.empty()) return "";
  absl::Status status = MakeFolders(context.io, context.cache_folder);
  if (status.ok()) {
    const absl::StatusOr<std::string> path =
        CacheProfile(context.io, context.cache_folder, profile);
    if (path.ok()) return *path;
    status = path.status();
  }
  context.log.Warning(StrCat("the profile is not kept for later: ", status.message()));
  return "";
}

absl::StatusOr<CachedProfile> MeasureThisMachine(const CommandContext& context,
                                                 const ChosenDevice& device,
                                                 const ProfileRequest& request) {
  ASSIGN_OR_RETURN(ProfiledHardware hardware, HardwareHere(context, device));
  // The disk comes first: it can fail because of a wrong name.
  ASSIGN_OR_RETURN(std::vector<DiskProfile> disks, MeasureDisk(context, request));
  ASSIGN_OR_RETURN(HardwareProfile profile, MachineProfiler(context, device, request).Measure());
  profile.disks = std::move(disks);
  profile.measured_on = MeasuredNow(std::move(hardware), context.clock.UnixSeconds());
  profile.measured_on->quick = request.depth == ProfileDepth::kQuick;
  // The profile describes how the host is built where that can be found out.
  absl::StatusOr<HostTopology> topology = ReadHostTopology(context.io);
  if (topology.ok()) profile.host.topology = *std::move(topology);
  std::string path = CacheMachineProfile(context, profile);
  return CachedProfile{.profile = std::move(profile), .path = std::move(path)};
}

absl::StatusOr<HardwareProfile> ProfileOfThisMachine(const CommandContext& context,
                                                     const ChosenDevice& device) {
  ASSIGN_OR_RETURN(const HostLimits limits, ReadHostLimits(context.io));
  const ProfiledHardware hardware = HardwareOf(limits, IdentityOf(device).text);
  absl::StatusOr<CachedProfile> kept =
      FindCachedProfile(context.io, context.cache_folder, hardware);
  if (kept.ok()) {
    const MeasuredOn& measured = *kept->profile.measured_on;
    const int64_t now = context.clock.UnixSeconds();
    context.log.Info(
        StrCat("profile of this machine: ", FreshnessText(measured, now),
               StaleReason(measured, now).empty() ? "; `horizon profile` measures again" : ""));
  } else {
    if (absl::IsDataLoss(kept.status())) {
      context.log.Warning(StrCat("the profile that was kept cannot be used: ",
                                 kept.status().message(), "; this machine is measured again"));
    }
    ASSIGN_OR_RETURN(kept, MeasureThisMachine(context, device, {}));
  }
  SetHostMemory(limits, kept->profile);
  if (device.name.kind == DeviceKind::kCuda) {
    kept->profile.device.memory_bytes.value = static_cast<double>(device.free_bytes);
  }
  return std::move(kept->profile);
}

absl::StatusOr<HardwareProfile> ProfileForRun(const CommandContext& context,
                                              const ChosenDevice& device, const std::string& option,
                                              const std::optional<std::string>& machine) {
  if (!machine.has_value()) return ProfileOfThisMachine(context, device);
  ASSIGN_OR_RETURN(HardwareProfile profile, LoadMachine(context.io, *machine));
  RETURN_IF_ERROR(WarnOfOtherMachine(context, device, StrCat(option, " ", *machine), profile));
  return profile;
}

absl::Status WarnOfOtherMachine(const CommandContext& context, const ChosenDevice& device,
                                const std::string& given, const HardwareProfile& profile) {
  if (!profile.measured_on.has_value()) return absl::OkStatus();
  ASSIGN_OR_RETURN(const ProfiledHardware here, HardwareHere(context, device));
  const std::string difference = DifferenceOf(here, profile.measured_on->hardware);
  if (!difference.empty()) {
    context.log.Warning(StrCat(given, " was measured on another machine (", difference,
                               "), and the run happens here: predictions may be far "
                               "off; `horizon profile` measures this machine"));
    return absl::OkStatus();
  }
  const int64_t now = context.clock.UnixSeconds();
  const std::string text = StrCat(given, ": ", FreshnessText(*profile.measured_on, now));
  if (StaleReason(*profile.measured_on, now).empty()) {
    context.log.Info(text);
  } else {
    context.log.Warning(text);
  }
  return absl::OkStatus();
}

void LogProfileSource(const CommandContext& context, const std::string& name,
                      const HardwareProfile& profile) {
  if (!profile.measured_on.has_value()) return;
  context.log.Info(StrCat("--machine ", name, ": measured on ",
                          ToString(profile.measured_on->hardware), "; ",
                          FreshnessText(*profile.measured_on, context.clock.UnixSeconds())));
}

}  // namespace horizon

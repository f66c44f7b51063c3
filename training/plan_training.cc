#include "training/plan_training.h"

#include <algorithm>
#include <string>
#include <utility>

#include "common/process_memory.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/units.h"
#include "model/sample_lengths.h"
#include "planner/find_limits.h"
#include "planner/machines/machine_catalog.h"
#include "planner/make_plan.h"
#include "planner/plan_report.h"
#include "planner/planned_job.h"
#include "planner/profile/calibration.h"
#include "planner/profile/host/host_limits.h"
#include "planner/profile/machine_speed.h"
#include "schedule/build/build_schedule.h"
#include "schedule/check_runnable.h"
#include "schedule/load_files.h"
#include "training/measure_speed_before_run.h"
#include "training/open_trainer.h"
#include "training/run_software.h"

namespace horizon {
namespace {

constexpr double kMargin = 0.05;  // of each memory that a plan of the search leaves free

HardwareProfile WithSettings(HardwareProfile profile, const PlanSettings& settings) {
  return WithOverrides(std::move(profile), {.device_memory = settings.device_memory,
                                            .link_limit = settings.link,
                                            .cores = settings.cores});
}

// A schedule, and what was predicted from it.
struct SimulatedRun {
  Schedule schedule;
  PredictedRun predicted;
};

absl::Status DoesNotFit(const ModelSpec& spec, const PlanAnswer& answer) {
  std::string text = StrCat(spec.name, " does not fit: ");
  for (const std::string& line : DescribeShortages(answer.search.shortages)) {
    text += StrCat(line, "; ");
  }
  text += "what would make it fit:";
  for (const Remedy& remedy : answer.remedies) text += StrCat("\n  ", remedy.what);
  return absl::FailedPreconditionError(text);
}

absl::StatusOr<SimulatedRun> FindPlan(const ModelSpec& spec, const TrainingJob& job,
                                      const HardwareProfile& profile) {
  const StreamPlan fixed = PlanFor(Strategy::kHorizon);
  RETURN_IF_ERROR(CheckRunnable(spec, job, fixed));
  const Setting setting{.profile = profile,
                        .software = BuiltInCalibration().SoftwareOf(fixed.strategy),
                        .margin = kMargin};
  ASSIGN_OR_RETURN(PlanAnswer answer, MakePlan({.spec = spec,
                                                .job = job,
                                                .fixed = fixed,
                                                .fixed_fields = {},
                                                .setting = setting,
                                                .all_strategies = true}));
  if (!answer.feasible) return DoesNotFit(spec, answer);
  RETURN_IF_ERROR(CheckRunnable(spec, job, *answer.search.plan));
  return SimulatedRun{.schedule = std::move(answer.search.simulation->schedule),
                      .predicted = {.prediction = std::move(answer.search.prediction),
                                    .steady = std::move(answer.search.simulation->steady)}};
}

absl::StatusOr<SimulatedRun> FollowPlan(Io& io, const std::string& file, const ModelSpec& spec,
                                        const TrainingJob& job, const HardwareProfile& profile) {
  ASSIGN_OR_RETURN(const StreamPlan plan, LoadPlan(io, file));
  RETURN_IF_ERROR(CheckRunnable(spec, job, plan));
  ASSIGN_OR_RETURN(Schedule schedule, BuildSchedule(spec, job, plan));
  PredictedRun predicted =
      PredictRun(spec, schedule,
                 {.profile = profile, .software = BuiltInCalibration().SoftwareOf(plan.strategy)});
  return SimulatedRun{.schedule = std::move(schedule), .predicted = std::move(predicted)};
}

absl::Status CheckDeviceMemory(Bytes arena_bytes, const PlanSettings& settings) {
  if (!settings.device_memory.has_value() || arena_bytes <= *settings.device_memory) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(
      StrCat("the plan needs ", WithCommas(arena_bytes.value()), " bytes of device memory, ",
             "--device-memory is ", WithCommas(settings.device_memory->value()),
             ": raise it, or let the planner choose with --plan auto"));
}

absl::StatusOr<SimulatedRun> PlanAt(Io& io, const PlanSettings& settings, const TrainingJob& job,
                                    const ModelSpec& spec, const HardwareProfile& profile) {
  return settings.file.has_value() ? FollowPlan(io, *settings.file, spec, job, profile)
                                   : FindPlan(spec, job, profile);
}

// What the process is now, and what a run adds.
struct RunNeed {
  Software software;
  MemoryEstimate memory;
  Bytes more;  // beyond what the process has now
};
absl::StatusOr<RunNeed> NeedOf(Io& io, const Schedule& schedule, const HardwareProfile& profile,
                               DeviceKind device) {
  ASSIGN_OR_RETURN(const ProcessMemory now, ReadProcessMemory(io));
  RunNeed need{.software = SoftwareOfRun(now, schedule.plan, device)};
  need.memory = EstimateMemory(schedule.memory, profile, need.software);
  need.more = need.memory.host_bytes() - now.resident();
  return need;
}

// Whatever the profile says, this process must find the memory on this machine.
absl::Status CheckFreeMemory(Io& io, const ModelSpec& spec, Bytes needed) {
  ASSIGN_OR_RETURN(const HostLimits limits, ReadHostLimits(io));
  const Bytes free = limits.free_memory();
  if (needed <= free) return absl::OkStatus();
  return absl::FailedPreconditionError(StrCat(
      spec.name, " needs ", ToString(needed), " more of this machine's memory and ", ToString(free),
      " are free: use a smaller model, --micro-batch or --sequence, or --state "
      "8bit-moments; `horizon plan` tells what a machine would need"));
}

// Five lines, before anything is allocated.
void LogPlan(Log& log, const TrainingPlan& planned, const TrainingJob& job) {
  const StreamPlan& plan = planned.plan;
  const Prediction& prediction = planned.prediction;
  log.Info(StrCat("plan: strategy ", std::string(ToString(plan.strategy)), ", chunks of ",
                  ToString(plan.chunk_bytes), ", depth ", plan.buffer_depth, ", K ",
                  plan.anchor_interval, ", recompute ", plan.recompute ? "on" : "off",
                  plan.keep_feed_forward ? "" : ", gate and up not kept", ", threads ",
                  plan.compute_threads));
  const std::string samples =
      job.sample_lengths.empty()
          ? ""
          : StrCat(" in samples of ", MeanLength(job.sample_lengths, job.sequence));
  log.Info(StrCat("batch: micro-batch ", job.micro_batch, " x ", job.sequence, " tokens", samples,
                  ", ", job.accumulation, " a step, ", prediction.operations, " operations"));
  log.Info(StrCat("predicted: ", ShortNumber(prediction.step_seconds), " s a step, ",
                  ShortNumber(prediction.tokens_per_second), " tokens/s"));
  const std::string arena = ToString(planned.arena_bytes);
  log.Info(StrCat("memory: ", ToString(prediction.memory.host_bytes()), " of host memory",
                  job.device == DeviceKind::kCuda
                      ? StrCat(", ", arena, " of the device's")
                      : StrCat(" (", arena, " of it the device's arena)")));
  std::string limits;
  for (const RunLimit& limit : prediction.limits) {
    limits += StrCat(limits.empty() ? "" : ", ", ToString(limit));
  }
  log.Info(StrCat("limits: ", limits.empty() ? "none of the machine's rates alone" : limits));
}

}  // namespace

absl::StatusOr<PlannedTraining> PlanTraining(const TrainingContext& context,
                                             const TrainingSettings& settings,
                                             const TrainingJob& job, const ModelSpec& spec) {
  Io& io = context.io;
  const DeviceKind device = settings.device.kind;
  ASSIGN_OR_RETURN(const HardwareProfile measured, context.machine());
  if (measured.link.pcie.has_value()) {
    const std::string problem = LinkProblem(*measured.link.pcie);
    if (!problem.empty()) context.log.Warning(problem);
  }
  HardwareProfile profile = WithSettings(measured, settings.plan);
  if (settings.plan.device_memory || settings.plan.link || settings.plan.cores) {
    context.log.Info(StrCat("machine: ", profile.name, " (", profile.summary, ")"));
  }
  // What does not fit is refused before anything is measured: memory does not depend on speed.
  ASSIGN_OR_RETURN(SimulatedRun run, PlanAt(io, settings.plan, job, spec, profile));
  RETURN_IF_ERROR(CheckDeviceMemory(ArenaBytes(run.schedule), settings.plan));
  ASSIGN_OR_RETURN(const RunNeed before, NeedOf(io, run.schedule, profile, device));
  RETURN_IF_ERROR(CheckFreeMemory(io, spec, before.more));
  ASSIGN_OR_RETURN(const MachineSpeed speed,
                   MeasureSpeedBeforeRun(io, context.clock, context.log, spec, measured));
  if (speed.gemm != 1 || speed.memory != 1) {
    profile = WithSettings(AtSpeed(measured, speed), settings.plan);
    ASSIGN_OR_RETURN(run, PlanAt(io, settings.plan, job, spec, profile));
    RETURN_IF_ERROR(CheckDeviceMemory(ArenaBytes(run.schedule), settings.plan));
  }
  const Schedule& schedule = run.schedule;
  const SteadyState& steady = run.predicted.steady;
  ASSIGN_OR_RETURN(RunNeed need, NeedOf(io, schedule, profile, device));
  RETURN_IF_ERROR(CheckFreeMemory(io, spec, need.more));
  Prediction prediction = std::move(run.predicted.prediction);
  prediction.memory = std::move(need.memory);
  prediction.limits = FindRateLimits(
      spec, schedule,
      {.profile = profile, .software = BuiltInCalibration().SoftwareOf(schedule.plan.strategy)},
      prediction.step_seconds);
  TrainingPlan plan{
      .profile = std::move(profile),
      .plan = schedule.plan,
      .prediction = std::move(prediction),
      .software = need.software,
      .arena_bytes = ArenaBytes(schedule),
      .durations = DurationsOf(schedule, steady.simulation.timeline, steady.reported_step),
      .timelines = PredictedTimelines(schedule, steady)};
  LogPlan(context.log, plan, job);
  return PlannedTraining{.plan = std::move(plan), .schedule = std::move(run.schedule)};
}

}  // namespace horizon

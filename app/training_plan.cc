#include "app/training_plan.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "app/this_machine.h"
#include "common/progress.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "planner/calibration.h"
#include "planner/host_limits.h"
#include "planner/machine_catalog.h"
#include "planner/machine_speed.h"
#include "planner/make_plan.h"
#include "planner/plan_report.h"
#include "planner/planned_job.h"
#include "planner/process_estimate.h"
#include "runtime/process_memory.h"
#include "schedule/build_schedule.h"
#include "schedule/check_runnable.h"
#include "schedule/load_files.h"

namespace horizon {
namespace {

class Planning {
 public:
  Planning(const CommandContext& context, const TrainOptions& options, const ChosenDevice& device,
           const ModelSpec& spec, const TrainingJob& job)
      : context_(context), options_(options), device_(device), spec_(spec), job_(job) {}

  absl::StatusOr<TrainingPlan> Make() {
    RETURN_IF_ERROR(LoadProfile());
    RETURN_IF_ERROR(ChoosePlan());
    return TrainingPlan{.profile = std::move(profile_),
                        .plan = plan_,
                        .prediction = std::move(prediction_),
                        .software = software_,
                        .arena_bytes = arena_bytes_,
                        .durations = std::move(durations_),
                        .timelines = std::move(timelines_)};
  }

 private:
  // What the plan is made from: what was measured of this machine, unless a profile is named.
  absl::Status LoadProfile() {
    if (options_.machine.has_value()) {
      ASSIGN_OR_RETURN(profile_, LoadMachine(context_.io, *options_.machine));
      RETURN_IF_ERROR(
          WarnOfOtherMachine(context_, device_, StrCat("--machine ", *options_.machine), profile_));
    } else {
      ASSIGN_OR_RETURN(profile_, ProfileOfThisMachine(context_, device_));
    }
    if (profile_.device.kind != device_.name.kind) {
      return absl::InvalidArgumentError(
          StrCat("--machine ", *options_.machine, on_cuda() ? " has no GPU" : " has a GPU",
                 "; training runs on device ", ToString(device_.name),
                 ": name a machine like it, another --device, or leave --machine out"));
    }
    RETURN_IF_ERROR(LookAtSpeed());
    if (profile_.link.pcie.has_value()) {
      const std::string problem = LinkProblem(*profile_.link.pcie);
      if (!problem.empty()) context_.log.Warning(problem);
    }
    MachineOverrides overrides{.device_memory = options_.device_memory,
                               .link_limit = options_.link,
                               .cores = options_.threads};
    profile_ = WithOverrides(std::move(profile_), overrides);
    return absl::OkStatus();
  }

  // A prediction is of now: a machine that is shared with others is not always as fast as when it
  // was measured.
  absl::Status LookAtSpeed() {
    ASSIGN_OR_RETURN(const MachineSpeed speed,
                     MeasureSpeed(context_.clock, profile_, profile_.host.cores));
    profile_ = AtSpeed(std::move(profile_), speed);
    const auto percent = [](double share) { return StrCat(std::lround(100 * share), " %"); };
    if (speed.products != 1) {
      context_.log.Info(StrCat("this machine now computes at ", percent(speed.products),
                               " of the profile's speed, its memory is at ",
                               percent(speed.memory)));
    }
    return absl::OkStatus();
  }

  bool on_cuda() const { return device_.name.kind == DeviceKind::kCuda; }

  absl::Status ChoosePlan() {
    const Strategy strategy = Strategy::kHorizon;
    if (options_.plan != "auto") {
      ASSIGN_OR_RETURN(plan_, LoadPlan(context_.io, options_.plan));
    } else {
      RETURN_IF_ERROR(CheckRunnable(spec_, job_, PlanFor(strategy)));
      const Setting setting{.profile = profile_,
                            .software = BuiltInCalibration().SoftwareOf(strategy),
                            .margin = 0.05};
      ASSIGN_OR_RETURN(
          const PlanAnswer answer,
          MakePlan({.spec = spec_, .job = job_, .fixed = PlanFor(strategy), .setting = setting}));
      if (!answer.feasible) return DoesNotFit(answer);
      plan_ = *answer.search.plan;
    }
    RETURN_IF_ERROR(CheckRunnable(spec_, job_, plan_));
    ASSIGN_OR_RETURN(const Schedule schedule, BuildSchedule(spec_, job_, plan_));
    const Setting setting{.profile = profile_,
                          .software = BuiltInCalibration().SoftwareOf(plan_.strategy)};
    PredictedRun predicted = PredictRun(spec_, schedule, setting);
    prediction_ = std::move(predicted.prediction);
    durations_ =
        DurationsOf(schedule, predicted.steady.simulation.timeline, predicted.steady.reported_step);
    timelines_ = PredictedTimelines(schedule, predicted.steady);
    arena_bytes_ = schedule.memory.totals[static_cast<size_t>(Memory::kDevice)];
    if (options_.device_memory.has_value() && arena_bytes_ > options_.device_memory->value()) {
      return absl::FailedPreconditionError(
          StrCat("the plan needs ", WithCommas(arena_bytes_), " bytes of device memory, ",
                 "--device-memory is ", WithCommas(options_.device_memory->value()),
                 ": raise it, or let the planner choose with --plan auto"));
    }
    RETURN_IF_ERROR(PredictMemory(schedule));
    return TellPlan();
  }

  absl::Status DoesNotFit(const PlanAnswer& answer) const {
    std::string text = StrCat(spec_.name, " does not fit: ");
    for (const std::string& line : DescribeShortages(answer.search.shortages)) {
      text += StrCat(line, "; ");
    }
    text += "what would make it fit:";
    for (const Remedy& remedy : answer.remedies) text += StrCat("\n  ", remedy.what);
    return absl::FailedPreconditionError(text);
  }

  // The process as it is now, and what a run adds.
  absl::Status PredictMemory(const Schedule& schedule) {
    ASSIGN_OR_RETURN(const ProcessMemory now, ReadProcessMemory(context_.io));
    software_ = BuiltInCalibration().SoftwareOf(plan_.strategy);
    software_.process_bytes = ProcessBytesOfRun(now, plan_, device_.name.kind);
    prediction_.memory = EstimateMemory(schedule.memory, profile_, software_);
    return CheckFreeMemory(prediction_.memory.host_bytes() - now.resident().value());
  }

  // Whatever the profile says, this process must find the memory on this machine.
  absl::Status CheckFreeMemory(uint64_t needed) const {
    ASSIGN_OR_RETURN(const HostLimits limits, ReadHostLimits(context_.io));
    const Bytes free =
        std::min(limits.available_memory, limits.memory_limit().value_or(limits.available_memory));
    if (needed <= free.value()) return absl::OkStatus();
    return absl::FailedPreconditionError(
        StrCat(spec_.name, " needs ", ToString(Bytes(CheckedU64(needed))),
               " more of this machine's memory and ", ToString(free),
               " are free: use a smaller model, --micro-batch or --sequence, or --state "
               "8bit-moments; `horizon plan` tells what a machine would need"));
  }

  // Five lines, before anything is allocated.
  absl::Status TellPlan() {
    const auto bytes = [](uint64_t count) { return ToString(Bytes(CheckedU64(count))); };
    const auto tell = [&](const std::string& line) { context_.log.Info(line); };
    tell(StrCat("plan: strategy ", std::string(ToString(plan_.strategy)), ", chunks of ",
                bytes(plan_.chunk_bytes.value()), ", depth ", plan_.buffer_depth, ", K ",
                plan_.anchor_interval, ", recompute ", plan_.recompute ? "on" : "off", ", threads ",
                plan_.compute_threads));
    tell(StrCat("batch: micro-batch ", job_.micro_batch, " x ", job_.sequence, " tokens, ",
                job_.accumulation, " a step, ", prediction_.operations, " operations"));
    tell(StrCat("predicted: ", ShortNumber(prediction_.step_seconds), " s a step, ",
                ShortNumber(prediction_.tokens_per_second), " tokens/s"));
    tell(StrCat("memory: ", bytes(prediction_.memory.host_bytes()), " of host memory",
                on_cuda() ? StrCat(", ", bytes(arena_bytes_), " of the device's")
                          : StrCat(" (", bytes(arena_bytes_), " of it the device's arena)")));
    std::string limits;
    for (const RunLimit& limit : LimitsOf(prediction_, profile_)) {
      limits += StrCat(limits.empty() ? "" : ", ", ToString(limit));
    }
    tell(StrCat("limits: ", limits));
    return absl::OkStatus();
  }

  const CommandContext& context_;
  const TrainOptions& options_;
  const ChosenDevice& device_;
  const ModelSpec& spec_;
  const TrainingJob& job_;
  StreamPlan plan_;
  HardwareProfile profile_;
  Prediction prediction_;
  uint64_t arena_bytes_ = 0;
  StepDurations durations_;
  Software software_;
  StepTimelines timelines_;
};

}  // namespace

absl::StatusOr<TrainingPlan> PlanTraining(const CommandContext& context,
                                          const TrainOptions& options, const ChosenDevice& device,
                                          const ModelSpec& spec, const TrainingJob& job) {
  return Planning(context, options, device, spec, job).Make();
}

}  // namespace horizon

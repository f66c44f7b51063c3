#include "report/run_view.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "common/statistics.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/load_model_spec.h"
#include "model/model_spec.h"
#include "report/step_lines.h"
#include "schedule/build/build_schedule.h"
#include "schedule/load_files.h"
#include "simulator/prediction.h"

namespace horizon {
namespace {

constexpr EnumWord<RunState> kStateWords[] = {{RunState::kPlanned, "planned"},
                                              {RunState::kRunning, "running"},
                                              {RunState::kComplete, "complete"},
                                              {RunState::kInterrupted, "interrupted"},
                                              {RunState::kFailed, "failed"}};

absl::Status Mixed(const std::string& path, std::string_view what) {
  return absl::DataLossError(
      StrCat(path, " ", what,
             ": files of two runs are in one folder, or one was changed by hand; keep the files of "
             "one run only, or train into a new folder"));
}

// Reads the files of one run folder; keeps whether the run is running while it does.
class RunFolderReader {
 public:
  RunFolderReader(Io& io, const std::string& folder) : io_(io), folder_(folder) {}

  absl::StatusOr<RunView> Read() {
    RETURN_IF_ERROR(CheckIsRun());
    RETURN_IF_ERROR(CheckNoLinks());
    ASSIGN_OR_RETURN(running_, io_.IsLocked(PathOf("lock")));
    RunView view{.folder = folder_};
    ASSIGN_OR_RETURN(view.job, Needed("job.json", LoadJob(io_, PathOf("job.json"))));
    ASSIGN_OR_RETURN(view.plan, Needed("plan.json", LoadPlan(io_, PathOf("plan.json"))));
    ASSIGN_OR_RETURN(ModelConfig config,
                     Needed("base/config.json", LoadModelSpec(io_, PathOf("base"))));
    view.spec = std::move(config.spec);
    if (!view.plan.model.empty()) view.spec.name = view.plan.model;  // not "base", its folder
    view.steps_total = view.job.steps;
    if (!view.plan.model_fingerprint.empty() &&
        view.plan.model_fingerprint != FingerprintOf(view.spec)) {
      return Mixed(PathOf("plan.json"), "is for another model than the one in base/config.json");
    }
    ASSIGN_OR_RETURN(view.machine,
                     Needed("machine.json", LoadProfile(io_, PathOf("machine.json"))));
    ASSIGN_OR_RETURN(view.prediction,
                     Needed("prediction.json", LoadRunPrediction(io_, PathOf("prediction.json"))));
    ASSIGN_OR_RETURN(view.schedule,
                     Needed("plan.json", BuildSchedule(view.spec, view.job, view.plan)));
    const Phase& step =
        view.schedule.steady.operations.empty() ? view.schedule.first : view.schedule.steady;
    const auto operations = static_cast<int64_t>(step.operations.size());
    if (view.prediction.prediction.operations != operations) {
      return Mixed(PathOf("prediction.json"),
                   StrCat("is of a step of ", view.prediction.prediction.operations,
                          " operations, plan.json and job.json make one of ", operations));
    }
    RETURN_IF_ERROR(ReadChanging(view));
    return view;
  }

  // What a run adds to while it goes on.
  absl::Status ReadChanging(RunView& view) {
    // The lock first: a run that ends meanwhile has then written all that is read below.
    ASSIGN_OR_RETURN(running_, io_.IsLocked(PathOf("lock")));
    RETURN_IF_ERROR(CheckNoLinks());
    RETURN_IF_ERROR(ReadMetrics(view));
    RETURN_IF_ERROR(ReadEvaluations(view));
    RETURN_IF_ERROR(ReadRouting(view));
    RETURN_IF_ERROR(ReadTimelines(view));
    view.outcome.reset();
    // While it runs, a run.json is of the run before it was resumed.
    if (!running_) RETURN_IF_ERROR(ReadOutcome(view));
    view.state = StateOf(view);
    return absl::OkStatus();
  }

  // The folder itself may be reached through a link: whoever named it chose that.
  absl::Status CheckNoLinks() const {
    for (const char* name : {"lock", "job.json", "plan.json", "base", "base/config.json",
                             "machine.json", "prediction.json", "metrics.jsonl", "eval.jsonl",
                             "routing.jsonl", "timelines.json", "run.json"}) {
      const absl::StatusOr<FileInfo> info = io_.Info(PathOf(name));
      if (!info.ok() || !info->is_symlink) continue;
      return absl::DataLossError(
          StrCat(PathOf(name), " is a symbolic link, and a run folder holds ",
                 "none: what it leads to is not shown; put the file itself ", "in its place"));
    }
    return absl::OkStatus();
  }

 private:
  std::string PathOf(std::string_view name) const { return JoinPath(folder_, name); }

  absl::Status CheckIsRun() const {
    const absl::StatusOr<FileInfo> info = io_.Info(folder_);
    RETURN_IF_ERROR(info.status());
    const bool is_run = info->kind == FileKind::kDirectory &&
                        (io_.Info(PathOf("job.json")).ok() || io_.Info(PathOf("plan.json")).ok());
    if (is_run) return absl::OkStatus();
    return absl::NotFoundError(StrCat(Quoted(folder_),
                                      " is no run folder: looked for job.json and plan.json in it, "
                                      "which 'horizon train --output' writes"));
  }

  // A file without which nothing can be shown: a missing or broken one says what to do.
  template <typename T>
  absl::StatusOr<T> Needed(std::string_view name, absl::StatusOr<T> read) const {
    if (read.ok()) return read;
    const std::string message(read.status().message());
    if (absl::IsNotFound(read.status())) {
      if (running_) {
        return absl::UnavailableError(StrCat("the run in ", folder_, " is only beginning, ", name,
                                             " is not written yet; try again in a moment"));
      }
      return absl::DataLossError(
          StrCat("the run folder ", folder_, " has no ", name,
                 ": the run ended before its first step, or an older horizon made it; 'horizon "
                 "train --config ",
                 folder_, "/train.yaml --resume auto' writes it when it goes on"));
    }
    if (IoErrno(read.status()) != 0) return read;
    return absl::DataLossError(StrCat("the run folder ", folder_, " is torn: ", message,
                                      "; put back a copy of ", name,
                                      ", or go on with 'horizon "
                                      "train --config ",
                                      folder_, "/train.yaml --resume auto'"));
  }

  // What was read before stays, unless the file was cut (a run that goes on does that): `forget`
  // and then everything again. `read` goes on at the byte and behind the step it is given.
  template <typename Forget, typename Read>
  static absl::Status ReadOn(uint64_t& end, int64_t last_step, Forget forget, Read read) {
    absl::StatusOr<uint64_t> now = read(end, last_step);
    if (absl::IsDataLoss(now.status()) && end > 0) {
      forget();
      now = read(0, -1);
    }
    RETURN_IF_ERROR(now.status());
    end = *now;
    return absl::OkStatus();
  }

  absl::Status ReadMetrics(RunView& view) const {
    const std::string path = PathOf("metrics.jsonl");
    const auto take = [&](StepMetrics line) {
      view.peak_host = std::max(view.peak_host, line.host_bytes);
      view.peak_device = std::max(view.peak_device, line.device_bytes);
      view.metrics.Add(std::move(line));
    };
    RETURN_IF_ERROR(ReadOn(
        view.metrics_end, view.metrics.empty() ? -1 : view.steps_done,
        [&] {
          view.metrics.Clear();
          view.peak_host = view.peak_device = Bytes();
        },
        [&](uint64_t begin, int64_t after) {
          return VisitMetrics(io_, path, begin, after, take);
        }));
    view.steps_done = view.metrics.empty() ? 0 : view.metrics.lines().back().step;
    if (view.steps_done > view.steps_total) {
      return Mixed(path, StrCat("has step ", view.steps_done, ", job.json has ", view.steps_total,
                                " steps"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadEvaluations(RunView& view) const {
    const auto take = [&](EvaluationLine line) { view.evaluations.Add(line); };
    return ReadOn(
        view.evaluations_end, view.evaluations.empty() ? -1 : view.evaluations.lines().back().step,
        [&] { view.evaluations.Clear(); },
        [&](uint64_t begin, int64_t after) {
          return VisitEvaluations(io_, PathOf("eval.jsonl"), begin, after, take);
        });
  }

  absl::Status ReadRouting(RunView& view) const {
    const std::string path = PathOf("routing.jsonl");
    const auto take = [&](RoutingLine line) { view.routing = std::move(line); };
    RETURN_IF_ERROR(ReadOn(
        view.routing_end, view.routing.has_value() ? view.routing->step : -1,
        [&] { view.routing.reset(); },
        [&](uint64_t begin, int64_t after) {
          return VisitRouting(io_, path, begin, after, take);
        }));
    if (!view.routing.has_value()) return absl::OkStatus();
    const RoutingLine& last = *view.routing;
    const ExpertsSpec& experts = view.spec.experts;
    if (last.experts != experts.experts || last.experts_per_token != experts.experts_per_token ||
        last.layers != LayersWithExperts(view.spec)) {
      return Mixed(path, "is of another model than the one in base/config.json");
    }
    if (last.step > view.steps_total) {
      return Mixed(path,
                   StrCat("has step ", last.step, ", job.json has ", view.steps_total, " steps"));
    }
    return absl::OkStatus();
  }

  absl::Status ReadTimelines(RunView& view) const {
    const std::string path = PathOf("timelines.json");
    view.timelines.reset();
    absl::StatusOr<StepTimelines> found = LoadTimelines(io_, path);
    // One that has just begun has none.
    if (absl::IsNotFound(found.status())) return absl::OkStatus();
    ASSIGN_OR_RETURN(StepTimelines read, Needed("timelines.json", std::move(found)));
    if (read.operations() != static_cast<int64_t>(view.schedule.steady.operations.size())) {
      return Mixed(path, StrCat("is of a step of ", read.operations(),
                                " operations, plan.json and job.json make one of ",
                                view.schedule.steady.operations.size()));
    }
    view.timelines = std::move(read);
    return absl::OkStatus();
  }

  absl::Status ReadOutcome(RunView& view) const {
    const std::string path = PathOf("run.json");
    absl::StatusOr<RunOutcome> outcome = LoadOutcome(io_, path);
    if (absl::IsNotFound(outcome.status())) return absl::OkStatus();
    ASSIGN_OR_RETURN(view.outcome, Needed("run.json", std::move(outcome)));
    if (view.outcome->steps != view.steps_done && !view.metrics.empty()) {
      return Mixed(path, StrCat("tells of ", view.outcome->steps, " steps, metrics.jsonl ends at ",
                                "step ", view.steps_done));
    }
    return absl::OkStatus();
  }

  RunState StateOf(const RunView& view) const {
    if (running_) return RunState::kRunning;
    if (!view.outcome.has_value()) return RunState::kFailed;
    return view.outcome->interrupted ? RunState::kInterrupted : RunState::kComplete;
  }

  Io& io_;
  const std::string folder_;
  bool running_ = false;
};

void AddWork(const RunView& view, RunOutcome& outcome) {
  if (!view.timelines.has_value() || view.timelines->mean_ns.empty()) return;
  const OperationTimes& predicted = view.timelines->predicted;
  StepDurations durations(predicted.start_ns.size());
  for (size_t i = 0; i < durations.size(); ++i) {
    durations[i] = predicted.end_ns[i] - predicted.start_ns[i];
  }
  const TimelineComparison compared =
      CompareDurations(view.schedule, durations, view.timelines->mean_ns);
  const auto work = [](std::string_view name, Lane lane, int64_t operations,
                       const Compared& seconds) {
    return ComparedWork{.name = std::string(name),
                        .lane = std::string(ToString(lane)),
                        .operations = operations,
                        .seconds = Compare(seconds.predicted, seconds.measured)};
  };
  for (const LaneComparison& lane : compared.lanes) {
    outcome.lanes.push_back(work(ToString(lane.lane), lane.lane, lane.operations, lane.busy));
  }
  for (const KindComparison& kind : compared.kinds) {
    outcome.kinds.push_back(work(ToString(kind.kind), kind.lane, kind.operations, kind.seconds));
  }
  for (const OperationComparison& miss : compared.misses) {
    outcome.missed_most.push_back(work(miss.name, miss.lane, 1, miss.seconds));
  }
}

}  // namespace

std::span<const EnumWord<RunState>> WordsOf(RunState) { return kStateWords; }

absl::StatusOr<RunView> ReadRun(Io& io, const std::string& folder) {
  return RunFolderReader(io, folder).Read();
}

absl::Status RefreshRun(Io& io, RunView& view) {
  RETURN_IF_ERROR(RunFolderReader(io, view.folder).CheckNoLinks());
  // A run that was resumed meanwhile may have another plan.
  ASSIGN_OR_RETURN(const StreamPlan plan, LoadPlan(io, JoinPath(view.folder, "plan.json")));
  RunView fresh = view;
  if (plan == view.plan) {
    RETURN_IF_ERROR(RunFolderReader(io, view.folder).ReadChanging(fresh));
  } else {
    ASSIGN_OR_RETURN(fresh, ReadRun(io, view.folder));
    fresh.reasons = view.reasons;
  }
  view = std::move(fresh);
  return absl::OkStatus();
}

absl::StatusOr<RunView> ViewOfPlan(const std::string& plan_file, const ModelSpec& spec,
                                   const TrainingJob& job, const StreamPlan& plan,
                                   const HardwareProfile& machine, const Software& software) {
  RunView view{.folder = plan_file,
               .steps_total = job.steps,
               .spec = spec,
               .job = job,
               .plan = plan,
               .machine = machine};
  ASSIGN_OR_RETURN(view.schedule, BuildSchedule(spec, job, plan));
  const PredictedRun run =
      PredictRun(spec, view.schedule, {.profile = machine, .software = software});
  view.prediction =
      MakeRunPrediction(run.prediction, machine, software,
                        view.schedule.memory.totals[static_cast<size_t>(Memory::kDevice)]);
  StepTimelines timelines = PredictedTimelines(view.schedule, run.steady);
  if (timelines.operations() > 0) view.timelines = std::move(timelines);
  return view;
}

std::optional<RunOutcome> OutcomeSoFar(const RunView& view) {
  if (view.outcome.has_value()) return view.outcome;
  if (view.metrics.empty()) return std::nullopt;
  const Prediction& predicted = view.prediction.prediction;
  const std::vector<StepMetrics>& lines = view.metrics.lines();
  std::vector<double> seconds;
  seconds.reserve(lines.size());
  for (const StepMetrics& line : lines) seconds.push_back(line.step_time.value);
  // The first also starts things.
  if (seconds.size() > 1) seconds.erase(seconds.begin());
  const double step_seconds = MeanWithoutOutliers(seconds);
  const auto tokens = static_cast<double>(lines.back().tokens);
  RunOutcome outcome{.steps = view.steps_done,
                     .first_loss = lines.front().loss,
                     .last_loss = lines.back().loss,
                     .step_seconds = Compare(predicted.step_seconds, step_seconds),
                     .tokens_per_second = Compare(predicted.tokens_per_second,
                                                  step_seconds > 0 ? tokens / step_seconds : 0),
                     .host_bytes = Compare(static_cast<double>(predicted.memory.host_bytes()),
                                           static_cast<double>(view.peak_host.value())),
                     .device_bytes = Compare(static_cast<double>(view.prediction.arena_bytes),
                                             static_cast<double>(view.peak_device.value()))};
  AddWork(view, outcome);
  return outcome;
}

}  // namespace horizon

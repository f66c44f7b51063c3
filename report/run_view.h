#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/documents/enum_words.h"
#include "common/files/io.h"
#include "common/units.h"
#include "model/model_spec.h"
#include "report/plan_reasons.h"
#include "report/run_outcome.h"
#include "report/run_prediction.h"
#include "report/step_timelines.h"
#include "report/thinned_lines.h"
#include "runtime/loop/metrics.h"
#include "runtime/loop/routing_line.h"
#include "schedule/schedule.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// The state of a run.
enum class RunState {
  kPlanned,      // a plan that was not run: there is no run folder
  kRunning,      // a process holds the folder's lock
  kComplete,     // run.json says so
  kInterrupted,  // run.json says so
  kFailed,       // there is no run.json, and no process holds the lock
};
std::span<const EnumWord<RunState>> WordsOf(RunState);

// The contents of a run folder, for showing a run: its job and plan, its prediction, and what has
// happened so far. Its size does not grow with the number of steps.
struct RunView {
  std::string folder;  // or the plan's file
  RunState state = RunState::kPlanned;
  int64_t steps_done = 0;   // the last step of metrics.jsonl
  int64_t steps_total = 0;  // of the job
  ModelSpec spec;
  TrainingJob job;
  StreamPlan plan;
  HardwareProfile machine;
  RunPrediction prediction;
  // Lines in ascending order of steps, without gradient norms. For a long run, not every step is
  // kept.
  ThinnedLines<StepMetrics> metrics;
  ThinnedLines<EvaluationLine> evaluations;
  std::optional<RoutingLine> routing;  // the last line of routing.jsonl, if there is one
  Bytes peak_host;                     // over all steps
  Bytes peak_device;
  uint64_t metrics_end = 0;      // bytes of metrics.jsonl that were read
  uint64_t evaluations_end = 0;  // bytes of eval.jsonl that were read
  uint64_t routing_end = 0;      // bytes of routing.jsonl that were read
  std::optional<StepTimelines> timelines;
  std::optional<RunOutcome> outcome;  // if the run has ended
  Schedule schedule;                  // rebuilt from spec, job and plan
  // Why the plan has its values (ReasonsOf). This takes a while, so ReadRun leaves it empty;
  // whoever shows the reasons fills it.
  std::vector<PlanReason> reasons;
};

// Reads a run folder, also while a run writes it: the lock is tested but not taken, nothing is
// written, and an unfinished last line is left out. Symbolic links in the folder are not followed,
// since a run folder from somebody else could use one to show a file of ours. NotFound, with the
// files that were expected, if there is no run. DataLoss if the folder is damaged or has files of
// two runs: the message says which file, what is wrong and what to do. Unavailable if a run has
// only just begun and has not written its files yet.
absl::StatusOr<RunView> ReadRun(Io& io, const std::string& folder);

// Updates everything that changes during a run: state, metrics, evaluations, routing, timelines,
// outcome.
// Errors as for ReadRun; `view` is unchanged then. DataLoss also if the folder now has another run.
absl::Status RefreshRun(Io& io, RunView& view);

// A view of a plan that was not run: predictions without measurements. Errors of BuildSchedule.
absl::StatusOr<RunView> ViewOfPlan(const std::string& plan_file, const ModelSpec& spec,
                                   const TrainingJob& job, const StreamPlan& plan,
                                   const HardwareProfile& machine, const Software& software);

// The figures of the run from run.json or, if it has none yet, the figures so far: medians over the
// kept steps without the first one, and the peak of the sampled memory. Empty before the first
// step.
std::optional<RunOutcome> OutcomeSoFar(const RunView& view);

}  // namespace horizon

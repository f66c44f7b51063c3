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
#include "schedule/schedule.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// Where a run stands.
enum class RunState {
  kPlanned,      // a plan that was not run: there is no run folder
  kRunning,      // a process holds the folder's lock
  kComplete,     // run.json says so
  kInterrupted,  // run.json says so
  kFailed,       // it ended without a run.json, and nobody holds the lock
};
std::span<const EnumWord<RunState>> WordsOf(RunState);

// A run folder read for showing: what was asked, what was predicted, what has happened so far. Its
// size does not grow with the number of steps.
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
  // By step, ascending; of a long run not each of them. Without gradient norms.
  ThinnedLines<StepMetrics> metrics;
  ThinnedLines<EvaluationLine> evaluations;
  Bytes peak_host;  // of all steps that were read
  Bytes peak_device;
  uint64_t metrics_end = 0;  // bytes of metrics.jsonl that were read; so eval.jsonl's
  uint64_t evaluations_end = 0;
  std::optional<StepTimelines> timelines;
  std::optional<RunOutcome> outcome;  // of a run that has ended
  Schedule schedule;                  // rebuilt from spec, job and plan
  // Why the plan is as it is: ReasonsOf, which takes a while, so whoever shows them fills this.
  std::vector<PlanReason> reasons;
};

// Reads a run folder, also one that is being written: the lock is only looked at, nothing is
// written, and the part of a line that a running training has not ended yet is left out. No
// symbolic link in it is followed: a run folder of a stranger could show a file of ours. NotFound,
// with what was looked for, where there is no run; DataLoss where the folder is torn or two runs
// are mixed in it: which file, what is wrong, and what to do.
absl::StatusOr<RunView> ReadRun(Io& io, const std::string& folder);

// Reads again what changes while a run goes on: state, metrics, evaluations, timelines, outcome.
// Errors as above; `view` is then as it was. DataLoss also where the folder now holds another run.
absl::Status RefreshRun(Io& io, RunView& view);

// What a plan would do, as a view without anything measured. Errors are BuildSchedule's.
absl::StatusOr<RunView> ViewOfPlan(const std::string& plan_file, const ModelSpec& spec,
                                   const TrainingJob& job, const StreamPlan& plan,
                                   const HardwareProfile& machine, const Software& software);

// The figures of the run as run.json has them or, while it has none, as they are so far: medians
// over the steps after the first that are kept, the peak of what was sampled. Nothing before the
// first step.
std::optional<RunOutcome> OutcomeSoFar(const RunView& view);

}  // namespace horizon

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/model_spec.h"
#include "planner/plan_space.h"
#include "planner/search_plan.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "simulator/prediction.h"

namespace horizon {

// The planner: for a model, a job and a machine it finds the fastest plan and predicts its speed.
// If no plan fits, it says what would make one fit.

// kQuick searches only the few plans that matter most (plan_space.h: CoarseSpace).
enum class SearchEffort { kFull, kQuick };

// A question to the planner.
struct PlanRequest {
  const ModelSpec& spec;
  TrainingJob job;
  StreamPlan fixed;                       // the strategy, and values of the fields named below
  std::vector<std::string> fixed_fields;  // not searched; named as in a plan file
  Setting setting;
  // Whether the other strategies that train the same job are searched too (StrategiesFor).
  // SearchResult::strategies then says what each of them would do.
  bool all_strategies = false;
  // Whether the planner may propose job.micro_batch and job.state_format. Unlike the plan, these
  // change the results of a run.
  bool propose_batch = false;
  bool propose_state = false;
  SearchEffort effort = SearchEffort::kFull;
};

// A value that the planner proposes for a field of the job.
struct Proposal {
  std::string field;
  std::string value;
  std::string reason;
};

// A change that would make the job fit.
struct Remedy {
  std::string what;  // an option of `plan` ("--state 8bit-moments"), or "host memory 768 GiB"
};

// The planner's answer.
struct PlanAnswer {
  bool feasible = false;
  std::string planned_only;  // why the runtime cannot execute the plan; empty: it can
  TrainingJob job;           // the job with all proposals applied
  std::vector<Proposal> proposals;
  SearchResult search;           // has plan and prediction if feasible
  std::vector<Remedy> remedies;  // if not feasible: each alone would make the job fit
};

// The strategies between which the planner may choose for a job: `horizon` and, where the device
// has memory of its own, `resident`. The runtime executes both, and they give equal bits.
// (`reference` updates after the step and so needs another job.) On device `host` the arena is part
// of the same RAM, and `horizon` keeps there whatever fits.
std::vector<Strategy> StrategiesFor(const TrainingJob& job);

// The spaces that MakePlan searches for a job: one, or one for each of StrategiesFor.
std::vector<PlanSpace> SpacesOf(const PlanRequest& request, const TrainingJob& job);

// Returns InvalidArgument where job and model contradict each other (a sequence past the model's
// limit), and SearchResult::refusal where the fixed fields leave no plan that can be built.
absl::StatusOr<PlanAnswer> MakePlan(const PlanRequest& request);

// One line for each shortage, for people: "short by 619 GiB of host memory (needs 1.05 TiB, 456 GiB
// are available)".
std::vector<std::string> DescribeShortages(const std::vector<Shortage>& shortages);

}  // namespace horizon

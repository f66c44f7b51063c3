#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/model_spec.h"
#include "planner/search_plan.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"
#include "simulator/prediction.h"

namespace horizon {

// The planner's question and answer: this model, this job, this machine: which plan, how fast, and
// if it does not fit, what would make it fit.

enum class SearchEffort { kFull, kQuick };

struct PlanRequest {
  const ModelSpec& spec;
  TrainingJob job;
  StreamPlan fixed;                       // strategy, and the fields named below
  std::vector<std::string> fixed_fields;  // as in a plan file
  Setting setting;
  // Job fields the planner may propose. What it proposes is a proposal: the numbers of a run change
  // with it.
  bool propose_batch = false;
  bool propose_state = false;
  SearchEffort effort = SearchEffort::kFull;
};

struct Proposal {
  std::string field;  // of the job
  std::string value;
  std::string reason;
};

struct Remedy {
  std::string what;  // an option of `plan` ("--state 8bit-moments"), or "host memory 768 GiB"
};

struct PlanAnswer {
  bool feasible = false;
  std::string planned_only;  // why the runtime would not execute it; empty: it would
  TrainingJob job;           // with what is proposed
  std::vector<Proposal> proposals;
  SearchResult search;           // .plan and .prediction where feasible
  std::vector<Remedy> remedies;  // where not: each alone would make it fit
};

// InvalidArgument where job and model contradict each other (a sequence past the model's limit).
absl::StatusOr<PlanAnswer> MakePlan(const PlanRequest& request);

// "host memory: needs 1.05 TiB, 456 GiB are available: 619 GiB lack", one for each shortage.
std::vector<std::string> DescribeShortages(const std::vector<Shortage>& shortages);

}  // namespace horizon

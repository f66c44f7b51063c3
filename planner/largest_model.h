#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "planner/changed_setups.h"
#include "planner/make_plan.h"
#include "schedule/training_job.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// Finds the largest model that a machine can train, how fast it trains, what prevents a larger one,
// and what would help most: changes of the job first, which are free, then of the machine.

// The model families to choose from: "qwen2.5", "llama3", "qwen3".
std::vector<std::string> ModelFamilyNames();

// What FindLargestModels searches for: a family, a machine and a job.
struct LargestRequest {
  std::string family = "qwen2.5";
  HardwareProfile profile;
  TrainingJob job;  // the planner proposes micro_batch
  Software software;
  double margin = 0.05;
  Strategy strategy = Strategy::kHorizon;
  bool all_strategies = false;  // as in PlanRequest
  // Machines whose devices could be bought. ComparePurchases takes those that are cards, and of
  // these the next faster ones.
  std::vector<HardwareProfile> others;
};

// A model that fits, with its plan and prediction.
struct SizedModel {
  std::string name;  // "qwen2.5-72b", or "qwen2.5-72b with 97 layers"
  int64_t layers = 0;
  uint64_t parameters = 0;
  PlanAnswer answer;  // always feasible

  double days_per_billion_tokens() const;
};

// The largest models that fit a machine.
struct LargestModels {
  std::optional<SizedModel> by_depth;  // one width of the family, with layers added or removed
  std::optional<SizedModel> by_size;   // the largest model of the family as it was published
  std::string limit;                   // what one more layer would exceed: "host memory", ...
};

// by_depth and by_size are empty where not even one layer fits. InvalidArgument for an unknown
// family.
absl::StatusOr<LargestModels> FindLargestModels(Io& io, const LargestRequest& request);

// The largest models of a state format.
struct LargestByState {
  StateFormat state = StateFormat::kFp32;
  LargestModels models;
};
// For each format that the planner proposes, the most exact first. Every format has a largest model
// of its own, so `--state auto` has no single answer.
absl::StatusOr<std::vector<LargestByState>> FindLargestByState(Io& io,
                                                               const LargestRequest& request);

// A change of the machine or of the job, and what it does to the largest model by depth and to the
// speed of today's largest model.
struct Change {
  std::string what;              // "host memory x2 (960 GB)", "8-bit moments"
  std::string options;           // that make the change; empty for a purchase
  std::string cost;              // what it costs in exactness; empty for a purchase
  uint64_t parameters = 0;       // of the largest model by depth after the change
  double tokens_per_second = 0;  // of today's largest model after the change
  double size_gain = 0;          // relative: 1 is twice as large
  double speed_gain = 0;         // relative: 1 is twice as fast
};
// What the changes of FreeChangesOf gain (changed_setups.h). The largest gain comes first, and what
// is noise (kNoiseGain) is left out.
absl::StatusOr<std::vector<Change>> CompareFreeChanges(Io& io, const LargestRequest& request,
                                                       const LargestModels& today);
// The same of PurchasesOf.
absl::StatusOr<std::vector<Change>> ComparePurchases(Io& io, const LargestRequest& request,
                                                     const LargestModels& today);

}  // namespace horizon

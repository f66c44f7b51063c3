#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "planner/make_plan.h"
#include "schedule/training_job.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// Finds the largest model that a machine can train, how fast it trains, what prevents a larger one,
// and which upgrade would help most.

// The model families to choose from: "qwen2.5", "llama3", "qwen3".
std::vector<std::string> ModelFamilyNames();

struct LargestRequest {
  std::string family = "qwen2.5";
  HardwareProfile profile;
  TrainingJob job;  // the planner proposes micro_batch
  Software software;
  double margin = 0.05;
  Strategy strategy = Strategy::kHorizon;
};

struct SizedModel {
  std::string name;  // "qwen2.5-72b", or "qwen2.5-72b with 97 layers"
  int64_t layers = 0;
  uint64_t parameters = 0;
  PlanAnswer answer;  // always feasible

  double days_per_billion_tokens() const;
};

struct LargestModels {
  std::optional<SizedModel> by_depth;  // one width of the family, with layers added or removed
  std::optional<SizedModel> by_size;   // the largest model of the family as it was published
  std::string limit;                   // what one more layer would exceed: "host memory", ...
};

// by_depth and by_size are empty where not even one layer fits. InvalidArgument for an unknown
// family.
absl::StatusOr<LargestModels> FindLargestModels(Io& io, const LargestRequest& request);

// An upgrade of the machine, and what it does to the largest model by depth and to the speed of
// today's largest model.
struct Purchase {
  std::string what;              // "host memory x2 (960 GB)"
  uint64_t parameters = 0;       // of the largest model by depth after the upgrade
  double tokens_per_second = 0;  // of today's largest model after the upgrade
  double size_gain = 0;          // relative: 1 is twice as large
  double speed_gain = 0;         // relative: 1 is twice as fast
};
// Compares four upgrades: twice the RAM, twice the link rate, twice the processors with their
// memory channels, twice the device memory. The largest gain (of size or speed) comes first.
absl::StatusOr<std::vector<Purchase>> ComparePurchases(Io& io, const LargestRequest& request,
                                                       const LargestModels& today);

}  // namespace horizon

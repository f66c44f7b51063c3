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

// The largest model a machine can train, how fast, what keeps it from a larger one, and what to buy
// next.

// Families to choose from: "qwen2.5", "llama3", "qwen3".
std::vector<std::string> ModelFamilyNames();

struct LargestRequest {
  std::string family = "qwen2.5";
  HardwareProfile profile;
  TrainingJob job;  // micro_batch is proposed
  Software software;
  double margin = 0.05;
  Strategy strategy = Strategy::kHorizon;
};

struct SizedModel {
  std::string name;  // "qwen2.5-72b", or "qwen2.5-72b with 97 layers"
  int64_t layers = 0;
  uint64_t parameters = 0;
  PlanAnswer answer;  // feasible

  double days_per_billion_tokens() const;
};

struct LargestModels {
  std::optional<SizedModel> by_depth;  // layers added (or taken away) at one width of the family
  std::optional<SizedModel> by_size;   // the largest real size
  std::string limit;                   // what one more layer lacks: "host memory", ...
};

// Empty answers where not even one layer fits. InvalidArgument for an unknown family.
absl::StatusOr<LargestModels> FindLargestModels(Io& io, const LargestRequest& request);

// One upgrade: what it does to the largest model by depth, and to the speed of today's largest.
struct Purchase {
  std::string what;  // "host memory x2 (960 GB)"
  uint64_t parameters = 0;
  double tokens_per_second = 0;
  double size_gain = 0;   // relative: 1 is twice as large
  double speed_gain = 0;  // relative
};
// Twice the RAM, the link, the processors with their memory channels, the device memory; the
// largest gain (of size or speed) first.
absl::StatusOr<std::vector<Purchase>> ComparePurchases(Io& io, const LargestRequest& request,
                                                       const LargestModels& today);

}  // namespace horizon

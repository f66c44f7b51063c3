#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/checked.h"
#include "model/model_spec.h"
#include "model/tensor_role.h"
#include "model/tensor_spec.h"

namespace horizon {

// A model is a list of stages that a token passes through: embedding, then attention and
// feed-forward (or experts) of each layer, final norm, head. A stage is the smallest part that has
// a name of its own. A stage too large to be streamed whole can be cut into shards between its
// units. model/stages/ describes what each kind of stage is made of.
//
// A unit is never cut: it is a row of a vocabulary table, an expert, or one matrix of a layer with
// its bias and its norm. So a shard of attention or feed-forward is a run of whole matrices (norm
// and q | k | v | o; norm and gate | up | down), and every sum over a matrix is computed in one go,
// however the stage is cut.

// A range [begin, end) of a stage's units.
struct UnitRange {
  int64_t begin = 0;
  int64_t end = 0;
  friend bool operator==(const UnitRange&, const UnitRange&) = default;
};

// One stage of a model: its tensors, its parameter counts, and how it can be cut.
struct Stage {
  StageKind kind = StageKind::kEmbedding;
  int64_t layer = -1;  // -1 outside the layers
  std::string
      name;  // "attention_3", "feed_forward_3", "experts_3", "embedding", "final_norm", "head"
  std::vector<TensorSpec> tensors;  // a tied head has none: it uses the table of the embedding
  uint64_t parameters = 0;
  uint64_t active_parameters = 0;  // used by one token (experts: only the chosen ones)
  // The stage can be cut between its units, but only at multiples of `unit_tile`. Then the sums of
  // a shard are made of whole tiles, and sharding never changes a bit. units = 1: it cannot be cut.
  int64_t units = 1;
  int64_t unit_tile = 1;
  // Parameters per unit of the tensors that have a part in every unit.
  uint64_t parameters_per_unit = 0;
  // Prefix sums over the other tensors, which each belong to one unit: whole_before[u] is how many
  // of their parameters are in units before u. `units` + 1 numbers, or empty if there are no such
  // tensors.
  std::vector<uint64_t> whole_before;

  // Which parameters of the stage are trained: all of them, unless SelectTrained
  // (trained_tensors.h) selects fewer. They are counted in the same two ways as all parameters
  // above.
  uint64_t trained_parameters = 0;
  uint64_t trained_per_unit = 0;
  std::vector<uint64_t> trained_whole_before;
  // The roles of the trained tensors. A tied head has the role of the embedding table while that is
  // trained.
  RoleSet trained_roles;
  // Whether backward must compute the gradient of the stage's input, because a tensor of an earlier
  // stage is trained.
  bool needs_input_gradient = false;

  // How far backward goes into the stage, counted from its output.
  BackwardDepth backward_depth() const;
  // Whether backward computes anything here: a gradient of the stage's own tensors, or one that an
  // earlier stage needs.
  bool is_differentiated() const { return backward_depth() != BackwardDepth::kNone; }
};

// The most tensors a model may have, so that a file cannot make us build an endless list.
inline constexpr uint64_t kMaxTensors = 1'000'000;

// All stages in forward order. `spec` must be valid (ValidateSpec).
std::vector<Stage> ListStages(const ModelSpec& spec);

// Parameters of the units in `range`, in constant time. The ranges of any partition add up to
// stage.parameters. For a tied head, pass the embedding.
uint64_t ParametersInUnits(const Stage& stage, UnitRange range);
// How many of these parameters are trained.
uint64_t TrainedInUnits(const Stage& stage, UnitRange range);
// Recomputes the trained counts and trained_roles after TensorSpec::trained of its tensors changed.
// Does not change needs_input_gradient.
void CountTrained(Stage& stage);

// The number of parameters of a model.
struct ParameterCounts {
  uint64_t total = 0;
  uint64_t active = 0;  // used by one token
};
ParameterCounts CountParameters(const std::vector<Stage>& stages);

// Returns InvalidArgument, naming the field, if a size is zero or negative, heads do not divide,
// there are more experts per token than experts, a number is not finite, there are too many layers
// or tensors, or a tensor or the total does not fit 62 bits.
absl::Status ValidateSpec(const ModelSpec& spec);

}  // namespace horizon

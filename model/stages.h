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

// A model as the list of stages a token passes through: embedding, then attention and feed-forward
// (or experts) of each layer, final norm, head. A stage is the smallest part with a name of its
// own; one too large to be streamed whole can be cut into shards along its units. What each kind of
// stage is made of is described in model/stages/.
//
// Units are what is never cut: a row of a vocabulary table, an expert, or a matrix of a layer with
// its bias and its norm. So a shard of attention or feed-forward is a run of whole matrices (norm
// and q | k | v | o; norm and gate | up | down), and every sum over a matrix is taken in one go
// whatever the cut.

// A range [begin, end) of a stage's units.
struct UnitRange {
  int64_t begin = 0;
  int64_t end = 0;
  friend bool operator==(const UnitRange&, const UnitRange&) = default;
};

struct Stage {
  StageKind kind = StageKind::kEmbedding;
  int64_t layer = -1;  // -1 outside the layers
  std::string
      name;  // "attention_3", "feed_forward_3", "experts_3", "embedding", "final_norm", "head"
  std::vector<TensorSpec> tensors;  // a tied head has none: it uses the embedding's
  uint64_t parameters = 0;
  uint64_t active_parameters = 0;  // those one token touches (experts: only the chosen ones)
  // How the stage can be sharded: between its units, at multiples of `unit_tile` only, so that the
  // sums of a shard are whole tiles and sharding never changes a bit. units = 1: cannot be cut.
  int64_t units = 1;
  int64_t unit_tile = 1;
  // Of the tensors that have a part in every unit.
  uint64_t parameters_per_unit = 0;
  // Parameters of the other tensors in the units before each, `units` + 1 numbers; empty: there are
  // no such tensors.
  std::vector<uint64_t> whole_before;

  // What is trained of it: everything, unless trained_tensors.h selects less. The trained
  // parameters are counted in the same two ways as all parameters above.
  uint64_t trained_parameters = 0;
  uint64_t trained_per_unit = 0;
  std::vector<uint64_t> trained_whole_before;
  // The roles of the trained tensors. A tied head has the role of the table while that is trained.
  RoleSet trained_roles;
  // A tensor of an earlier stage is trained, so backward has to hand a gradient to the stage
  // before.
  bool wants_input_gradient = false;

  // How far backward goes into the stage, counted from its output.
  BackwardDepth backward_depth() const;
  // Backward computes something here: a gradient of its own or one that an earlier stage needs.
  bool is_differentiated() const { return backward_depth() != BackwardDepth::kNone; }
};

// Most tensors a model may have: a file cannot make us build an endless list.
inline constexpr uint64_t kMaxTensors = 1'000'000;

// All stages in forward order. `spec` must be valid (ValidateSpec).
std::vector<Stage> ListStages(const ModelSpec& spec);

// Parameters of the units in `range`, in constant time. The ranges of any partition add up to
// stage.parameters. For a tied head pass the embedding.
uint64_t ParametersInUnits(const Stage& stage, UnitRange range);
// Those of them that are trained.
uint64_t TrainedInUnits(const Stage& stage, UnitRange range);
// Counts the trained tensors again: for whoever sets TensorSpec::trained. Leaves
// wants_input_gradient alone.
void CountTrained(Stage& stage);

struct ParameterCounts {
  uint64_t total = 0;
  uint64_t active = 0;  // touched by one token
};
ParameterCounts CountParameters(const std::vector<Stage>& stages);

// InvalidArgument, naming the field, when sizes are zero or negative, heads do not divide, experts
// per token exceed experts, a number is not finite, there are too many layers or tensors, or any
// tensor or total does not fit 62 bits.
absl::Status ValidateSpec(const ModelSpec& spec);

}  // namespace horizon

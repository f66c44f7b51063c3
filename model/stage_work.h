#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "common/checked.h"
#include "model/model_spec.h"
#include "model/stages.h"

namespace horizon {

// How much arithmetic a stage needs for a batch of sequences: pure functions of the shapes,
// computed from the stage's description (model/stages/), the base of every prediction of time. A
// count that does not fit 64 bits is given as all ones (CheckedU64), never wrapped.

struct TokenBatch {
  int64_t batch = 1;     // sequences
  int64_t sequence = 1;  // tokens each
  int64_t tokens() const { return batch * sequence; }
};

// InvalidArgument unless both numbers are at least 1 and there are at most 2^40 tokens. The
// functions below take valid batches only.
absl::Status ValidateTokens(TokenBatch tokens);

// `count` products of an m x k matrix with a k x n one: 2 m n k flops each.
struct GemmShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t count = 1;
};
CheckedU64 FlopsOf(const GemmShape& gemm);

// The work of one pass over a stage.
struct StageWork {
  std::vector<GemmShape> gemms;
  uint64_t attention_flops = 0;  // score and value products of the visible pairs only
  uint64_t element_values = 0;   // values read and written by norms, activations, residuals, rotary
  uint64_t flops = 0;            // gemms + attention
};

// Pairs (query, key) one sequence attends: causal, and within `window` where it is not 0.
uint64_t VisiblePairs(int64_t sequence, int64_t window);

// Forward over the units in `range` (all: {0, stage.units}). Experts count the chosen ones only
// (spread evenly over experts); the head is included with its logits. Each piece of work belongs to
// certain units, so the works of a partition add up to the whole.
StageWork ForwardWork(const ModelSpec& spec, const Stage& stage, UnitRange range,
                      TokenBatch tokens);
// Backward: two products for each forward GEMM, less the gradients of frozen weights and whatever
// lies deeper than anything that is trained (Stage::backward_depth); attention recomputes scores,
// so 2.5 times forward.
StageWork BackwardWork(const ModelSpec& spec, const Stage& stage, UnitRange range,
                       TokenBatch tokens);

// The attention of one new token of each of `batch` sequences over a cache of `positions` (fewer
// where the layer has a window): what ForwardWork of a sequence of 1 leaves out. 0 for other stages
// and for units that attention does not belong to.
uint64_t CacheFlops(const ModelSpec& spec, const Stage& stage, UnitRange range, int64_t batch,
                    int64_t positions);

}  // namespace horizon

#pragma once

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "common/checked.h"
#include "model/model_spec.h"
#include "model/stages.h"

namespace horizon {

// How much arithmetic and activation memory a stage needs for a batch of sequences: pure functions
// of the shapes, the base of every time and memory prediction. A count that does not fit 64 bits is
// given as all ones (CheckedU64), never wrapped.

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
// (spread evenly over experts); the head is included with its logits. Norm and router belong to the
// first unit, attention, activation function and residual to the last one of their stage, so the
// works of a partition add up to the whole.
StageWork ForwardWork(const ModelSpec& spec, const Stage& stage, UnitRange range,
                      TokenBatch tokens);
// Backward: two products for each forward GEMM; attention recomputes scores, so 2.5 times forward.
StageWork BackwardWork(const ModelSpec& spec, const Stage& stage, UnitRange range,
                       TokenBatch tokens);

// The attention of one new token of each of `batch` sequences over a cache of `positions` (fewer
// where the layer has a window): what ForwardWork of a sequence of 1 leaves out. 0 for other stages
// and for units that attention does not belong to.
uint64_t CacheFlops(const ModelSpec& spec, const Stage& stage, UnitRange range, int64_t batch,
                    int64_t positions);

// Values (not bytes: the caller knows the activation type) a stage holds for a batch. Besides the
// input, `kept` is, for each token:
// - attention: inverse rms of the input; q, k, v after rotary; attention output before o_proj;
//   log-sum-exp of each head; with q/k norm also q and k before it and their inverse rms.
// - feed_forward: inverse rms; gate and up.
// - experts: inverse rms; router probabilities; number, weight, gate and up of each chosen expert.
// - final_norm: inverse rms. head: nothing. embedding: nothing, and no input either.
// Logits are never counted: the loss takes them in chunks whose size is the plan's. The residual
// stream's output and gradients are the neighbours' and the schedule's, not counted here. A forward
// that keeps nothing still holds `recomputed` + `transient` while it runs.
struct StageActivations {
  uint64_t input = 0;       // the residual stream that enters: what an anchor keeps
  uint64_t kept = 0;        // all that backward reads besides weights, the input included
  uint64_t recomputed = 0;  // kept less input: what recompute makes again from the input
  uint64_t transient = 0;   // largest scratch during forward or backward, dead when it returns;
                            // without the aliased arrays below
  // Of these, numbers a token or head has one of (inverse rms, log-sum-exp, router probabilities,
  // ...): fp32 whatever type activations have.
  uint64_t kept_scalars = 0;
  uint64_t transient_scalars = 0;
  // Beside `transient`: an array of values and one of fp32 numbers that share one allocation, since
  // the second is first written after the last read of the first. The larger of the two counts.
  uint64_t aliased_values = 0;
  uint64_t aliased_scalars = 0;
};
StageActivations ActivationsOf(const ModelSpec& spec, const Stage& stage, TokenBatch tokens);

// In bytes, where a value that is not a scalar takes `value_bytes`.
CheckedU64 KeptBytes(const StageActivations& activations, uint64_t value_bytes);
CheckedU64 TransientBytes(const StageActivations& activations, uint64_t value_bytes);

}  // namespace horizon

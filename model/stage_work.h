#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/status/status.h"
#include "common/checked.h"
#include "model/model_spec.h"
#include "model/sample_lengths.h"
#include "model/stage_options.h"
#include "model/stages.h"

namespace horizon {

// How much arithmetic a stage needs for a batch of sequences. All predictions of time start from
// these counts. They are pure functions of the shapes, computed from the description of the stage
// (model/stages/). A count that does not fit 64 bits is returned as all ones (CheckedU64); it never
// wraps.

// A batch of sequences of one length.
struct TokenBatch {
  int64_t batch = 1;     // sequences
  int64_t sequence = 1;  // tokens per sequence
  int64_t tokens() const { return batch * sequence; }
};

// Returns InvalidArgument unless both numbers are at least 1 and there are at most 2^40 tokens. The
// functions below accept valid batches only (CHECK).
absl::Status ValidateTokens(TokenBatch tokens);

// `count` matrix multiplies of an m x k by a k x n matrix: 2 m n k flops each.
struct GemmShape {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t count = 1;
  // The result is added to an fp32 sum in memory (the weight gradient of a piece of tokens).
  bool adds_to_sum = false;
  // One kernel makes all `count` of them: the experts of a layer.
  bool grouped = false;
};
CheckedU64 FlopsOf(const GemmShape& gemm);

// The work of one pass over a stage.
struct StageWork {
  std::vector<GemmShape> gemms;
  uint64_t attention_flops = 0;  // score and value multiplies of the visible pairs only
  uint64_t element_values = 0;   // values read and written by norms, activations, residuals, rotary
  uint64_t sum_values = 0;       // fp32 values read and written to round sums of weight gradients
  uint64_t flops = 0;            // gemms + attention
};

// How many (query, key) pairs one sequence attends to: causal, and within `window` tokens unless it
// is 0.
uint64_t VisiblePairs(int64_t sequence, int64_t window);
// The same for a batch whose rows are filled with samples of these lengths. The samples' pairs for
// each of their tokens, times the tokens of the batch, rounded to the nearest number:
//   tokens x sum(samples x pairs(length)) / sum(samples x length)
// Each length is at least 1; one above batch.sequence counts as that, because a sample is cut to
// the row. With no lengths each row is one sample.
uint64_t VisiblePairs(TokenBatch batch, int64_t window, std::span<const SampleLength> lengths);

// The matrices of a layer are multiplied with the tokens in pieces (StageOptions::piece_tokens).
//
// The work of forward over the units in `range`; {0, stage.units} is the whole stage. Only the
// chosen experts count, spread evenly over all experts (what a run's routers do may be seen in its
// metrics). The head includes its logits. Each piece of
// work belongs to certain units, so the work of the parts of a partition adds up to the whole.
StageWork ForwardWork(const ModelSpec& spec, const Stage& stage, UnitRange range, TokenBatch tokens,
                      const StageOptions& options = {});
// The work of a recompute that fills the kept activations, of a stage whose output is not needed. A
// recompute that also writes the output does the work of forward.
StageWork RecomputeWork(const ModelSpec& spec, const Stage& stage, UnitRange range,
                        TokenBatch tokens, const StageOptions& options = {});
// The work of backward over the units in `range`: two matrix multiplies for each one of forward,
// except the weight gradients of frozen weights and everything below the lowest trained tensor
// (Stage::backward_depth), and those of forward whose results are not kept. Attention costs 2.5
// times its forward, because backward recomputes the scores.
StageWork BackwardWork(const ModelSpec& spec, const Stage& stage, UnitRange range,
                       TokenBatch tokens, const StageOptions& options = {});

// Flops of attention in generation: one new token of each of `batch` sequences attends to a KV
// cache of `positions` tokens, or fewer if the layer has a window. ForwardWork of a sequence of 1
// does not include this. 0 for stages other than attention, and for a range without the unit that
// attention belongs to.
uint64_t CachedAttentionFlops(const ModelSpec& spec, const Stage& stage, UnitRange range,
                              int64_t batch, int64_t positions);

}  // namespace horizon

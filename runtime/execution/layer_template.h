#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/token_record.h"
#include "kernels/arguments/values.h"
#include "kernels/attention/cached_attention.h"
#include "kernels/kernel_table.h"
#include "model/model_spec.h"
#include "model/stages.h"
#include "runtime/execution/stage_template.h"

namespace horizon {

// Runs the stages between embedding and head: attention, feed-forward or experts, final norm. A
// template (stage_template.h) says at which offset of a stage each tensor and each array is stored;
// each call passes the weights, hidden states, activations and workspace at whatever addresses the
// ring put them. So one template serves every layer of its kind, and no layer has memory of its own
// on the device.
//
// A call covers the units of a stage that are in a chunk: all of them, or a shard. Calls over the
// shards of a stage, ascending in forward and descending in backward, give the same bits as one
// call over all units, if they use one `kept` and one `workspace` that nothing else touches in
// between. Each unit does the same work in the same order and finds the results of other units
// where one call would have put them.
//
// Arrays are token-major and contiguous: hidden states are [tokens, hidden] in the number type that
// the device keeps activations in. Values that exist once per token or head are fp32. So is the sum
// of the gradients that several matrices contribute to their common input: it is accumulated in the
// order v, k, q (or up, gate) and rounded once.

// The arguments that all calls of a pass share.
struct LayerShapes {
  const ModelSpec& spec;
  const StageTemplates& templates;  // for this spec, batch x sequence tokens and activation type
  int64_t batch = 0;
  int64_t sequence = 0;
  const TokenRecord* records = nullptr;  // [batch x sequence]
  // The rotary tables of all positions (model/rotary_tables.h); null when the call has no attention
  // stage.
  const float* rotary_tables = nullptr;
  int64_t positions = 0;  // positions in the tables
  const KernelTable& kernels;
  ValueType activations = ValueType::kFp32;
  bool decodes = false;  // decoding: one token per row, which attends to the KV cache

  int64_t tokens() const { return batch * sequence; }
};

// What a router says of a micro-batch: how often it chose each expert, and the sums of their
// probabilities (kernels/experts/router.h). Both have one number per expert.
struct RouterSums {
  int64_t* counts = nullptr;
  double* probabilities = nullptr;
};

// The auxiliary loss of the routers, as backward of one of them needs it: the counts of all layers,
// `layer_stride` numbers of 8 bytes from one to the next, and the factor of RouterLossGradient.
struct RouterLoss {
  int64_t layers = 0;
  const int64_t* counts = nullptr;
  int64_t layer_stride = 0;
  double scale = 0;
};

// The arguments of one forward call over a stage.
struct StageForward {
  const Stage& stage;
  UnitRange units;
  ConstValues weights;  // of these units
  ConstValues input;
  // The hidden state after the stage, written by the last unit; may be `input`. Null when it is not
  // needed (a recompute that only fills `kept`).
  Values output;
  // Of a shard before the last one: whether the last one writes an output. Experts add their part
  // of it to what they pass on.
  bool output_follows = false;
  // Receives the activations that backward reads, as the template lays them out. The first of them
  // is the input: either `input` is stored there already, or it is copied there. Empty: nothing is
  // kept.
  std::span<std::byte> kept;
  std::span<std::byte> workspace;
  // The KV cache of an attention stage: keys and values are stored there, and with
  // LayerShapes::decodes attention reads them from there alone. Null when the pass has no cache.
  const KvCache* cache = nullptr;
  // Receives the sums of the router of an experts stage; null where they are not wanted.
  const RouterSums* router_sums = nullptr;
};
absl::Status RunStageForward(const LayerShapes& shapes, const StageForward& args,
                             const KernelContext& context);

// The arguments of one backward call over a stage. Backward goes no deeper into a stage than its
// trained tensors and the stages before it need (Stage::backward_depth), and computes no gradient
// of a frozen tensor. Both follow from the job, so every plan does the same.
struct StageBackward {
  const Stage& stage;
  UnitRange units;
  ConstValues weights;        // of these units
  std::span<std::byte> kept;  // read only
  ConstValues output_gradient;
  // Written by the first unit; may be output_gradient; null where it is not needed
  // (Stage::needs_input_gradient).
  Values input_gradient;
  GradientOut gradient;  // receives the gradient of the trained parameters of these units
  std::span<std::byte> workspace;
  // Of an experts stage; null where the routers have no loss of their own.
  const RouterLoss* router_loss = nullptr;
};
absl::Status RunStageBackward(const LayerShapes& shapes, const StageBackward& args,
                              const KernelContext& context);

// When a stage is divided into shards, the weights of its norm are kept after its activations (at
// StageTemplate::kept_bytes), because backward needs them before it reaches the shard that holds
// them. The memory layout reserves room for both.

}  // namespace horizon

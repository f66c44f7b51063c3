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

// The arithmetic of the stages between embedding and head: attention, feed-forward, final norm. A
// template (stage_template.h) knows where in a stage each tensor and each array lies; weights,
// hidden states, activations and workspace are bound by each call, wherever the ring put them. So
// one template serves every layer of its kind, and no layer has memory of its own on the device.
//
// A call takes the units of a stage that are in a chunk: all of them, or a shard. Calls over the
// shards of a stage, ascending in forward and descending in backward, with one `kept` and one
// `workspace` that nothing else touches in between, do what one call over all units does, bit for
// bit: each unit does the same work in the same order, and finds what other units made where one
// call would have put it.
//
// Arrays are token-major and contiguous: hidden states [tokens, hidden], of the type the device
// keeps activations in. Numbers that a token or head has one of are fp32, and so is the sum of the
// gradients that several matrices have for their common input: it is added up in the order v, k, q
// (up, gate) and rounded once.

// What all calls of a pass share.
struct LayerShapes {
  const ModelSpec& spec;
  const StageTemplates& templates;  // of this spec, batch x sequence tokens and activations
  int64_t batch = 0;
  int64_t sequence = 0;
  const TokenRecord* records = nullptr;  // [batch x sequence]
  // The rotary tables of all positions (model/rotary_tables.h); null: no stage of the call attends.
  const float* rotary_tables = nullptr;
  int64_t positions = 0;  // that the tables have
  const KernelTable& kernels;
  ValueType activations = ValueType::kFp32;
  bool decodes = false;  // one token a row, which goes on with what the cache holds

  int64_t tokens() const { return batch * sequence; }
};

struct StageForward {
  const Stage& stage;
  UnitRange units;
  ConstValues weights;  // of these units
  ConstValues input;
  // The hidden state that leaves, written by the last unit; may be `input`; null: not wanted (a
  // recompute that only keeps).
  Values output;
  // Where what backward reads is put, as the template lays it out. Its first part is the input:
  // `input` is this part already, or is copied there. Empty: nothing is kept.
  std::span<std::byte> kept;
  std::span<std::byte> workspace;
  // Of an attention stage in a pass with a cache: keys and values are put there, and with
  // LayerShapes::decodes attention reads them from there alone. Null: the pass has none.
  const KvCache* cache = nullptr;
};
absl::Status ForwardOfStage(const LayerShapes& shapes, const StageForward& args,
                            const KernelContext& context);

// Backward goes no deeper into a stage than its trained tensors and the stages before it ask for
// (Stage::backward_depth), and computes no gradient of a frozen tensor. Both are the job's, so
// every plan does the same.
struct StageBackward {
  const Stage& stage;
  UnitRange units;
  ConstValues weights;        // of these units
  std::span<std::byte> kept;  // read only
  ConstValues output_gradient;
  // Written by the first unit; may be output_gradient; null where the stage wants none
  // (Stage::wants_input_gradient).
  Values input_gradient;
  GradientOut gradient;  // of the trained parameters of these units
  std::span<std::byte> workspace;
};
absl::Status BackwardOfStage(const LayerShapes& shapes, const StageBackward& args,
                             const KernelContext& context);

// A stage in shards has the weights of its norm behind its activations (StageTemplate::kept_bytes),
// since backward needs them before it comes to the shard that has them. The layout has reserved
// both.

}  // namespace horizon

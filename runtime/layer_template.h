#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/cached_attention.h"
#include "kernels/kernel_table.h"
#include "kernels/token_record.h"
#include "kernels/values.h"
#include "model/model_spec.h"
#include "model/stages.h"

namespace horizon {

// The arithmetic of the stages between embedding and head: attention, feed-forward, final norm. A
// template knows shapes and where in a stage each tensor lies; weights, hidden states, activations
// and workspace are bound by each call, wherever the ring put them. So one template serves every
// layer of its kind, and no layer has memory of its own on the device.
//
// Arrays are token-major and contiguous: hidden states [tokens, hidden], of the type the device
// keeps activations in. Numbers that a token or head has one of are fp32.

// Where the tensors of a stage lie, in parameters from its first; -1: the model has none.
struct StageOffsets {
  int64_t norm = -1;
  int64_t q = -1, k = -1, v = -1, o = -1;
  int64_t q_bias = -1, k_bias = -1, v_bias = -1, o_bias = -1;
  int64_t q_norm = -1, k_norm = -1;
  int64_t gate = -1, up = -1, down = -1;
  int64_t gate_bias = -1, up_bias = -1, down_bias = -1;
};
StageOffsets OffsetsOf(const Stage& stage);

// What all calls of a pass share.
struct LayerShapes {
  const ModelSpec& spec;
  int64_t batch = 0;
  int64_t sequence = 0;
  const TokenRecord* records = nullptr;  // [batch x sequence]
  const float* rotary_table = nullptr;
  const KernelTable& kernels;
  ValueType activations = ValueType::kFp32;
  bool decodes = false;  // one token a row, which goes on with what the cache holds

  int64_t tokens() const { return batch * sequence; }
  int64_t query_width() const { return spec.heads * spec.head_dim; }
  int64_t key_width() const { return spec.kv_heads * spec.head_dim; }
};

struct StageForward {
  const Stage& stage;
  ConstValues weights;  // of the stage
  ConstValues input;
  // The hidden state that leaves; may be `input`; null: not wanted (a recompute that only keeps).
  Values output;
  // Where what backward reads is put, laid out as model/stage_work.h counts it. Its first part is
  // the input: `input` is this part already, or is copied there. Null: nothing is kept.
  std::byte* kept = nullptr;
  std::byte* workspace = nullptr;
  // Of an attention stage in a pass with a cache: keys and values are put there, and with
  // LayerShapes::decodes attention reads them from there alone. Null: the pass has none.
  const KvCache* cache = nullptr;
};
absl::Status ForwardOfStage(const LayerShapes& shapes, const StageForward& args,
                            const KernelContext& context);

struct StageBackward {
  const Stage& stage;
  ConstValues weights;
  std::byte* kept = nullptr;  // read only
  ConstValues output_gradient;
  Values input_gradient;  // may be output_gradient
  GradientOut gradient;   // of the stage's parameters
  std::byte* workspace = nullptr;
};
absl::Status BackwardOfStage(const LayerShapes& shapes, const StageBackward& args,
                             const KernelContext& context);

// What the calls above use of `kept`: where the next stage's begins. The layout has reserved it.
int64_t KeptBytes(const LayerShapes& shapes, const Stage& stage);

}  // namespace horizon

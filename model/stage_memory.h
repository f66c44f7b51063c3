#pragma once

#include <cstdint>

#include "common/units.h"
#include "model/model_spec.h"
#include "model/stage_work.h"
#include "model/tensor_role.h"

namespace horizon {

// Bytes that the passes over a stage of some kind use for a batch, from its description
// (model/stages/), where an activation takes `value_bytes`. Overflowed when they pass 64 bits. The
// residual stream's output and gradients are the schedule's, and so are logits; they are not
// counted here.

// All that backward reads besides weights, the input included.
Bytes KeptActivationBytes(const ModelSpec& spec, StageKind kind, TokenBatch tokens,
                          Bytes value_bytes);
// Of these the residual stream that enters: what an activation checkpoint keeps. Recompute makes
// the rest again.
Bytes InputBytes(const ModelSpec& spec, StageKind kind, TokenBatch tokens, Bytes value_bytes);

// Scratch, dead when the pass over the stage is over: of a forward that keeps nothing, or of all
// passes of training.
enum class PassesOver : uint8_t { kForwardOnly, kTraining };
Bytes WorkspaceBytes(const ModelSpec& spec, StageKind kind, TokenBatch tokens, Bytes value_bytes,
                     PassesOver passes);

}  // namespace horizon

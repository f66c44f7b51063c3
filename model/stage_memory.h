#pragma once

#include <cstdint>

#include "common/units.h"
#include "model/model_spec.h"
#include "model/stage_options.h"
#include "model/stage_work.h"
#include "model/tensor_role.h"

namespace horizon {

// Device memory that forward and backward over one kind of stage need for a batch, computed from
// the description of the stage (model/stages/). `value_bytes` is the size of one activation. A
// result that does not fit 64 bits is Overflowed. Not counted here, because the schedule lays them
// out: the output and the gradients of the residual stream, and the logits.

// All activations that backward reads, the input of the stage included. Weights are not counted.
Bytes KeptActivationBytes(const ModelSpec& spec, StageKind kind, TokenBatch tokens,
                          Bytes value_bytes, const StageOptions& options = {});
// The part of KeptActivationBytes that is the input of the stage (the residual stream). An
// activation checkpoint keeps only this; recompute makes the rest again.
Bytes InputBytes(const ModelSpec& spec, StageKind kind, TokenBatch tokens, Bytes value_bytes);

// Scratch memory that is free again once the pass over the stage is over: for a forward that keeps
// no activations, or for any pass of training.
enum class PassesOver : uint8_t { kForwardOnly, kTraining };
Bytes WorkspaceBytes(const ModelSpec& spec, StageKind kind, TokenBatch tokens, Bytes value_bytes,
                     PassesOver passes, const StageOptions& options = {});

}  // namespace horizon

#include "runtime/execution/stage_template.h"

#include "common/check.h"
#include "common/checked.h"
#include "model/stages/describe.h"
#include "schedule/lay_out_memory.h"

namespace horizon {

StageTemplate::StageTemplate(const ModelSpec& spec, StageKind kind, int64_t tokens,
                             ValueType activations, const StageOptions& options)
    : options_(options) {
  unit_begins_.assign(static_cast<size_t>(UnitsOf(spec, kind).units) + 1, 0);
  int64_t offset = 0;
  int64_t unit = 0;
  for (const TensorSpec& tensor : TensorsOf(spec, kind)) {
    CHECK(tensor.split_axis < 0 && tensor.unit >= unit);
    while (unit < tensor.unit) unit_begins_[static_cast<size_t>(++unit)] = offset;
    tensors_[static_cast<size_t>(tensor.role)] = {.offset = offset, .unit = tensor.unit};
    int64_t parameters = 1;
    for (const int64_t length : tensor.shape) parameters *= length;
    offset += parameters;
  }
  while (unit + 1 < static_cast<int64_t>(unit_begins_.size())) {
    unit_begins_[static_cast<size_t>(++unit)] = offset;
  }
  const ArrayDescriptions arrays = ArraysOf(spec, kind, options);
  const CheckedU64 count = CheckedU64::FromSigned(tokens);
  const Bytes value_bytes(static_cast<uint64_t>(BytesOf(activations)));
  kept_ = ArrayLayout::Kept(arrays, count, value_bytes);
  for (const ScratchPass pass :
       {ScratchPass::kForward, ScratchPass::kKeepingForward, ScratchPass::kBackward}) {
    scratch_[static_cast<size_t>(pass)] =
        ArrayLayout::Scratch(arrays, pass, count, value_bytes, options.piece_tokens);
  }
  const Bytes aligned = kept_.bytes().RoundedUp(kActivationAlignment);
  CHECK(aligned.ok());  // LayOutMemory has laid it out
  kept_bytes_ = aligned;
}

StageTemplates::StageTemplates(const ModelSpec& spec, int64_t tokens, ValueType activations,
                               const StageOptions& options) {
  for (const StageKind kind :
       {StageKind::kAttention, StageKind::kFeedForward, StageKind::kFinalNorm}) {
    templates_[static_cast<size_t>(kind)] = StageTemplate(spec, kind, tokens, activations, options);
  }
}

}  // namespace horizon

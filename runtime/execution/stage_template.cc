#include "runtime/execution/stage_template.h"

#include <algorithm>

#include "common/check.h"
#include "common/checked.h"
#include "model/stages/describe.h"
#include "schedule/lay_out_memory.h"

namespace horizon {

StageTemplate::StageTemplate(const ModelSpec& spec, StageKind kind, int64_t tokens,
                             ValueType activations, const StageOptions& options)
    : options_(options) {
  const int64_t units = UnitsOf(spec, kind).units;
  const std::vector<TensorSpec> tensors = TensorsOf(spec, kind);
  int64_t offset = 0;
  const auto put = [&](const TensorSpec& tensor, int64_t unit) {
    TensorPlace& place = tensors_[static_cast<size_t>(tensor.role)];
    if (place.offset < 0) place = {.offset = offset, .unit = unit};
    int64_t parameters = 1;
    for (const int64_t length : tensor.shape) parameters *= length;
    if (tensor.split_axis >= 0) parameters /= units;
    offset += parameters;
    if (unit == 0 && (tensor.split_axis >= 0 || tensor.expert >= 0)) expert_stride_ += parameters;
  };
  // The order of ForEachSlice (schedule/chunk_tensors.h).
  const bool has_split = std::any_of(tensors.begin(), tensors.end(), [](const TensorSpec& tensor) {
    return tensor.split_axis >= 0;
  });
  auto next = tensors.begin();
  for (int64_t unit = 0; unit < units; ++unit) {
    unit_begins_.push_back(offset);
    if (has_split) {
      for (const TensorSpec& tensor : tensors) {
        if (tensor.split_axis >= 0 || tensor.unit == unit) put(tensor, unit);
      }
    } else {
      for (; next != tensors.end() && next->unit == unit; ++next) put(*next, unit);
    }
  }
  CHECK(has_split || next == tensors.end());
  unit_begins_.push_back(offset);
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
  for (const StageKind kind : {StageKind::kAttention, StageKind::kFeedForward, StageKind::kExperts,
                               StageKind::kFinalNorm}) {
    if (kind == StageKind::kExperts && spec.experts.experts == 0) continue;
    if (kind == StageKind::kFeedForward && spec.intermediate == 0) continue;
    templates_[static_cast<size_t>(kind)] = StageTemplate(spec, kind, tokens, activations, options);
  }
}

}  // namespace horizon

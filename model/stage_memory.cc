#include "model/stage_memory.h"

#include <algorithm>

#include "common/check.h"
#include "model/stages/array_layout.h"
#include "model/stages/describe.h"

namespace horizon {
namespace {

CheckedU64 CountOf(TokenBatch tokens) {
  CHECK(ValidateTokens(tokens).ok());
  return CheckedU64::FromSigned(tokens.tokens());
}

}  // namespace

Bytes KeptActivationBytes(const ModelSpec& spec, StageKind kind, TokenBatch tokens,
                          Bytes value_bytes, const StageOptions& options) {
  return ArrayLayout::Kept(ArraysOf(spec, kind, options), CountOf(tokens), value_bytes).bytes();
}

Bytes InputBytes(const ModelSpec& spec, StageKind kind, TokenBatch tokens, Bytes value_bytes) {
  if (kind == StageKind::kEmbedding) return 0_B;
  return CountOf(tokens) * CheckedU64::FromSigned(spec.hidden) * value_bytes;
}

Bytes WorkspaceBytes(const ModelSpec& spec, StageKind kind, TokenBatch tokens, Bytes value_bytes,
                     PassesOver passes, const StageOptions& options) {
  const ArrayDescriptions arrays = ArraysOf(spec, kind, options);
  const auto scratch = [&](ScratchPass pass) {
    return ArrayLayout::Scratch(arrays, pass, CountOf(tokens), value_bytes, options.piece_tokens)
        .bytes();
  };
  const Bytes forward = scratch(ScratchPass::kForward);
  if (passes == PassesOver::kForwardOnly) return forward;
  return std::max(
      {forward, scratch(ScratchPass::kKeepingForward), scratch(ScratchPass::kBackward)});
}

}  // namespace horizon

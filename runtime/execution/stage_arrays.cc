#include "runtime/execution/stage_arrays.h"

#include <string>

#include "common/text/str_cat.h"

namespace horizon {
namespace {

std::string_view NameOf(ScratchPass pass) {
  switch (pass) {
    case ScratchPass::kForward:
      return "forward";
    case ScratchPass::kKeepingForward:
      return "forward that keeps activations";
    case ScratchPass::kBackward:
      return "backward";
  }
  return "unknown pass";
}

}  // namespace

void StageArrays::Fail(ArrayRole role, const std::string& why) {
  if (!status_.ok()) return;
  status_ = absl::InternalError(StrCat("array '", ToString(role), "' of stage ", stage_.name,
                                       " in ", NameOf(pass_), ": ", why));
}

Values StageArrays::Find(ArrayRole role, bool required) {
  const bool keeps = pass_ != ScratchPass::kForward;
  const ArrayLayout::Place& kept = layout_.kept().At(role);
  const bool in_kept = keeps && kept.laid_out;
  const ArrayLayout::Place& place = in_kept ? kept : layout_.ScratchOfPass(pass_).At(role);
  if (!place.laid_out) {
    if (required) Fail(role, "no memory was laid out for it");
    return {};
  }
  const std::span<std::byte> memory = in_kept ? kept_ : workspace_;
  if (place.offset > memory.size() || place.bytes.value() > memory.size() - place.offset) {
    Fail(role, StrCat("its ", place.bytes.value(), " bytes at offset ", place.offset,
                      " do not lie inside the ", memory.size(), " bytes of the ",
                      in_kept ? "activations" : "workspace"));
    return {};
  }
  const Values all = {memory.data() + place.offset,
                      place.type == ArrayType::kActivation ? activations_ : ValueType::kFp32};
  return all.From(first_token_ * place.token_stride);
}

}  // namespace horizon

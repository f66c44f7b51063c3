#pragma once

#include <span>
#include <string_view>

#include "model/tensor_role.h"

namespace horizon {

class FamilyReader;

// A model family: how it writes its config.json and what it calls its tensors on disk. Everything
// else (what a layer computes, its memory, its cost) follows from the options of ModelSpec that
// `read` sets. One file a family, model/families/NAME.cc; CONTRIBUTING.md has the recipe.

// Several of our tensors that lie in one tensor on disk, row after row in this order (phi3:
// self_attn.qkv_proj.weight has the rows of q, then k, then v).
struct FusedTensor {
  StageKind stage;
  std::string_view name;  // as TensorNamer gives names
  std::span<const TensorRole> roles;
};

// The name of a tensor on disk: of layers without "model.layers.N." ("self_attn.q_proj.weight"), of
// experts with '#' for the expert's number, of other stages as a whole ("model.norm.weight").
using TensorNamer = std::string_view (*)(StageKind stage, TensorRole role);
// As llama and most families name them. Every role a stage can have has a name of its own; "" for
// roles that belong to other stages. Norms after a half, which llama does not have, are named as in
// glm4.
std::string_view UsualTensorName(StageKind stage, TensorRole role);
// As families with norms after attention and feed-forward name them (gemma 3, olmo 2):
// post_attention_layernorm is attention's norm after, not the feed-forward's before.
std::string_view NormAfterTensorName(StageKind stage, TensorRole role);

struct Family {
  std::string_view model_type;  // of config.json
  // Sets the options of the reader's spec from the keys of its file; the first error stays in the
  // reader (family_reader.h).
  void (*read)(FamilyReader& reader) = nullptr;
  TensorNamer name = &UsualTensorName;
  std::span<const FusedTensor> fused = {};
};

// All families, in the order of the list in BUILD.
std::span<const Family> AllFamilies();
// nullptr: there is none of this model_type.
const Family* FindFamily(std::string_view model_type);

}  // namespace horizon

#pragma once

#include <span>
#include <string_view>

#include "model/tensor_role.h"

namespace horizon {

class FamilyReader;

// A model family defines how its config.json is read and what its tensors are called on disk.
// Everything else (what a layer computes, its memory, its cost) follows from the fields of
// ModelSpec that `read` sets. Each family is one file, model/families/NAME.cc; CONTRIBUTING.md has
// the recipe.

// Several of our tensors that are stored in one tensor on disk, row after row in this order. In
// phi3, self_attn.qkv_proj.weight has the rows of q, then k, then v.
struct FusedTensor {
  StageKind stage;
  std::string_view name;  // in the form that TensorNamer returns
  std::span<const TensorRole> roles;
};

// Returns the name of a tensor on disk: for a layer without "model.layers.N."
// ("self_attn.q_proj.weight"), for an expert with '#' in place of the expert's number, for other
// stages the whole name ("model.norm.weight").
using TensorNamer = std::string_view (*)(StageKind stage, TensorRole role);
// The names that llama and most families use. Every role that a stage can have has a name of its
// own; "" for roles of other stages. The norms after attention and feed-forward, which llama does
// not have, are named as in glm4.
std::string_view UsualTensorName(StageKind stage, TensorRole role);
// The names in families with norms after attention and feed-forward (gemma 3, olmo 2): here
// post_attention_layernorm is the norm after attention, not the norm before feed-forward.
std::string_view NormAfterTensorName(StageKind stage, TensorRole role);

// One family: its model_type, how its config.json is read, and its names of tensors.
struct Family {
  std::string_view model_type;  // the model_type of its config.json
  // Reads the keys of the file into the reader's spec. The first error stays in the reader
  // (family_reader.h).
  void (*read)(FamilyReader& reader) = nullptr;
  TensorNamer name = &UsualTensorName;
  std::span<const FusedTensor> fused = {};
};

// All families, in the order of the list in BUILD.
std::span<const Family> AllFamilies();
// Returns nullptr if no family has this model_type.
const Family* FindFamily(std::string_view model_type);

}  // namespace horizon

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/tensor_role.h"

namespace horizon {

// Where a tensor is stored inside a larger tensor on disk: it starts `first` elements after the
// start of the larger one.
struct FusedPlace {
  std::string name;            // "model.layers.0.self_attn.qkv_proj.weight"
  std::vector<int64_t> shape;  // shape of the larger tensor
  uint64_t first = 0;
};

// One tensor of a stage.
struct TensorSpec {
  // The name on disk, as the family spells it ("model.layers.0.self_attn.q_proj.weight"). A tensor
  // that is stored as part of a larger one has the name it would have by itself, and `fused` is
  // set. For the text part of a multimodal model, this is the name without the prefix of the
  // wrapper (disk_tensors.h).
  std::string name;
  std::optional<FusedPlace> fused;
  TensorRole role = TensorRole::kTable;
  std::vector<int64_t> shape;  // row-major
  // The axis that is divided equally among the stage's units (vocabulary tables, tensors that hold
  // all experts). -1: the whole tensor belongs to `unit`.
  int split_axis = -1;
  int64_t unit = 0;
  // The number of the expert that the tensor belongs to. -1: it belongs to no single expert.
  int64_t expert = -1;
  // Whether weight decay applies. By default it applies to matrices, and not to norms, biases and
  // sinks.
  bool decays = false;
  // A tensor that is not trained is frozen: it has no gradient, no optimizer state and no update
  // (trained_tensors.h).
  bool trained = true;
  uint64_t parameters = 0;  // product of shape
};

}  // namespace horizon

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "model/tensor_role.h"

namespace horizon {

// Where a tensor lies inside a larger one on disk: `first` elements after its begin.
struct FusedPlace {
  std::string name;            // "model.layers.0.self_attn.qkv_proj.weight"
  std::vector<int64_t> shape;  // of the whole
  uint64_t first = 0;
};

// A tensor of a stage.
struct TensorSpec {
  // As the family names it on disk ("model.layers.0.self_attn.q_proj.weight"). A tensor that is
  // part of another one there has the name it would have by itself, and `fused`. The text part of a
  // multimodal model has these names without what the wrapper puts before them (disk_tensors.h).
  std::string name;
  std::optional<FusedPlace> fused;
  TensorRole role = TensorRole::kTable;
  std::vector<int64_t> shape;  // row-major
  // The axis that is divided equally among the stage's units (vocabulary tables, tensors that hold
  // all experts). -1: the whole tensor belongs to `unit`.
  int split_axis = -1;
  int64_t unit = 0;
  // For a tensor that belongs to one expert: that expert's number. -1: none.
  int64_t expert = -1;
  // Matrices decay by default, norms, biases and sinks do not.
  bool decays = false;
  // A tensor that is not trained is frozen: it has no gradient, no optimizer state and no update
  // (trained_tensors.h).
  bool trained = true;
  uint64_t parameters = 0;  // product of shape
};

}  // namespace horizon

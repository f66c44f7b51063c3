#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "common/units.h"
#include "kernels/arguments/values.h"
#include "model/model_spec.h"
#include "model/stages/array_layout.h"
#include "model/tensor_role.h"

namespace horizon {

// Where the tensors and the arrays of the stages of one kind lie. All stages of a kind are alike in
// that, so a pass makes one template for each kind and uses it for every layer.
class StageTemplate {
 public:
  StageTemplate() = default;
  StageTemplate(const ModelSpec& spec, StageKind kind, int64_t tokens, ValueType activations);

  // A tensor's place: in parameters from the begin of the stage. offset -1: the model has none.
  struct TensorPlace {
    int64_t offset = -1;
    int64_t unit = 0;
  };
  const TensorPlace& TensorAt(TensorRole role) const { return tensors_[static_cast<size_t>(role)]; }
  // Where the tensors of a unit begin, in parameters from the begin of the stage.
  int64_t BeginOfUnit(int64_t unit) const { return unit_begins_[static_cast<size_t>(unit)]; }

  const ArrayLayout& kept() const { return kept_; }
  const ArrayLayout& ScratchOfPass(ScratchOf pass) const {
    return scratch_[static_cast<size_t>(pass)];
  }
  // What a whole stage uses of the activations: where the next stage's begin.
  Bytes kept_bytes() const { return kept_bytes_; }

 private:
  std::array<TensorPlace, kTensorRoles> tensors_;
  std::vector<int64_t> unit_begins_;
  ArrayLayout kept_;
  std::array<ArrayLayout, 3> scratch_;
  Bytes kept_bytes_;
};

// The templates of a pass, by kind of stage.
class StageTemplates {
 public:
  StageTemplates(const ModelSpec& spec, int64_t tokens, ValueType activations);
  const StageTemplate& Of(StageKind kind) const { return templates_[static_cast<size_t>(kind)]; }

 private:
  std::array<StageTemplate, kStageKinds> templates_;
};

}  // namespace horizon

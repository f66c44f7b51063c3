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

// Says where the tensors and the arrays of a stage are stored. All stages of a kind have the same
// offsets, so a pass makes one template for each kind and uses it for every layer.
class StageTemplate {
 public:
  StageTemplate() = default;
  StageTemplate(const ModelSpec& spec, StageKind kind, int64_t tokens, ValueType activations,
                const StageOptions& options = {});

  const StageOptions& options() const { return options_; }

  // A tensor's offset, in parameters from the beginning of the stage, and its unit. offset is -1
  // where the model has no such tensor. For a tensor that every expert has, or has a part of: that
  // of expert 0.
  struct TensorPlace {
    int64_t offset = -1;
    int64_t unit = 0;
  };
  const TensorPlace& TensorAt(TensorRole role) const { return tensors_[static_cast<size_t>(role)]; }
  // Where the tensors of a unit begin, in parameters from the beginning of the stage.
  int64_t BeginOfUnit(int64_t unit) const { return unit_begins_[static_cast<size_t>(unit)]; }
  // Parameters from a tensor of an expert to that of the next one.
  int64_t expert_stride() const { return expert_stride_; }

  const ArrayLayout& kept() const { return kept_; }
  const ArrayLayout& ScratchOfPass(ScratchPass pass) const {
    return scratch_[static_cast<size_t>(pass)];
  }
  // The bytes that a whole stage uses of the kept activations, which is where those of the next
  // stage begin.
  Bytes kept_bytes() const { return kept_bytes_; }

 private:
  StageOptions options_;
  std::array<TensorPlace, kTensorRoles> tensors_;
  std::vector<int64_t> unit_begins_;
  int64_t expert_stride_ = 0;
  ArrayLayout kept_;
  std::array<ArrayLayout, 3> scratch_;
  Bytes kept_bytes_;
};

// The templates of a pass, by kind of stage.
class StageTemplates {
 public:
  StageTemplates(const ModelSpec& spec, int64_t tokens, ValueType activations,
                 const StageOptions& options = {});
  const StageTemplate& Of(StageKind kind) const { return templates_[static_cast<size_t>(kind)]; }

 private:
  std::array<StageTemplate, kStageKinds> templates_;
};

}  // namespace horizon

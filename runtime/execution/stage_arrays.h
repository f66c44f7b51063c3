#pragma once

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "kernels/arguments/values.h"
#include "model/stages.h"
#include "model/stages/array_layout.h"
#include "runtime/execution/stage_template.h"

namespace horizon {

// The arrays of one call over a stage, by role, in the memory that was laid out for them: the
// checked carver of the layer templates.
//
//   StageArrays arrays(stage, layout, ScratchOf::kBackward, kept, workspace, activations);
//   const Values query = arrays.Get(ArrayRole::kQuery);
//   ...
//   RETURN_IF_ERROR(arrays.status());  // before any of them is used
//
// An array that was not laid out for the pass, or that does not lie inside the memory given, is
// null and makes status() an Internal error that names stage and role; so in every build.
class StageArrays {
 public:
  // `kept` may be empty in a forward that keeps nothing; `pass` says so.
  StageArrays(const Stage& stage, const StageTemplate& layout, ScratchOf pass,
              std::span<std::byte> kept, std::span<std::byte> workspace, ValueType activations)
      : stage_(stage),
        layout_(layout),
        pass_(pass),
        kept_(kept),
        workspace_(workspace),
        activations_(activations) {}

  Values Get(ArrayRole role) { return Find(role, /*required=*/true); }
  // An fp32 array.
  float* GetFp32(ArrayRole role) { return Find(role, /*required=*/true).fp32(); }
  // Null, and no error, where the model or the pass has no such array.
  Values GetIfAny(ArrayRole role) { return Find(role, /*required=*/false); }
  float* GetFp32IfAny(ArrayRole role) { return Find(role, /*required=*/false).fp32(); }

  const absl::Status& status() const { return status_; }

 private:
  Values Find(ArrayRole role, bool required);
  void Fail(ArrayRole role, const std::string& why);

  const Stage& stage_;
  const StageTemplate& layout_;
  const ScratchOf pass_;
  const std::span<std::byte> kept_;
  const std::span<std::byte> workspace_;
  const ValueType activations_;
  absl::Status status_;
};

}  // namespace horizon

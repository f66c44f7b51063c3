#pragma once

#include <cstddef>
#include <span>

#include "absl/status/status.h"
#include "kernels/arguments/values.h"
#include "model/stages.h"
#include "model/stages/array_layout.h"
#include "runtime/execution/stage_template.h"

namespace horizon {

// Gives the arrays of one call over a stage, by role, within the memory that was laid out for them,
// and checks that they fit.
//
//   StageArrays arrays(stage, layout, ScratchPass::kBackward, kept, workspace, activations);
//   const Values query = arrays.Get(ArrayRole::kQuery);
//   ...
//   RETURN_IF_ERROR(arrays.status());  // before any of them is used
//
// An array that was not laid out for the pass, or that is not inside the given memory, is null and
// makes status() an Internal error that names the stage and the role. These checks are made in
// every build.
class StageArrays {
 public:
  // `kept` may be empty in a forward that keeps nothing (ScratchPass::kForward). An array of all
  // tokens is given from `first_token` on.
  StageArrays(const Stage& stage, const StageTemplate& layout, ScratchPass pass,
              std::span<std::byte> kept, std::span<std::byte> workspace, ValueType activations,
              int64_t first_token = 0)
      : stage_(stage),
        layout_(layout),
        pass_(pass),
        kept_(kept),
        workspace_(workspace),
        activations_(activations),
        first_token_(first_token) {}

  Values Get(ArrayRole role) { return Find(role, /*required=*/true); }
  // The same for an array that is always fp32.
  float* GetFp32(ArrayRole role) { return Find(role, /*required=*/true).fp32(); }
  // Null, without an error, where the model or the pass has no such array.
  Values GetIfAny(ArrayRole role) { return Find(role, /*required=*/false); }
  float* GetFp32IfAny(ArrayRole role) { return Find(role, /*required=*/false).fp32(); }

  const absl::Status& status() const { return status_; }

 private:
  Values Find(ArrayRole role, bool required);
  void Fail(ArrayRole role, const std::string& why);

  const Stage& stage_;
  const StageTemplate& layout_;
  const ScratchPass pass_;
  const std::span<std::byte> kept_;
  const std::span<std::byte> workspace_;
  const ValueType activations_;
  const int64_t first_token_;
  absl::Status status_;
};

}  // namespace horizon

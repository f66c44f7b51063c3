#pragma once

#include <cstdint>

#include "absl/functional/function_ref.h"
#include "hwy/targets.h"

namespace horizon {

// Calls body with every instruction set chosen that the kernels were compiled for and this
// processor has; then the choice is the usual one again. Not beside other threads that call
// kernels.
inline void ForEachTarget(absl::FunctionRef<void(const char* target)> body) {
  for (const int64_t target : hwy::SupportedAndGeneratedTargets()) {
    hwy::SetSupportedTargetsForTest(target);
    hwy::GetChosenTarget().Update(hwy::SupportedTargets());
    body(hwy::TargetName(target));
  }
  hwy::SetSupportedTargetsForTest(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

}  // namespace horizon

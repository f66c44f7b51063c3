#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "common/str_cat.h"
#include "kernels/values.h"

namespace horizon {

// What CUDA bodies ask of a call before they launch anything. `what` reads after "cannot ".

// The stream is there, and workspace of `bytes`, aligned to 256.
inline absl::Status CheckDeviceContext(const KernelContext& context, uint64_t bytes,
                                       std::string_view what) {
  if (context.stream == nullptr) {
    return absl::InvalidArgumentError(StrCat("cannot ", what, ": no stream is given"));
  }
  const bool aligned = reinterpret_cast<uintptr_t>(context.device_workspace.data()) % 256 == 0;
  if (context.device_workspace.size() >= bytes && (bytes == 0 || aligned)) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("cannot ", what, ": it needs ", bytes,
                                           " bytes of device workspace, aligned to 256, and has ",
                                           context.device_workspace.size()));
}

// Arrays of bf16 that begin at multiples of 16 bytes.
inline absl::Status CheckBf16Arrays(std::initializer_list<ConstValues> arrays,
                                    std::string_view what) {
  for (const ConstValues& array : arrays) {
    if (array == nullptr || array.type() != ValueType::kBf16 ||
        reinterpret_cast<uintptr_t>(array.data()) % 16 != 0) {
      return absl::InvalidArgumentError(StrCat(
          "cannot ", what, ": an array is missing, not bf16, or at no multiple of 16 bytes"));
    }
  }
  return absl::OkStatus();
}

}  // namespace horizon

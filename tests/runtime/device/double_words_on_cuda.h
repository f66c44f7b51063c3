#pragma once

#include <cstddef>
#include <cstdint>

#include "common/cuda_status.h"
#include "runtime/device/device.h"
#include "tests/runtime/device/double_words.h"

namespace horizon {

inline Kernel DoubleWordsOnCuda(std::byte* target, const std::byte* source, uint64_t words) {
  return [=](const KernelContext& context) {
    return ToStatus(
        LaunchDoubleWords(reinterpret_cast<uint32_t*>(target),
                          reinterpret_cast<const uint32_t*>(source), words, context.stream),
        "double words");
  };
}

}  // namespace horizon

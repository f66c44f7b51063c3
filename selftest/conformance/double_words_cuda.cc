#include "selftest/conformance/double_words_cuda.h"

#include "common/cuda_status.h"
#include "selftest/conformance/double_words.h"

namespace horizon {

KernelCall DoubleWordsOnCuda(std::byte* target, const std::byte* source, uint64_t words) {
  return [=](const KernelContext& context) {
    return RunOnCuda("double words on the CUDA device", [&] {
      return LaunchDoubleWords(reinterpret_cast<uint32_t*>(target),
                               reinterpret_cast<const uint32_t*>(source), words, context.stream);
    });
  };
}

}  // namespace horizon

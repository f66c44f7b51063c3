#include <algorithm>

#include "kernels/host/reference_math.h"
#include "kernels/optimizer/squared_norm.h"

namespace horizon {

absl::Status SquaredNormReference(const KernelContext&, const SquaredNorm& args) {
  for (int64_t begin = 0, j = 0; begin < args.count; begin += args.block, ++j) {
    double sum = 0.0;
    for (int64_t i = begin; i < std::min(args.count, begin + args.block); ++i) {
      const double value = args.fp32 != nullptr ? args.fp32[i] : ReferenceFromBf16(args.bf16[i]);
      sum += value * value;
    }
    args.partials[j] = sum;
  }
  return absl::OkStatus();
}

}  // namespace horizon

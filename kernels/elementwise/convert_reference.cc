#include <cstring>

#include "kernels/elementwise/convert.h"
#include "kernels/host/reference_math.h"

namespace horizon {

absl::Status ExpandWeightsReference(const KernelContext&, const ExpandWeights& args) {
  for (int64_t i = 0; i < args.count; ++i) {
    const int64_t low = args.lo == nullptr ? 0 : args.lo[i];
    args.weights[i] =
        std::bit_cast<float>(static_cast<uint32_t>(args.hi[i] * int64_t{65536} + low));
  }
  return absl::OkStatus();
}

absl::Status StoreGradientReference(const KernelContext&, const StoreGradient& args) {
  for (int64_t i = 0; i < args.count; ++i) {
    ReferenceStoreGradient(args.gradient, i, double{args.sum[i]});
  }
  return absl::OkStatus();
}

// The sum of two fp32 numbers is rounded to fp32 once by way of double: 53 >= 2 x 24 + 2 bits.
absl::Status AccumulateReference(const KernelContext&, const Accumulate& args) {
  for (int64_t i = 0; i < args.count; ++i) {
    double sum = args.gradient_fp32 != nullptr ? args.gradient_fp32[i]
                                               : ReferenceFromBf16(args.gradient_bf16[i]);
    if (args.kept_fp32 != nullptr) {
      if (args.add) sum += args.kept_fp32[i];
      args.kept_fp32[i] = static_cast<float>(sum);
    } else {
      if (args.add) sum += ReferenceFromBf16(args.kept_bf16[i]);
      args.kept_bf16[i] = ReferenceToBf16(static_cast<float>(sum));
    }
  }
  return absl::OkStatus();
}

absl::Status ScaleReference(const KernelContext&, const Scale& args) {
  for (int64_t i = 0; i < args.count; ++i) {
    args.values[i] = static_cast<float>(double{args.values[i]} * args.factor);
  }
  return absl::OkStatus();
}

absl::Status CopyBytesReference(const KernelContext&, const CopyBytes& args) {
  if (args.bytes > 0) std::memcpy(args.to, args.from, static_cast<size_t>(args.bytes));
  return absl::OkStatus();
}

}  // namespace horizon

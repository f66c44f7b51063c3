#include <bit>
#include <cmath>

#include "kernels/gemm/gemm.h"

namespace horizon {
namespace {

double Entry(const Gemm& gemm, int64_t i, int64_t j) {
  double sum = 0;
  for (int64_t p = 0; p < gemm.k; ++p) {
    switch (gemm.form) {
      case GemmForm::kForward:
        sum += double{gemm.a[i * gemm.a_stride + p]} * double{gemm.b[j * gemm.b_stride + p]};
        break;
      case GemmForm::kInputGradient:
        sum += double{gemm.a[i * gemm.a_stride + p]} * double{gemm.b[p * gemm.b_stride + j]};
        break;
      case GemmForm::kWeightGradient:
        sum += double{gemm.a[p * gemm.a_stride + i]} * double{gemm.b[p * gemm.b_stride + j]};
        break;
    }
  }
  if (gemm.bias != nullptr) sum += double{gemm.bias[j]};
  if (gemm.initial != nullptr) sum += double{gemm.initial[i * gemm.c_stride + j]};
  return sum;
}

// The nearest bf16, ties to even, by the definition: of the two neighbours the nearer one.
uint16_t NearestBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  const auto down = static_cast<uint16_t>(bits >> 16);
  if (!std::isfinite(value)) return std::isnan(value) ? down | 0x40 : down;
  const uint32_t rest = bits & 0xFFFF;
  const bool up = rest > 0x8000 || (rest == 0x8000 && down % 2 == 1);
  return static_cast<uint16_t>(down + (up ? 1 : 0));
}

void Put(const GradientOut& out, int64_t index, double gradient) {
  const auto g = static_cast<float>(gradient);
  if (out.bf16 != nullptr) {
    out.bf16[index] = NearestBf16(g);
    return;
  }
  const float stored = out.rounded ? std::bit_cast<float>(uint32_t{NearestBf16(g)} << 16) : g;
  out.sum[index] = out.add ? out.sum[index] + stored : stored;
}

}  // namespace

absl::Status GemmReference(const KernelContext& context, const Gemm& gemm) {
  for (int64_t i = 0; i < gemm.m; ++i) {
    for (int64_t j = 0; j < gemm.n; ++j) {
      gemm.c[i * gemm.c_stride + j] = static_cast<float>(Entry(gemm, i, j));
    }
  }
  return absl::OkStatus();
}

absl::Status WeightGradientReference(const KernelContext& context, const WeightGradient& args) {
  for (int64_t i = 0; i < args.m; ++i) {
    for (int64_t j = 0; j < args.n; ++j) {
      double sum = 0;
      for (int64_t token = 0; token < args.k; ++token) {
        sum += double{args.output_gradient[token * args.output_stride + i]} *
               double{args.input[token * args.input_stride + j]};
      }
      Put(args.gradient, i * args.n + j, sum);
    }
  }
  return absl::OkStatus();
}

absl::Status BiasGradientReference(const KernelContext& context, const BiasGradient& args) {
  for (int64_t j = 0; j < args.width; ++j) {
    double sum = 0;
    for (int64_t token = 0; token < args.tokens; ++token) {
      sum += double{args.output_gradient[token * args.width + j]};
    }
    Put(args.gradient, j, sum);
  }
  return absl::OkStatus();
}

}  // namespace horizon

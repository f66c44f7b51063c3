#include <bit>
#include <vector>

#include "kernels/embedding/embedding.h"
#include "kernels/host/reference_math.h"

namespace horizon {
namespace {

bool IsIn(int64_t id, int64_t first_row, int64_t rows) {
  return id >= first_row && id < first_row + rows;
}

// Element `column` of the gradient of row `id`, the fp32 sum times scale: the tokens are searched,
// whatever their links say.
struct RowSum {
  bool any = false;
  float sum = 0.0f;
};
template <typename Args>
RowSum SumOf(const Args& args, const float* gradients, int64_t id, int64_t column) {
  double sum = 0.0;
  bool any = false;
  for (int64_t t = 0; t < args.tokens; ++t) {
    if (args.records[t].id != id) continue;
    sum += gradients[t * args.hidden + column];
    any = true;
  }
  return {any, static_cast<float>(double{static_cast<float>(sum)} * double{args.scale})};
}

}  // namespace

absl::Status EmbedForwardReference(const KernelContext&, const EmbedForward& args) {
  for (int64_t t = 0; t < args.tokens; ++t) {
    const int64_t id = args.records[t].id;
    for (int64_t c = 0; c < args.hidden; ++c) {
      float& output = args.output[t * args.hidden + c];
      if (IsIn(id, args.first_row, args.rows)) {
        const double value = args.table[(id - args.first_row) * args.hidden + c];
        output = static_cast<float>(double{args.scale} * value);
      } else if (args.first_row == 0) {
        output = 0.0f;
      }
    }
  }
  return absl::OkStatus();
}

absl::Status GatherRowsReference(const KernelContext&, const GatherRows& args) {
  for (int64_t t = 0; t < args.tokens; ++t) {
    const int64_t id = args.records[t].id;
    for (int64_t c = 0; c < args.hidden; ++c) {
      float& output = args.output[t * args.hidden + c];
      if (IsIn(id, args.first_row, args.rows)) {
        const int64_t at = (id - args.first_row) * args.hidden + c;
        const int64_t low = args.lo == nullptr ? 0 : args.lo[at];
        const float value =
            std::bit_cast<float>(static_cast<uint32_t>(args.hi[at] * int64_t{65536} + low));
        output = static_cast<float>(double{args.scale} * value);
      } else if (args.first_row == 0) {
        output = 0.0f;
      }
    }
  }
  return absl::OkStatus();
}

absl::Status EmbedBackwardReference(const KernelContext&, const EmbedBackward& args) {
  const bool adds = args.gradient.sum != nullptr && args.gradient.add;
  for (int64_t row = 0; row < args.rows; ++row) {
    for (int64_t c = 0; c < args.hidden; ++c) {
      const RowSum sum = SumOf(args, args.output_gradient, args.first_row + row, c);
      if (sum.any || !adds) {
        ReferenceStoreGradient(args.gradient, row * args.hidden + c, double{sum.sum});
      }
    }
  }
  return absl::OkStatus();
}

absl::Status ScatterRowsReference(const KernelContext&, const ScatterRows& args) {
  for (int64_t row = 0; row < args.rows; ++row) {
    for (int64_t c = 0; c < args.hidden; ++c) {
      const RowSum sum = SumOf(args, args.row_gradients, args.first_row + row, c);
      if (!sum.any && !args.clear) continue;
      const int64_t at = row * args.hidden + c;
      const float arrived = args.rounded ? ReferenceFromBf16(ReferenceToBf16(sum.sum)) : sum.sum;
      if (args.kept_fp32 != nullptr) {
        args.kept_fp32[at] = args.clear ? arrived : args.kept_fp32[at] + arrived;
      } else {
        const uint16_t kept = args.kept_bf16[at];
        args.kept_bf16[at] =
            ReferenceToBf16(args.clear ? arrived : ReferenceFromBf16(kept) + arrived);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace horizon

#include <algorithm>
#include <cmath>

#include "common/check.h"
#include "common/text/str_cat.h"
#include "kernels/host/pieces.h"
#include "kernels/norm/rms_norm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/norm/rms_norm_host.cc"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {
namespace {

// (weight_offset + weight) of a vector of columns.
class OffsetWeights {
 public:
  template <typename Args>
  HWY_INLINE explicit OffsetWeights(const Args& args)
      : weight_(args.weight), added_(hn::Set(F32(), AddedToWeights(args.weight_offset))) {}

  HWY_INLINE F32Vec At(int64_t i, int64_t n) const {
    return hn::Add(added_, LoadPart(F32(), weight_ + i, n));
  }

 private:
  const float* weight_;
  F32Vec added_;
};

// y = x * inverse * (weight_offset + weight) of one row.
void ScaleRow(const float* x, float inverse, OffsetWeights weights, int64_t width, float* y) {
  const F32 f32;
  ForEachVector(width, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    const F32Vec normal = hn::Mul(LoadPart(f32, x + i, n), hn::Set(f32, inverse));
    StorePart(f32, hn::Mul(normal, weights.At(i, n)), y + i, n);
  });
}

void ForwardRows(const RmsNormForward& args, int64_t first, int64_t rows) {
  const OffsetWeights weights(args);
  for (int64_t row = first; row < first + rows; ++row) {
    const float* x = args.x + row * args.width;
    const float mean = Dot(x, x, args.width) / static_cast<float>(args.width);
    const float inverse = 1.0f / std::sqrt(mean + args.epsilon);
    ScaleRow(x, inverse, weights, args.width, args.y + row * args.width);
    if (args.inverse_rms != nullptr) args.inverse_rms[row] = inverse;
  }
}

void RecomputeRows(const RmsNormRecompute& args, int64_t first, int64_t rows) {
  const OffsetWeights weights(args);
  for (int64_t row = first; row < first + rows; ++row) {
    ScaleRow(args.x + row * args.width, args.inverse_rms[row], weights, args.width,
             args.y + row * args.width);
  }
}

// Adds the part of one row to the weight's gradient.
HWY_INLINE void AddWeightTerms(F32Vec gradient, F32Vec normal, float* sums, int64_t n) {
  const F32 f32;
  StorePart(f32, hn::Add(LoadPart(f32, sums, n), hn::Mul(gradient, normal)), sums, n);
}

void WeightGradientRow(const RmsNormBackward& args, int64_t row, float* sums) {
  const F32 f32;
  const float* x = args.x + row * args.width;
  const float* y_gradient = args.y_gradient + row * args.width;
  const F32Vec inverse = hn::Set(f32, args.inverse_rms[row]);
  ForEachVector(args.width, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    const F32Vec normal = hn::Mul(LoadPart(f32, x + i, n), inverse);
    AddWeightTerms(LoadPart(f32, y_gradient + i, n), normal, sums + i, n);
  });
}

// The gradient of x of one row; adds the row's part of the weight's gradient to `sums`, unless that
// is null. The row's sum comes first, so that the gradient of x may then take the place of the
// others, vector by vector.
void BackwardRow(const RmsNormBackward& args, int64_t row, float* sums) {
  const F32 f32;
  const float* x = args.x + row * args.width;
  const OffsetWeights weights(args);
  const float* y_gradient = args.y_gradient + row * args.width;
  const float* residual =
      args.residual_gradient == nullptr ? nullptr : args.residual_gradient + row * args.width;
  float* x_gradient = args.x_gradient + row * args.width;
  const F32Vec inverse = hn::Set(f32, args.inverse_rms[row]);
  LogicalLanes lanes(0.0f);
  ForEachVectorWithLanes(
      args.width, lanes, [&](int64_t i, int64_t n, F32Vec& running) HORIZON_VECTOR_BODY {
        const F32Vec a = hn::Mul(LoadPart(f32, y_gradient + i, n), weights.At(i, n));
        running = hn::Add(running, hn::Mul(a, hn::Mul(LoadPart(f32, x + i, n), inverse)));
      });
  const F32Vec mean = hn::Set(f32, lanes.Sum() / static_cast<float>(args.width));
  ForEachVector(args.width, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    const F32Vec gradient = LoadPart(f32, y_gradient + i, n);
    const F32Vec normal = hn::Mul(LoadPart(f32, x + i, n), inverse);
    const F32Vec a = hn::Mul(gradient, weights.At(i, n));
    F32Vec out = hn::Mul(inverse, hn::Sub(a, hn::Mul(normal, mean)));
    if (residual != nullptr) out = hn::Add(LoadPart(f32, residual + i, n), out);
    if (sums != nullptr) AddWeightTerms(gradient, normal, sums + i, n);
    StorePart(f32, out, x_gradient + i, n);
  });
}

void BackwardTile(const RmsNormBackward& args, int64_t first, int64_t rows, float* sums) {
  std::fill_n(sums, args.width, 0.0f);
  for (int64_t row = first; row < first + rows; ++row) {
    if (args.x_gradient == nullptr) {
      WeightGradientRow(args, row, sums);
    } else {
      BackwardRow(args, row, sums);
    }
  }
}

// Of a frozen weight.
void InputGradientRows(const RmsNormBackward& args, int64_t first, int64_t rows) {
  for (int64_t row = first; row < first + rows; ++row) BackwardRow(args, row, nullptr);
}

void StoreWeightGradient(const GradientOut& out, const float* values, int64_t count) {
  StoreGradients(out, values, count);
}

}  // namespace
}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(ForwardRows);
HWY_EXPORT(RecomputeRows);
HWY_EXPORT(BackwardTile);
HWY_EXPORT(InputGradientRows);
HWY_EXPORT(StoreWeightGradient);

constexpr int64_t kTileRows = 64;
constexpr int64_t kColumnsOfPiece = 1024;

int64_t RowBytes(int64_t width) { return width * static_cast<int64_t>(sizeof(float)); }

// Adds the sums of tiles in ascending order to the fp64 sums of columns [first, first + count).
void AddTiles(const float* tiles, int64_t tile_count, int64_t width, int64_t first, int64_t count,
              double* totals) {
  for (int64_t tile = 0; tile < tile_count; ++tile) {
    const float* sums = tiles + tile * width;
    for (int64_t i = first; i < first + count; ++i) totals[i] += double{sums[i]};
  }
}

// The weight's gradient and, where it is wanted, that of x. Scratch holds the fp64 sums of all
// columns, then the fp32 sums of as many tiles as fit; these are filled by all workers and added
// up, round after round. How many fit changes no bit: every column is added up tile by tile.
absl::Status SumTiles(const KernelContext& context, const RmsNormBackward& args) {
  const int64_t width = args.width;
  const auto scratch = static_cast<int64_t>(context.scratch.size());
  const int64_t total_bytes = width * static_cast<int64_t>(sizeof(double));
  const int64_t room = (scratch - total_bytes) / RowBytes(width);
  if (room < 1) {
    return absl::ResourceExhaustedError(StrCat("the gradient of a norm of ", width,
                                               " weights needs ", total_bytes + RowBytes(width),
                                               " bytes of scratch; there are ", scratch));
  }
  auto* totals = reinterpret_cast<double*>(context.scratch.data());
  auto* tiles = reinterpret_cast<float*>(context.scratch.data() + total_bytes);
  std::fill_n(totals, width, 0.0);
  const int64_t tile_count = (args.rows + kTileRows - 1) / kTileRows;
  for (int64_t begin = 0; begin < tile_count; begin += room) {
    const int64_t count = std::min(room, tile_count - begin);
    context.workers->Run(count, [&](int64_t tile, int) {
      const int64_t first = (begin + tile) * kTileRows;
      HWY_DYNAMIC_DISPATCH(BackwardTile)
      (args, first, std::min(kTileRows, args.rows - first), tiles + tile * width);
    });
    RunPieces(context, width, kColumnsOfPiece, [&](int64_t first, int64_t columns) {
      AddTiles(tiles, count, width, first, columns, totals);
    });
  }
  std::transform(totals, totals + width, tiles,
                 [](double total) { return static_cast<float>(total); });
  HWY_DYNAMIC_DISPATCH(StoreWeightGradient)(args.weight_gradient, tiles, width);
  return absl::OkStatus();
}

}  // namespace

absl::Status RmsNormForwardHost(const KernelContext& context, const RmsNormForward& args) {
  CHECK(args.rows >= 0 && args.width >= 0);
  RunPieces(context, args.rows, RowsPerPiece(RowBytes(args.width)),
            [&](int64_t first, int64_t rows) {
              HWY_DYNAMIC_DISPATCH(ForwardRows)(args, first, rows);
            });
  return absl::OkStatus();
}

absl::Status RmsNormRecomputeHost(const KernelContext& context, const RmsNormRecompute& args) {
  CHECK(args.rows >= 0 && args.width >= 0);
  RunPieces(context, args.rows, RowsPerPiece(RowBytes(args.width)),
            [&](int64_t first, int64_t rows) {
              HWY_DYNAMIC_DISPATCH(RecomputeRows)(args, first, rows);
            });
  return absl::OkStatus();
}

absl::Status RmsNormBackwardHost(const KernelContext& context, const RmsNormBackward& args) {
  CHECK(args.rows >= 0 && args.width >= 0);
  if (args.width == 0) return absl::OkStatus();
  if (args.weight_gradient.is_needed()) return SumTiles(context, args);
  if (args.x_gradient == nullptr) {
    return absl::InvalidArgumentError(
        "the gradient of the RMS norm: neither x_gradient nor weight_gradient is wanted");
  }
  RunPieces(context, args.rows, RowsPerPiece(RowBytes(args.width)),
            [&](int64_t first, int64_t rows) {
              HWY_DYNAMIC_DISPATCH(InputGradientRows)(args, first, rows);
            });
  return absl::OkStatus();
}

}  // namespace horizon
#endif  // HWY_ONCE

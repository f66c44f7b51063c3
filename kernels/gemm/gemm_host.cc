#include <algorithm>
#include <limits>

#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/gemm/blas.h"
#include "kernels/gemm/few_rows.h"
#include "kernels/gemm/gemm.h"
#include "kernels/gemm/gemm_tiles.h"
#include "kernels/gemm/gradient_rows.h"

namespace horizon {
namespace {

static_assert(kLargestTile * kLargestTile * sizeof(float) <= kWorkerScratchBytes);

// The part of the result that one BLAS call computes.
struct Tile {
  int64_t row = 0;
  int64_t column = 0;
  int64_t m = 0;
  int64_t n = 0;
};

// Tiles are numbered along the rows of the result.
Tile TileOf(const Gemm& gemm, const TileSizes& sizes, int64_t piece) {
  const int64_t across = (gemm.n + sizes.n - 1) / sizes.n;
  const int64_t row = piece / across * sizes.m;
  const int64_t column = piece % across * sizes.n;
  return {.row = row,
          .column = column,
          .m = std::min(sizes.m, gemm.m - row),
          .n = std::min(sizes.n, gemm.n - column)};
}

// C = bias + initial, or zeros: what the sum over k starts from.
void StoreInitialPlusBias(const Gemm& gemm, const Tile& tile) {
  for (int64_t i = 0; i < tile.m; ++i) {
    const int64_t at = (tile.row + i) * gemm.c_stride + tile.column;
    float* c = gemm.c + at;
    if (gemm.initial == nullptr) {
      std::fill_n(c, tile.n, 0.0f);
    } else if (gemm.initial != gemm.c) {
      std::copy_n(gemm.initial + at, tile.n, c);
    }
    if (gemm.bias == nullptr) continue;
    const float* bias = gemm.bias + tile.column;
    for (int64_t j = 0; j < tile.n; ++j) c[j] += bias[j];
  }
}

// The call for terms k_begin .. k_begin + k of a tile; the caller sets its result.
BlasTile CallFor(const Gemm& gemm, const Tile& tile, int64_t k_begin, int64_t k) {
  BlasTile call = {
      .m = tile.m, .n = tile.n, .k = k, .a_stride = gemm.a_stride, .b_stride = gemm.b_stride};
  if (gemm.form == GemmForm::kWeightGradient) {
    call.a_transposed = Transposed::kYes;
    call.a = gemm.a + k_begin * gemm.a_stride + tile.row;
  } else {
    call.a = gemm.a + tile.row * gemm.a_stride + k_begin;
  }
  if (gemm.form == GemmForm::kForward) {
    call.b_transposed = Transposed::kYes;
    call.b = gemm.b + tile.column * gemm.b_stride + k_begin;
  } else {
    call.b = gemm.b + k_begin * gemm.b_stride + tile.column;
  }
  return call;
}

// The rows of the tile count, not those of the whole matrix, so that a cut at whole tiles changes
// nothing.
bool HasFewRows(const Gemm& gemm, const Tile& tile) {
  return gemm.form == GemmForm::kForward && tile.m <= kFewRows;
}

void Multiply(const Gemm& gemm, const Tile& tile) {
  const bool has_initial = gemm.initial != nullptr || gemm.bias != nullptr || gemm.k == 0;
  if (has_initial) StoreInitialPlusBias(gemm, tile);
  const int64_t k_tile = gemm.k_tile > 0 ? gemm.k_tile : gemm.k;
  for (int64_t k = 0; k < gemm.k; k += k_tile) {
    BlasTile call = CallFor(gemm, tile, k, std::min(k_tile, gemm.k - k));
    call.c = gemm.c + tile.row * gemm.c_stride + tile.column;
    call.c_stride = gemm.c_stride;
    call.beta = has_initial || k > 0 ? 1.0f : 0.0f;
    if (HasFewRows(gemm, tile)) {
      MultiplyFewRows({.m = call.m,
                       .n = call.n,
                       .k = call.k,
                       .a = call.a,
                       .a_stride = call.a_stride,
                       .b = call.b,
                       .b_stride = call.b_stride,
                       .accumulate = call.beta != 0.0f,
                       .c = call.c,
                       .c_stride = call.c_stride});
    } else {
      MultiplyTile(call);
    }
  }
}

// Sums a tile in `sums` and stores it.
void MultiplyIntoGradient(const Gemm& gemm, const Tile& tile, const GradientOut& gradient,
                          float* sums) {
  if (gemm.k == 0) {
    std::fill_n(sums, tile.m * tile.n, 0.0f);
  } else {
    BlasTile call = CallFor(gemm, tile, 0, gemm.k);
    call.c = sums;
    call.c_stride = tile.n;
    MultiplyTile(call);
  }
  StoreGradientRows({.gradient = gradient.From(tile.row * gemm.n + tile.column),
                     .gradient_stride = gemm.n,
                     .sums = sums,
                     .rows = tile.m,
                     .columns = tile.n});
}

// BLAS takes ints, and wants a row to be as long as what is read of it.
absl::Status Check(const Gemm& gemm) {
  constexpr int64_t kMost = std::numeric_limits<int>::max();
  const int64_t a_row = gemm.form == GemmForm::kWeightGradient ? gemm.m : gemm.k;
  const int64_t b_row = gemm.form == GemmForm::kForward ? gemm.k : gemm.n;
  for (const int64_t size : {gemm.m, gemm.n, gemm.k}) {
    if (size < 0 || size > kMost) {
      return absl::InvalidArgumentError(StrCat("multiplying matrices of ", gemm.m, " x ", gemm.k,
                                               " and ", gemm.k, " x ", gemm.n,
                                               ": a size is negative or 2^31 or more"));
    }
  }
  if (IsTooLarge(gemm.m, gemm.n) || IsTooLarge(gemm.m, gemm.k) || IsTooLarge(gemm.k, gemm.n)) {
    return absl::InvalidArgumentError(StrCat("multiplying matrices of ", gemm.m, " x ", gemm.k,
                                             " and ", gemm.k, " x ", gemm.n,
                                             ": a matrix has more than 2^31 elements"));
  }
  if (gemm.a_stride < a_row || gemm.b_stride < b_row || gemm.c_stride < gemm.n ||
      std::max({gemm.a_stride, gemm.b_stride, gemm.c_stride}) > kMost) {
    return absl::InvalidArgumentError(
        StrCat("multiplying matrices of ", gemm.m, " x ", gemm.k, " and ", gemm.k, " x ", gemm.n,
               ": strides ", gemm.a_stride, ", ", gemm.b_stride, ", ", gemm.c_stride,
               " do not hold a row, or are 2^31 or more"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status GemmHost(const KernelContext& context, const Gemm& gemm) {
  if (absl::Status status = Check(gemm); !status.ok()) return status;
  if (gemm.m == 0 || gemm.n == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const BlasLease lease, BlasLease::Take(context.workers->count()));
  const TileSizes sizes = ChooseTiles(gemm.m, gemm.n, gemm.m_tile, gemm.n_tile);
  context.workers->Run(sizes.CountOf(gemm.m, gemm.n),
                       [&](int64_t piece, int) { Multiply(gemm, TileOf(gemm, sizes, piece)); });
  return absl::OkStatus();
}

absl::Status WeightGradientHost(const KernelContext& context, const WeightGradient& args) {
  const Gemm gemm = {.form = GemmForm::kWeightGradient,
                     .m = args.m,
                     .n = args.n,
                     .k = args.k,
                     .a = args.output_gradient,
                     .a_stride = args.output_stride,
                     .b = args.input,
                     .b_stride = args.input_stride,
                     .c = args.gradient.sum,
                     .c_stride = args.n};
  const GradientOut& gradient = args.gradient;
  const bool stored_as_summed = gradient.sum != nullptr && !gradient.add && !gradient.rounded;
  if (stored_as_summed) return GemmHost(context, gemm);
  if (absl::Status status = Check(gemm); !status.ok()) return status;
  if (gemm.m == 0 || gemm.n == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const BlasLease lease, BlasLease::Take(context.workers->count()));
  const TileSizes sizes = ChooseTiles(gemm.m, gemm.n, 0, 0);
  context.workers->Run(sizes.CountOf(gemm.m, gemm.n), [&](int64_t piece, int worker) {
    MultiplyIntoGradient(gemm, TileOf(gemm, sizes, piece), gradient,
                         reinterpret_cast<float*>(context.ScratchOf(worker)));
  });
  return absl::OkStatus();
}

}  // namespace horizon

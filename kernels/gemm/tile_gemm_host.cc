#include <utility>

#include "kernels/gemm/tile_gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/gemm/tile_gemm_host.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {

// A block of C is kept in vector registers while k runs, beside a row of B and one value of A. x86
// has 16 registers without AVX-512, other processors 32. A block of fewer vectors has more rows, so
// that there are always enough sums that do not wait for each other.
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
inline constexpr int kBlockVectors = 2;
constexpr int BlockRows(int vectors) { return 6; }
#else
inline constexpr int kBlockVectors = 4;
constexpr int BlockRows(int vectors) { return vectors == 4 ? 6 : vectors == 3 ? 8 : 12; }
#endif
static_assert(kLaneGroup % kF32Lanes == 0);

template <int kRows, int kVectors, Transposed kTransposed>
HWY_INLINE void MultiplyBlock(const TileGemm& gemm, int64_t row, int64_t column) {
  const F32 f32;
  constexpr bool kByColumns = kTransposed == Transposed::kYes;
  const float* HWY_RESTRICT a = gemm.a + (kByColumns ? row : row * gemm.a_stride);
  const float* HWY_RESTRICT b = gemm.b + column;
  const int64_t a_row = kByColumns ? 1 : gemm.a_stride;
  const int64_t a_step = kByColumns ? gemm.a_stride : 1;
  F32Vec sums[kRows][kVectors];
  for (auto& of_row : sums) {
    for (F32Vec& sum : of_row) sum = hn::Zero(f32);
  }
  for (int64_t k = 0; k < gemm.k; ++k) {
    F32Vec of_b[kVectors];
    for (int v = 0; v < kVectors; ++v) of_b[v] = hn::LoadU(f32, b + v * kF32Lanes);
    for (int r = 0; r < kRows; ++r) {
      const F32Vec of_a = hn::Set(f32, a[r * a_row]);
      for (int v = 0; v < kVectors; ++v) sums[r][v] = hn::MulAdd(of_a, of_b[v], sums[r][v]);
    }
    a += a_step;
    b += gemm.b_stride;
  }
  for (int r = 0; r < kRows; ++r) {
    float* c = gemm.c + (row + r) * gemm.c_stride + column;
    for (int v = 0; v < kVectors; ++v, c += kF32Lanes) {
      hn::StoreU(gemm.accumulate ? hn::Add(hn::LoadU(f32, c), sums[r][v]) : sums[r][v], f32, c);
    }
  }
}

// All rows of some columns. The last rows are fewer than those of a block.
template <int kVectors, Transposed kTransposed>
void MultiplyColumns(const TileGemm& gemm, int64_t column) {
  constexpr int kRows = BlockRows(kVectors);
  int64_t row = 0;
  for (; row + kRows <= gemm.m; row += kRows) {
    MultiplyBlock<kRows, kVectors, kTransposed>(gemm, row, column);
  }
  const auto rest = [&]<int... kRest>(std::integer_sequence<int, kRest...>) HWY_ATTR {
    const int64_t rows = gemm.m - row;
    ((rows == kRest + 1 ? MultiplyBlock<kRest + 1, kVectors, kTransposed>(gemm, row, column)
                        : void()),
     ...);
  };
  rest(std::make_integer_sequence<int, kRows - 1>());
}

template <Transposed kTransposed>
void MultiplyAllColumns(const TileGemm& gemm) {
  int64_t column = 0;
  for (; column + kBlockVectors * kF32Lanes <= gemm.n; column += kBlockVectors * kF32Lanes) {
    MultiplyColumns<kBlockVectors, kTransposed>(gemm, column);
  }
  const int64_t vectors = (gemm.n - column) / kF32Lanes;
  if constexpr (kBlockVectors > 2) {
    if (vectors == 3) MultiplyColumns<3, kTransposed>(gemm, column);
    if (vectors == 2) MultiplyColumns<2, kTransposed>(gemm, column);
  }
  if (vectors == 1) MultiplyColumns<1, kTransposed>(gemm, column);
}

void Compute(const TileGemm& gemm) {
  if (gemm.a_transposed == Transposed::kYes) {
    MultiplyAllColumns<Transposed::kYes>(gemm);
  } else {
    MultiplyAllColumns<Transposed::kNo>(gemm);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(Compute);

}  // namespace

void ComputeTileGemm(const TileGemm& gemm) { HWY_DYNAMIC_DISPATCH(Compute)(gemm); }

}  // namespace horizon
#endif  // HWY_ONCE

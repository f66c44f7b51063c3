#include <algorithm>
#include <limits>

#include "kernels/head/head_loss_rows.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/head/head_loss_rows_host.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {

void ScaleRows(const LogitTile& tile, float scale) {
  const F32 f32;
  const F32Vec factor = hn::Set(f32, scale);
  for (int64_t i = 0; i < tile.tokens; ++i) {
    float* row = tile.logits + i * tile.stride;
    ForEachVector(tile.rows, [&](int64_t j, int64_t n) HWY_ATTR {
      StorePart(f32, hn::Mul(factor, LoadPart(f32, row + j, n)), row + j, n);
    });
  }
}

float SumOfExp(const float* values, float shift, int64_t count) {
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  const F32 f32;
  LogicalLanes lanes(0.0f);
  ForEachVectorWithLanes(count, lanes, [&](int64_t i, int64_t n, F32Vec& running) HWY_ATTR {
    const F32Vec value = LoadPart(f32, values + i, n, kNone);
    running = hn::Add(running, Exp(hn::Sub(value, hn::Set(f32, shift))));
  });
  return lanes.Sum();
}

void SumRows(const LogitTile& tile, TileSums* sums) {
  for (int64_t i = 0; i < tile.tokens; ++i) {
    const float* row = tile.logits + i * tile.stride;
    sums[i].largest = Max(row, tile.rows);
    sums[i].sum = SumOfExp(row, sums[i].largest, tile.rows);
  }
}

// exp(logit - largest) / sum, not exp(logit - log_sum_exp): the logarithm of large logits has lost
// what the difference needs.
void DifferentiateRows(const LogitTile& tile, const LogitTargets& targets) {
  const F32 f32;
  for (int64_t i = 0; i < tile.tokens; ++i) {
    float* row = tile.logits + i * tile.stride;
    const int64_t label = targets.records[i].label;
    if (label < 0) {
      std::fill_n(row, tile.rows, 0.0f);
      continue;
    }
    const F32Vec largest = hn::Set(f32, targets.sums[i].largest);
    const F32Vec factor = hn::Set(f32, targets.scale / targets.sums[i].sum);
    ForEachVector(tile.rows, [&](int64_t j, int64_t n) HWY_ATTR {
      const F32Vec exp = Exp(hn::Sub(LoadPart(f32, row + j, n), largest));
      StorePart(f32, hn::Mul(exp, factor), row + j, n);
    });
    const int64_t at = label - targets.first_row;
    if (at >= 0 && at < tile.rows) row[at] -= targets.scale;
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(ScaleRows);
HWY_EXPORT(SumRows);
HWY_EXPORT(DifferentiateRows);

}  // namespace

void ScaleLogitRows(const LogitTile& tile, float scale) {
  HWY_DYNAMIC_DISPATCH(ScaleRows)(tile, scale);
}

void SumLogitRows(const LogitTile& tile, TileSums* sums) {
  HWY_DYNAMIC_DISPATCH(SumRows)(tile, sums);
}

void DifferentiateLogitRows(const LogitTile& tile, const LogitTargets& targets) {
  HWY_DYNAMIC_DISPATCH(DifferentiateRows)(tile, targets);
}

}  // namespace horizon
#endif  // HWY_ONCE

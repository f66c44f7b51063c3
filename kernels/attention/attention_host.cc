#include <cmath>
#include <limits>

#include "common/status_macros.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/attention_tiles.h"
#include "kernels/gemm/blas.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_host.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {

// The online softmax of the queries of a tile (Milakov and Gimelshein 2018): the largest score so
// far, the sum of exp(score - largest), and what earlier sums have to be multiplied with now.
struct Softmax {
  float largest[kQueryTile];
  float sum[kQueryTile];
  float factor[kQueryTile];
};

void Begin(Softmax& softmax) {
  // Finite, so that a query which has seen no key yet has factor exp(0) and not exp(inf - inf).
  std::fill_n(softmax.largest, kQueryTile, std::numeric_limits<float>::lowest());
  std::fill_n(softmax.sum, kQueryTile, 0.0f);
}

// Takes in the scores [queries, keys] of some keys and leaves exp(score - largest) in their place,
// 0 where a query does not see a key.
void Continue(const AttentionShape& shape, const TokenRecord* row_records, const Positions& queries,
              const Positions& keys, float* scores, Softmax& softmax) {
  float before[kQueryTile];
  const F32 f32;
  for (int64_t i = 0; i < queries.size(); ++i) {
    const Positions seen = Intersection(VisibleKeys(shape, row_records, queries.begin + i), keys);
    before[i] = softmax.largest[i];
    if (seen.size() <= 0) continue;
    const float* row = scores + i * kScoreStride + seen.begin - keys.begin;
    softmax.largest[i] = HWY_MAX(before[i], Max(row, seen.size()));
  }
  ForEachVector(queries.size(), [&](int64_t i, int64_t n) HWY_ATTR {
    const F32Vec difference =
        hn::Sub(LoadPart(f32, before + i, n), LoadPart(f32, softmax.largest + i, n));
    StorePart(f32, Exp(difference), softmax.factor + i, n);
  });
  for (int64_t i = 0; i < queries.size(); ++i) {
    const Positions seen = Intersection(VisibleKeys(shape, row_records, queries.begin + i), keys);
    float* row = scores + i * kScoreStride;
    if (seen.size() <= 0) {
      std::fill_n(row, keys.size(), 0.0f);
      continue;
    }
    float* begin = row + seen.begin - keys.begin;
    std::fill(row, begin, 0.0f);
    const float sum = ExpShifted(begin, softmax.largest[i], seen.size(), begin);
    std::fill(begin + seen.size(), row + keys.size(), 0.0f);
    softmax.sum[i] = softmax.sum[i] * softmax.factor[i] + sum;
  }
}

void Scale(float* row, int64_t count, float factor) {
  const F32 f32;
  ForEachVector(count, [&](int64_t i, int64_t n) HWY_ATTR {
    StorePart(f32, hn::Mul(LoadPart(f32, row + i, n), hn::Set(f32, factor)), row + i, n);
  });
}

// The output is summed up where it goes, and divided by the sum of exponentials at the end.
void ForwardTile(const AttentionForward& args, int64_t batch, int64_t head,
                 const Positions& queries, float* scores) {
  const AttentionShape& shape = args.shape;
  const int64_t kv_head = head / (shape.heads / shape.kv_heads);
  const int64_t stride = QueryStride(shape);
  const float* q = args.q + QueryRow(shape, batch, head, queries.begin);
  float* output = args.output + QueryRow(shape, batch, head, queries.begin);
  Softmax softmax;
  Begin(softmax);
  const TokenRecord* records = args.records + batch * shape.sequence;
  const Positions seen = KeysVisibleToTile(shape, records, queries);
  for (int64_t begin = seen.begin; begin < seen.end; begin += kKeyTile) {
    const Positions keys = {.begin = begin, .end = HWY_MIN(begin + kKeyTile, seen.end)};
    const int64_t key_row = KeyRow(shape, batch, kv_head, keys.begin);
    MultiplyTile({.b_transposed = Transposed::kYes,
                  .m = queries.size(),
                  .n = keys.size(),
                  .k = shape.head_dim,
                  .alpha = shape.scale,
                  .a = q,
                  .a_stride = stride,
                  .b = args.k + key_row,
                  .b_stride = KeyStride(shape),
                  .c = scores,
                  .c_stride = kScoreStride});
    Continue(shape, records, queries, keys, scores, softmax);
    const bool first = begin == seen.begin;
    for (int64_t i = 0; i < queries.size() && !first; ++i) {
      if (softmax.factor[i] != 1.0f) {
        Scale(output + i * stride, shape.head_dim, softmax.factor[i]);
      }
    }
    MultiplyTile({.m = queries.size(),
                  .n = shape.head_dim,
                  .k = keys.size(),
                  .a = scores,
                  .a_stride = kScoreStride,
                  .b = args.v + key_row,
                  .b_stride = KeyStride(shape),
                  .beta = first ? 0.0f : 1.0f,
                  .c = output,
                  .c_stride = stride});
  }
  for (int64_t i = 0; i < queries.size(); ++i) {
    Scale(output + i * stride, shape.head_dim, 1.0f / softmax.sum[i]);
    args.log_sum_exp[HeadEntry(shape, batch, head, queries.begin + i)] =
        softmax.largest[i] + std::log(softmax.sum[i]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(ForwardTile);

static_assert(kQueryTile * kScoreStride * sizeof(float) <= kWorkerScratchBytes);

}  // namespace

absl::Status AttentionForwardHost(const KernelContext& context, const AttentionForward& args) {
  const AttentionShape& shape = args.shape;
  if (absl::Status status = CheckAttentionShape(shape); !status.ok()) return status;
  ASSIGN_OR_RETURN(const BlasLease lease, BlasLease::Take(context.workers->count()));
  const int64_t tiles = TileCount(shape.sequence, kQueryTile);
  const int64_t sequences = shape.batch * shape.heads;
  // Late queries see more keys: they come first, so that the last pieces are short.
  context.workers->Run(tiles * sequences, [&](int64_t piece, int worker) {
    const int64_t tile = tiles - 1 - piece / sequences;
    const int64_t sequence = piece % sequences;
    HWY_DYNAMIC_DISPATCH(ForwardTile)
    (args, sequence / shape.heads, sequence % shape.heads, TileAt(shape.sequence, kQueryTile, tile),
     reinterpret_cast<float*>(context.ScratchOf(worker)));
  });
  return absl::OkStatus();
}

}  // namespace horizon
#endif  // HWY_ONCE

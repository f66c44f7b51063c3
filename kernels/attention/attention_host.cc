#include <cmath>
#include <limits>

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_strips.h"
#include "kernels/attention/attention_tiles.h"
#include "kernels/attention/tile_gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_host.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/attention/attention_rows-inl.h"
#include "kernels/host/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {

// A tile of queries in scratch memory. Everything is transposed: a column is a query, and so is a
// lane of a vector, so that sums over keys need no sums within a vector.
struct ForwardScratch {
  float* q;       // [head_dim, kQueryTile], times the scale of the scores
  float* output;  // [head_dim, kQueryTile]
  float* scores;  // [kForwardKeyTile keys, kForwardScoreStride]

  ForwardScratch(float* scratch, int64_t head_dim)
      : q(scratch),
        output(q + head_dim * kQueryTile),
        scores(output + head_dim * kQueryTile) {}
};

// The online softmax of the queries of a tile (Milakov and Gimelshein 2018): the largest score so
// far, the sum of exp(score - largest), and what earlier sums have to be multiplied with now.
struct Softmax {
  HWY_ALIGN float largest[kQueryTile];
  HWY_ALIGN float sum[kQueryTile];
  HWY_ALIGN float factor[kQueryTile];
  // Of each query, the first key it sees, counted from the first query of the tile.
  HWY_ALIGN int32_t first_key[kQueryTile];
};

void Begin(const AttentionShape& shape, const TokenRecord* row, const Positions& queries,
           Softmax& softmax) {
  // Finite, so that a query which has seen no key yet has factor exp(0) and not exp(inf - inf).
  std::fill_n(softmax.largest, kQueryTile, std::numeric_limits<float>::lowest());
  std::fill_n(softmax.sum, kQueryTile, 0.0f);
  std::fill_n(softmax.first_key, kQueryTile, std::numeric_limits<int32_t>::max());
  for (int64_t t = queries.begin; t < queries.end; ++t) {
    softmax.first_key[t - queries.begin] =
        static_cast<int32_t>(VisibleKeys(shape, row, t).begin - queries.begin);
  }
}

// Replaces the scores of a vector of queries, from `lane` of the tile on, by -infinity where they
// do not see the key. `keys` count from the first query of the tile, and scores[0] is of the first.
void MaskKeys(const Softmax& softmax, int64_t lane, const Positions& keys, float* scores) {
  const F32 f32;
  const I32 i32;
  const I32Vec first = hn::Load(i32, softmax.first_key + lane);
  const I32Vec query = hn::Iota(i32, static_cast<int32_t>(lane));
  const F32Vec none = hn::Set(f32, -std::numeric_limits<float>::infinity());
  for (int64_t key = keys.begin; key < keys.end; ++key, scores += kForwardScoreStride) {
    const I32Vec at = hn::Set(i32, static_cast<int32_t>(key));
    const auto hidden = hn::Or(hn::Gt(first, at), hn::Gt(at, query));
    hn::StoreU(hn::IfThenElse(hn::RebindMask(f32, hidden), none, hn::LoadU(f32, scores)), f32,
               scores);
  }
}

// Takes in the scores of `count` keys for a vector of queries, from `lane` of the tile on, and
// leaves exp(score - largest) in their place.
void AddKeys(int64_t lane, int64_t count, float* scores, Softmax& softmax) {
  const F32 f32;
  const F32Vec before = hn::Load(f32, softmax.largest + lane);
  // Several, since each is a chain.
  F32Vec maxima[4] = {before, before, before, before};
  int64_t key = 0;
  for (; key + 4 <= count; key += 4) {
    for (int64_t i = 0; i < 4; ++i) {
      maxima[i] = hn::Max(maxima[i], hn::LoadU(f32, scores + (key + i) * kForwardScoreStride));
    }
  }
  for (; key < count; ++key) {
    maxima[0] = hn::Max(maxima[0], hn::LoadU(f32, scores + key * kForwardScoreStride));
  }
  const F32Vec largest =
      hn::Max(hn::Max(maxima[0], maxima[1]), hn::Max(maxima[2], maxima[3]));
  const F32Vec factor = FastExp(hn::Sub(before, largest));
  F32Vec sum = hn::Zero(f32);
  for (key = 0; key < count; ++key, scores += kForwardScoreStride) {
    const F32Vec e = FastExp(hn::Sub(hn::LoadU(f32, scores), largest));
    hn::StoreU(e, f32, scores);
    sum = hn::Add(sum, e);
  }
  hn::Store(largest, f32, softmax.largest + lane);
  hn::Store(factor, f32, softmax.factor + lane);
  hn::Store(hn::MulAdd(hn::Load(f32, softmax.sum + lane), factor, sum), f32, softmax.sum + lane);
}

// Multiplies a vector of columns, from `lane` on.
void ScaleColumns(const float* factors, int64_t lane, int64_t rows, float* values) {
  const F32 f32;
  const F32Vec factor = hn::Load(f32, factors + lane);
  if (hn::AllTrue(f32, hn::Eq(factor, hn::Set(f32, 1.0f)))) return;
  values += lane;
  for (int64_t row = 0; row < rows; ++row, values += kQueryTile) {
    hn::StoreU(hn::Mul(hn::LoadU(f32, values), factor), f32, values);
  }
}

// Turns the scores of a strip of queries into exponentials.
void TakeInScores(const QueryStrips& queries, int64_t strip, const Positions& key_tile,
                  int64_t head_dim, int64_t sequence, const ForwardScratch& scratch,
                  Softmax& softmax) {
  const Positions met = Intersection(queries.MetBy(strip), StripsOf(key_tile));
  if (met.size() <= 0) return;
  const int64_t tile_begin = queries.strips().begin * kStrip;
  const int64_t strip_lane = strip * kStrip - tile_begin;
  const Positions keys = PositionsOf(met, sequence);
  for (int64_t lane = strip_lane; lane < strip_lane + kStrip; lane += kF32Lanes) {
    float* scores = scratch.scores + lane - key_tile.begin * kForwardScoreStride;
    for (int64_t key_strip = met.begin; key_strip < met.end; ++key_strip) {
      if (queries.SeesWhole(strip, key_strip)) continue;
      const Positions masked = PositionsOf({.begin = key_strip, .end = key_strip + 1}, sequence);
      MaskKeys(softmax, lane,
               {.begin = masked.begin - tile_begin, .end = masked.end - tile_begin},
               scores + masked.begin * kForwardScoreStride);
    }
    AddKeys(lane, keys.size(), scores + keys.begin * kForwardScoreStride, softmax);
    ScaleColumns(softmax.factor, lane, head_dim, scratch.output);
  }
}

// Divides the output by the sums of exponentials and stores it where it goes.
void Finish(const AttentionForward& args, int64_t batch, int64_t head, const Positions& queries,
            const ForwardScratch& scratch, const Softmax& softmax) {
  const AttentionShape& shape = args.shape;
  HWY_ALIGN float inverse[kQueryTile];
  for (int64_t i = 0; i < queries.size(); ++i) {
    inverse[i] = 1.0f / softmax.sum[i];
    args.log_sum_exp[HeadEntry(shape, batch, head, queries.begin + i)] =
        softmax.largest[i] + std::log(softmax.sum[i]);
  }
  std::fill(inverse + queries.size(), inverse + kQueryTile, 1.0f);
  for (int64_t lane = 0; lane < queries.size(); lane += kF32Lanes) {
    ScaleColumns(inverse, lane, shape.head_dim, scratch.output);
  }
  TransposeScaled(scratch.output, kQueryTile, shape.head_dim, queries.size(), 1.0f,
                  args.output + QueryRow(shape, batch, head, queries.begin), QueryStride(shape));
}

void ForwardTile(const AttentionForward& args, int64_t batch, int64_t head,
                 const Positions& queries, float* scratch_memory) {
  const AttentionShape& shape = args.shape;
  const int64_t width = shape.head_dim;
  const int64_t kv_head = head / (shape.heads / shape.kv_heads);
  const TokenRecord* row = args.records + batch * shape.sequence;
  const ForwardScratch scratch(scratch_memory, width);
  const QueryStrips strips(shape, row, queries);
  PackColumns(args.q + QueryRow(shape, batch, head, queries.begin), QueryStride(shape),
              queries.size(), width, shape.scale, scratch.q, kQueryTile,
              strips.strips().size() * kStrip);
  std::fill_n(scratch.output, width * kQueryTile, 0.0f);
  Softmax softmax;
  Begin(shape, row, queries, softmax);
  const Positions seen = PositionsOf(strips.MetByAll(), shape.sequence);
  for (int64_t index = seen.begin / kForwardKeyTile; index * kForwardKeyTile < seen.end; ++index) {
    const Positions tile = Intersection(TileAt(shape.sequence, kForwardKeyTile, index), seen);
    const auto gemm_of = [&](const Positions& key_strips, const Positions& query_strips) {
      const Positions keys = PositionsOf(key_strips, shape.sequence);
      const int64_t lane = (query_strips.begin - strips.strips().begin) * kStrip;
      return TileGemm{.m = keys.size(),
                      .n = query_strips.size() * kStrip,
                      .k = width,
                      .a = args.k + KeyRow(shape, batch, kv_head, keys.begin),
                      .a_stride = KeyStride(shape),
                      .b = scratch.q + lane,
                      .b_stride = kQueryTile,
                      .c = scratch.scores + (keys.begin - tile.begin) * kForwardScoreStride + lane,
                      .c_stride = kForwardScoreStride};
    };
    const auto score = [&](const Positions& key_strips, const Positions& query_strips) {
      ComputeTileGemm(gemm_of(key_strips, query_strips));
    };
    const auto add_values = [&](const Positions& key_strips, const Positions& query_strips) {
      const TileGemm of_scores = gemm_of(key_strips, query_strips);
      const Positions keys = PositionsOf(key_strips, shape.sequence);
      ComputeTileGemm({.a_transposed = Transposed::kYes,
                       .m = width,
                       .n = of_scores.n,
                       .k = of_scores.m,
                       .a = args.v + KeyRow(shape, batch, kv_head, keys.begin),
                       .a_stride = KeyStride(shape),
                       .b = of_scores.c,
                       .b_stride = kForwardScoreStride,
                       .accumulate = true,
                       .c = scratch.output + (of_scores.b - scratch.q),
                       .c_stride = kQueryTile});
    };
    ForEachRunOfKeys(strips, StripsOf(tile), score);
    for (int64_t strip = strips.strips().begin; strip < strips.strips().end; ++strip) {
      TakeInScores(strips, strip, tile, width, shape.sequence, scratch, softmax);
    }
    ForEachRunOfKeys(strips, StripsOf(tile), add_values);
  }
  Finish(args, batch, head, queries, scratch, softmax);
}

}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(ForwardTile);

static_assert((2 * kMaxHeadDim * kQueryTile + kForwardKeyTile * kForwardScoreStride) *
                  sizeof(float) <=
              kWorkerScratchBytes);
static_assert(kForwardKeyTile % kStrip == 0);

}  // namespace

absl::Status AttentionForwardHost(const KernelContext& context, const AttentionForward& args) {
  const AttentionShape& shape = args.shape;
  if (absl::Status status = CheckAttentionShape(shape); !status.ok()) return status;
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

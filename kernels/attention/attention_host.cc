#include <cmath>
#include <limits>

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_strips.h"
#include "kernels/attention/attention_tiles.h"
#include "kernels/gemm/tile_gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_host.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/host/pack_rows-inl.h"
#include "kernels/host/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {

inline constexpr int64_t kQueryTile = kForwardQueryTile;
inline constexpr int64_t kKeyTile = kForwardKeyTile;
// From one row of queries to the next in scratch memory.
inline constexpr int64_t kLaneStride = kForwardLaneStride;
// Rows that are a multiple of 2 KiB apart fall into so few sets of a cache that a tile of them does
// not stay there.
inline constexpr int64_t kCrowdedStride = 512;

// A tile of queries of one head.
struct QueryTile {
  const AttentionForward& args;
  int64_t batch;
  int64_t head;
  SampleTile queries;

  int64_t first_token() const { return queries.origin + queries.positions.begin; }
  int64_t kv_head() const { return head / (args.shape.heads / args.shape.kv_heads); }
};

// A tile of queries in scratch memory, and the tile of keys it meets. A query is a column, and so a
// lane of a vector: sums over keys need no sums within a vector.
struct ForwardScratch {
  int64_t key_stride;
  float* q;       // [head_dim, kQueryTile], times the scale of the scores
  float* output;  // [head_dim, kQueryTile]
  float* scores;  // [kKeyTile, kQueryTile]
  float* k;       // [kKeyTile, head_dim], if keys and values are copied (RowsOf)
  float* v;       // [kKeyTile, head_dim]

  ForwardScratch(float* scratch, int64_t head_dim)
      : key_stride(TileStride(Padded(head_dim))),
        q(scratch),
        output(q + head_dim * kLaneStride),
        scores(output + head_dim * kLaneStride),
        k(scores + kKeyTile * kLaneStride),
        v(k + kKeyTile * key_stride) {}
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

void Begin(const QueryStrips& strips, Softmax& softmax) {
  // Finite, so that a query which has seen no key yet has factor exp(0) and not exp(inf - inf).
  std::fill_n(softmax.largest, kQueryTile, std::numeric_limits<float>::lowest());
  std::fill_n(softmax.sum, kQueryTile, 0.0f);
  const int64_t begin = strips.strips().begin * kStrip;
  for (int64_t i = 0; i < kQueryTile; ++i) {
    softmax.first_key[i] = static_cast<int32_t>(strips.SeenBy(begin + i).begin - begin);
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
  for (int64_t key = keys.begin; key < keys.end; ++key, scores += kLaneStride) {
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
      maxima[i] = hn::Max(maxima[i], hn::LoadU(f32, scores + (key + i) * kLaneStride));
    }
  }
  for (; key < count; ++key) {
    maxima[0] = hn::Max(maxima[0], hn::LoadU(f32, scores + key * kLaneStride));
  }
  const F32Vec largest = hn::Max(hn::Max(maxima[0], maxima[1]), hn::Max(maxima[2], maxima[3]));
  const F32Vec factor = FastExp(hn::Sub(before, largest));
  F32Vec sum = hn::Zero(f32);
  for (key = 0; key < count; ++key, scores += kLaneStride) {
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
  for (int64_t row = 0; row < rows; ++row, values += kLaneStride) {
    hn::StoreU(hn::Mul(hn::LoadU(f32, values), factor), f32, values);
  }
}

// Turns the scores of a strip of queries for a tile of keys into exponentials.
void TakeInScores(const QueryStrips& queries, int64_t strip, const Positions& key_tile,
                  int64_t head_dim, const ForwardScratch& scratch, Softmax& softmax) {
  const Positions met = Intersection(queries.MetBy(strip), StripsOf(key_tile));
  if (met.size() <= 0) return;
  const int64_t tile_begin = queries.strips().begin * kStrip;
  const int64_t strip_lane = strip * kStrip - tile_begin;
  const Positions keys = PositionsOf(met, key_tile.end);
  for (int64_t lane = strip_lane; lane < strip_lane + kStrip; lane += kF32Lanes) {
    float* scores = scratch.scores + lane - key_tile.begin * kLaneStride;
    for (int64_t key_strip = met.begin; key_strip < met.end; ++key_strip) {
      if (queries.SeesWhole(strip, key_strip)) continue;
      const Positions part = PositionsOf({.begin = key_strip, .end = key_strip + 1}, key_tile.end);
      MaskKeys(softmax, lane, {.begin = part.begin - tile_begin, .end = part.end - tile_begin},
               scores + part.begin * kLaneStride);
    }
    AddKeys(lane, keys.size(), scores + keys.begin * kLaneStride, softmax);
    ScaleColumns(softmax.factor, lane, head_dim, scratch.output);
  }
}

// Divides the output by the sums of exponentials and stores it where it goes.
void Finish(const QueryTile& tile, const ForwardScratch& scratch, const Softmax& softmax) {
  const AttentionForward& args = tile.args;
  const AttentionShape& shape = args.shape;
  const int64_t queries = tile.queries.positions.size();
  HWY_ALIGN float inverse[kQueryTile];
  std::fill_n(inverse, kQueryTile, 1.0f);
  for (int64_t i = 0; i < queries; ++i) {
    inverse[i] = 1.0f / softmax.sum[i];
    args.log_sum_exp[HeadEntry(shape, tile.batch, tile.head, tile.first_token() + i)] =
        softmax.largest[i] + std::log(softmax.sum[i]);
  }
  for (int64_t lane = 0; lane < queries; lane += kF32Lanes) {
    ScaleColumns(inverse, lane, shape.head_dim, scratch.output);
  }
  TransposeScaled(scratch.output, kLaneStride, shape.head_dim, queries, 1.0f,
                  args.output + QueryRow(shape, tile.batch, tile.head, tile.first_token()),
                  QueryStride(shape));
}

// The two matrix multiplies of a run of keys, K Q^T and V^T P, have the same keys and queries.
struct KeyRun {
  int64_t keys;   // how many
  int64_t key;    // the first of them in the tile
  int64_t lanes;  // of queries
  int64_t lane;   // the first of them in the tile
  float* scores;
};

KeyRun RunOf(const QueryStrips& strips, const Positions& key_tile, const ForwardScratch& scratch,
             const Positions& key_strips, const Positions& query_strips) {
  const Positions keys = PositionsOf(key_strips, key_tile.end);
  const int64_t lane = (query_strips.begin - strips.strips().begin) * kStrip;
  return {.keys = keys.size(),
          .key = keys.begin - key_tile.begin,
          .lanes = query_strips.size() * kStrip,
          .lane = lane,
          .scores = scratch.scores + (keys.begin - key_tile.begin) * kLaneStride + lane};
}

// Keys and values of a tile of keys: in k and v, or copied from there.
struct KeyRows {
  const float* k;
  const float* v;
  int64_t stride;
};

KeyRows RowsOf(const QueryTile& tile, const Positions& keys, const ForwardScratch& scratch) {
  const AttentionShape& shape = tile.args.shape;
  const int64_t stride = KeyStride(shape);
  const int64_t from = KeyRow(shape, tile.batch, tile.kv_head(), tile.queries.origin + keys.begin);
  const float* k = tile.args.k + from;
  const float* v = tile.args.v + from;
  if (stride % kCrowdedStride != 0) return {.k = k, .v = v, .stride = stride};
  PackRows(k, stride, keys.size(), shape.head_dim, 1.0f, scratch.k, scratch.key_stride,
           shape.head_dim);
  PackRows(v, stride, keys.size(), shape.head_dim, 1.0f, scratch.v, scratch.key_stride,
           shape.head_dim);
  return {.k = scratch.k, .v = scratch.v, .stride = scratch.key_stride};
}

void VisitKeys(const QueryTile& tile, const QueryStrips& strips, const Positions& key_tile,
               const ForwardScratch& scratch, Softmax& softmax) {
  const AttentionShape& shape = tile.args.shape;
  const Positions key_strips = StripsOf(key_tile);
  const KeyRows rows = RowsOf(tile, key_tile, scratch);
  ForEachRunOfKeys(strips, key_strips, [&](const Positions& keys, const Positions& queries) {
    const KeyRun run = RunOf(strips, key_tile, scratch, keys, queries);
    ComputeTileGemm({.m = run.keys,
                     .n = run.lanes,
                     .k = shape.head_dim,
                     .a = rows.k + run.key * rows.stride,
                     .a_stride = rows.stride,
                     .b = scratch.q + run.lane,
                     .b_stride = kLaneStride,
                     .c = run.scores,
                     .c_stride = kLaneStride});
  });
  for (int64_t strip = strips.strips().begin; strip < strips.strips().end; ++strip) {
    TakeInScores(strips, strip, key_tile, shape.head_dim, scratch, softmax);
  }
  ForEachRunOfKeys(strips, key_strips, [&](const Positions& keys, const Positions& queries) {
    const KeyRun run = RunOf(strips, key_tile, scratch, keys, queries);
    ComputeTileGemm({.a_transposed = Transposed::kYes,
                     .m = shape.head_dim,
                     .n = run.lanes,
                     .k = run.keys,
                     .a = rows.v + run.key * rows.stride,
                     .a_stride = rows.stride,
                     .b = run.scores,
                     .b_stride = kLaneStride,
                     .accumulate = true,
                     .c = scratch.output + run.lane,
                     .c_stride = kLaneStride});
  });
}

void ForwardTile(const QueryTile& tile, float* scratch_memory) {
  const AttentionShape& shape = tile.args.shape;
  const Positions& queries = tile.queries.positions;
  const ForwardScratch scratch(scratch_memory, shape.head_dim);
  const QueryStrips strips(queries, shape.window);
  PackColumns(tile.args.q + QueryRow(shape, tile.batch, tile.head, tile.first_token()),
              QueryStride(shape), queries.size(), shape.head_dim, shape.scale, scratch.q,
              kLaneStride, strips.strips().size() * kStrip);
  std::fill_n(scratch.output, shape.head_dim * kLaneStride, 0.0f);
  Softmax softmax;
  Begin(strips, softmax);
  const Positions seen = PositionsOf(strips.MetByAll(), queries.end);
  for (int64_t i = seen.begin / kKeyTile; i * kKeyTile < seen.end; ++i) {
    const Positions key_tile = TileAt(queries.end, kKeyTile, i);
    VisitKeys(tile, strips, Intersection(key_tile, seen), scratch, softmax);
  }
  Finish(tile, scratch, softmax);
}

// The tiles that begin at some tokens.
void ForwardStretch(const AttentionForward& args, int64_t batch, int64_t head,
                    const Positions& tokens, float* scratch) {
  const int64_t sequence = args.shape.sequence;
  const TokenRecord* row = args.records + batch * sequence;
  for (int64_t t = tokens.begin; t < tokens.end; ++t) {
    if (!TileBeginsAt(row, t, kQueryTile)) continue;
    ForwardTile({.args = args,
                 .batch = batch,
                 .head = head,
                 .queries = TileFrom(row, sequence, t, kQueryTile)},
                scratch);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(ForwardStretch);

constexpr int64_t kScratchFloats = (2 * kMaxHeadDim + kForwardKeyTile) * kForwardLaneStride +
                                   2 * kForwardKeyTile * TileStride(Padded(kMaxHeadDim));
static_assert(kScratchFloats * sizeof(float) <= kWorkerScratchBytes);

}  // namespace

absl::Status AttentionForwardHost(const KernelContext& context, const AttentionForward& args) {
  const AttentionShape& shape = args.shape;
  if (absl::Status status = CheckAttentionShape(shape); !status.ok()) return status;
  const int64_t stretches = TileCount(shape.sequence, kForwardQueryTile);
  const int64_t sequences = shape.batch * shape.heads;
  // A piece is the tiles that begin in one stretch of kForwardQueryTile tokens. Late queries see
  // more keys: they come first, so that the last pieces are short.
  context.workers->Run(stretches * sequences, [&](int64_t piece, int worker) {
    const Positions stretch =
        TileAt(shape.sequence, kForwardQueryTile, stretches - 1 - piece / sequences);
    const int64_t sequence = piece % sequences;
    HWY_DYNAMIC_DISPATCH(ForwardStretch)
    (args, sequence / shape.heads, sequence % shape.heads, stretch,
     reinterpret_cast<float*>(context.ScratchOf(worker)));
  });
  return absl::OkStatus();
}

}  // namespace horizon
#endif  // HWY_ONCE

#include <algorithm>

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_backward_scratch.h"
#include "kernels/attention/attention_strips.h"
#include "kernels/attention/attention_tiles.h"
#include "kernels/attention/turns.h"
#include "kernels/gemm/tile_gemm.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_backward_host.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/host/pack_rows-inl.h"
#include "kernels/host/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {

// output_dot of some tokens, all heads.
void OutputDots(const AttentionBackward& args, int64_t begin, int64_t end) {
  const AttentionShape& shape = args.shape;
  for (int64_t entry = begin * shape.heads; entry < end * shape.heads; ++entry) {
    const int64_t at = entry * shape.head_dim;
    args.output_dot[entry] = Dot(args.output + at, args.output_gradient + at, shape.head_dim);
  }
}

// Copies keys and values to scratch, and begins their gradients.
void PackKeys(const KeyTile& tile) {
  const AttentionBackward& args = tile.args;
  const BackwardScratch& scratch = tile.scratch;
  const int64_t stride = KeyStride(args.shape);
  const int64_t width = args.shape.head_dim;
  const int64_t count = tile.keys().size();
  const int64_t padded = TileCount(count, kStrip) * kStrip;
  const float* k = args.k + tile.key_row();
  const float* v = args.v + tile.key_row();
  PackColumns(k, stride, count, width, 1.0f, scratch.k_columns, scratch.score_stride, padded);
  PackColumns(v, stride, count, width, 1.0f, scratch.v_columns, scratch.score_stride, padded);
  PackRows(k, stride, count, width, 1.0f, scratch.k_rows, scratch.row_stride, scratch.width);
  std::fill_n(scratch.k_rows + count * scratch.row_stride, (padded - count) * scratch.row_stride,
              0.0f);
  std::fill_n(scratch.k_gradient, padded * scratch.row_stride, 0.0f);
  std::fill_n(scratch.v_gradient, padded * scratch.row_stride, 0.0f);
}

void StoreKeyGradients(const KeyTile& tile) {
  const AttentionBackward& args = tile.args;
  const BackwardScratch& scratch = tile.scratch;
  for (int64_t i = 0; i < tile.keys().size(); ++i) {
    const int64_t to = tile.key_row() + i * KeyStride(args.shape);
    const int64_t from = i * scratch.row_stride;
    std::copy_n(scratch.k_gradient + from, args.shape.head_dim, args.k_gradient + to);
    std::copy_n(scratch.v_gradient + from, args.shape.head_dim, args.v_gradient + to);
  }
}

void PackQueries(const KeyTile& tile, int64_t head, const Positions& queries) {
  const AttentionBackward& args = tile.args;
  const BackwardScratch& scratch = tile.scratch;
  const int64_t from = QueryRow(args.shape, tile.batch, head, tile.place.origin + queries.begin);
  const int64_t stride = QueryStride(args.shape);
  PackRows(args.q + from, stride, queries.size(), args.shape.head_dim, args.shape.scale,
           scratch.q_rows, scratch.row_stride, scratch.width);
  PackRows(args.output_gradient + from, stride, queries.size(), args.shape.head_dim, 1.0f,
           scratch.output_gradient, scratch.row_stride, scratch.width);
}

// Turns the scores of a query and some keys into probabilities p, and the gradients of
// probabilities dp into those of the scores, p x (dp - dot).
void ScoreGradients(int64_t count, float log_sum_exp, float dot, float* p, float* dp) {
  const F32 f32;
  const F32Vec shift = hn::Set(f32, log_sum_exp);
  const F32Vec mean = hn::Set(f32, dot);
  for (int64_t i = 0; i < count; i += kF32Lanes) {
    const F32Vec probability = FastExp(hn::Sub(hn::LoadU(f32, p + i), shift));
    hn::StoreU(probability, f32, p + i);
    hn::StoreU(hn::Mul(probability, hn::Sub(hn::LoadU(f32, dp + i), mean)), f32, dp + i);
  }
}

// The same for all queries of a run of strips; 0 where a query does not see a key.
void RunScoreGradients(const KeyTile& tile, int64_t head, const QueryStrips& strips,
                       const Positions& query_strips, const Positions& met) {
  const AttentionBackward& args = tile.args;
  const AttentionShape& shape = args.shape;
  const int64_t tile_begin = strips.queries().begin;
  for (int64_t strip = query_strips.begin; strip < query_strips.end; ++strip) {
    const Positions queries = PositionsOf({.begin = strip, .end = strip + 1}, strips.queries().end);
    const bool whole = strips.SeesWhole(strip, met.begin) && strips.SeesWhole(strip, met.end - 1);
    for (int64_t t = queries.begin; t < queries.end; ++t) {
      const int64_t offset = (t - tile_begin) * tile.scratch.score_stride - tile.keys().begin;
      float* p = tile.scratch.scores + offset;
      float* dp = tile.scratch.score_gradients + offset;
      const int64_t entry = HeadEntry(shape, tile.batch, head, tile.place.origin + t);
      const int64_t begin = met.begin * kStrip;
      const int64_t end = met.end * kStrip;
      ScoreGradients(end - begin, args.log_sum_exp[entry], args.output_dot[entry], p + begin,
                     dp + begin);
      if (whole) continue;
      const Positions seen = strips.SeenBy(t);
      for (float* values : {p, dp}) {
        std::fill(values + begin, values + std::clamp(seen.begin, begin, end), 0.0f);
        std::fill(values + std::clamp(seen.end, begin, end), values + end, 0.0f);
      }
    }
  }
}

// Adds scale x the product of a strip of queries to their gradients, or stores it.
void AddQueryGradients(const KeyTile& tile, int64_t head, int64_t tile_begin,
                       const Positions& queries, bool store) {
  const AttentionShape& shape = tile.args.shape;
  const F32 f32;
  const F32Vec scale = hn::Set(f32, shape.scale);
  for (int64_t t = queries.begin; t < queries.end; ++t) {
    const float* from = tile.scratch.q_gradient + (t - tile_begin) * tile.scratch.row_stride;
    float* to = tile.args.q_gradient + QueryRow(shape, tile.batch, head, tile.place.origin + t);
    ForEachVector(shape.head_dim, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
      const F32Vec scaled = hn::Mul(scale, hn::LoadU(f32, from + i));
      StorePart(f32, store ? scaled : hn::Add(LoadPart(f32, to + i, n), scaled), to + i, n);
    });
  }
}

// The five matrix multiplies of a tile of queries and a tile of keys. dK and dV are added up in
// scratch, and of dQ what this pair of tiles contributes is left there.
void VisitPair(const KeyTile& tile, int64_t head, const QueryStrips& strips) {
  const BackwardScratch& scratch = tile.scratch;
  const int64_t tile_begin = strips.queries().begin;
  PackQueries(tile, head, strips.queries());
  ForEachRunOfQueries(
      strips, StripsOf(tile.keys()), [&](const Positions& query_strips, const Positions& met) {
        const Positions queries = PositionsOf(query_strips, strips.queries().end);
        const int64_t query_offset = (queries.begin - tile_begin) * scratch.row_stride;
        const int64_t key = met.begin * kStrip - tile.keys().begin;
        const int64_t keys = met.size() * kStrip;
        const int64_t score_offset = (queries.begin - tile_begin) * scratch.score_stride + key;
        const int64_t key_offset = key * scratch.row_stride;

        TileGemm into_scores = {.m = queries.size(),
                                .n = keys,
                                .k = tile.args.shape.head_dim,
                                .a = scratch.q_rows + query_offset,
                                .a_stride = scratch.row_stride,
                                .b = scratch.k_columns + key,
                                .b_stride = scratch.score_stride,
                                .c = scratch.scores + score_offset,
                                .c_stride = scratch.score_stride};
        ComputeTileGemm(into_scores);
        into_scores.a = scratch.output_gradient + query_offset;
        into_scores.b = scratch.v_columns + key;
        into_scores.c = scratch.score_gradients + score_offset;
        ComputeTileGemm(into_scores);
        RunScoreGradients(tile, head, strips, query_strips, met);

        TileGemm into_keys = {.a_transposed = Transposed::kYes,
                              .m = keys,
                              .n = scratch.width,
                              .k = queries.size(),
                              .a = scratch.scores + score_offset,
                              .a_stride = scratch.score_stride,
                              .b = scratch.output_gradient + query_offset,
                              .b_stride = scratch.row_stride,
                              .accumulate = true,
                              .c = scratch.v_gradient + key_offset,
                              .c_stride = scratch.row_stride};
        ComputeTileGemm(into_keys);
        into_keys.a = scratch.score_gradients + score_offset;
        into_keys.b = scratch.q_rows + query_offset;
        into_keys.c = scratch.k_gradient + key_offset;
        ComputeTileGemm(into_keys);

        ComputeTileGemm({.m = queries.size(),
                         .n = scratch.width,
                         .k = keys,
                         .a = scratch.score_gradients + score_offset,
                         .a_stride = scratch.score_stride,
                         .b = scratch.k_rows + key_offset,
                         .b_stride = scratch.row_stride,
                         .c = scratch.q_gradient + query_offset,
                         .c_stride = scratch.row_stride});
      });
}

// Adds the contribution of a pair of tiles to dQ. The first strip of keys that a strip of queries
// meets lies in the first tile that it meets.
void AddToQueries(const KeyTile& tile, int64_t head, const QueryStrips& strips) {
  const int64_t tile_begin = strips.queries().begin;
  for (int64_t strip = strips.strips().begin; strip < strips.strips().end; ++strip) {
    const Positions met = strips.MetBy(strip);
    if (Intersection(met, StripsOf(tile.keys())).size() <= 0) continue;
    AddQueryGradients(tile, head, tile_begin,
                      PositionsOf({.begin = strip, .end = strip + 1}, strips.queries().end),
                      met.begin * kStrip >= tile.keys().begin);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(OutputDots);
HWY_EXPORT(PackKeys);
HWY_EXPORT(StoreKeyGradients);
HWY_EXPORT(VisitPair);
HWY_EXPORT(AddToQueries);

constexpr int64_t kDotTokens = 64;

// The wider a head, the fewer keys a tile has. These are the widest for 256, 128 and 64 keys.
constexpr bool FitsScratch(int64_t head_dim) {
  return static_cast<size_t>(BackwardScratch::Floats(head_dim, BackwardKeyTile(head_dim))) *
             sizeof(float) <=
         kWorkerScratchBytes;
}
static_assert(FitsScratch(128) && FitsScratch(192) && FitsScratch(256) && FitsScratch(kMaxHeadDim));

// The tiles of keys of a sample add to dQ in ascending order. Two that follow one another begin in
// the stretches of pieces that do, so a piece holds at most one tile that has one behind it. A step
// is a head and a token.
struct Turn {
  Turns& turns;
  int64_t piece;
  int64_t earlier;  // the piece with the tile before

  void Wait(int64_t step) const { turns.WaitFor(earlier, step); }
  void Complete(int64_t step) const { turns.Complete(piece, step); }
};

// All that one tile of keys takes part in. dK and dV are complete afterwards; dQ is, where no later
// tile is seen.
void VisitKeyTile(const KeyTile& tile, const TokenRecord* row, const Turn& turn) {
  const AttentionShape& shape = tile.args.shape;
  const int64_t group = shape.heads / shape.kv_heads;
  const bool is_first = tile.keys().begin == 0;
  const int64_t behind = tile.place.origin + tile.keys().end;
  const bool is_last = behind == shape.sequence || row[behind].position != tile.keys().end;
  HWY_DYNAMIC_DISPATCH(PackKeys)(tile);
  for (int64_t i = 0; i < group; ++i) {
    const int64_t head = tile.kv_head * group + i;
    // The tile of queries with the first key begins at or before it.
    int64_t position = tile.keys().begin / kBackwardQueryTile * kBackwardQueryTile;
    for (int64_t t = tile.place.origin + position;
         t < shape.sequence && row[t].position == position;
         t += kBackwardQueryTile, position += kBackwardQueryTile) {
      const QueryStrips strips(TileFrom(row, shape.sequence, t, kBackwardQueryTile).positions,
                               shape.window);
      // The first key that is seen never moves back.
      if (strips.MetByAll().begin * kStrip >= tile.keys().end) break;
      HWY_DYNAMIC_DISPATCH(VisitPair)(tile, head, strips);
      const int64_t step = i * shape.sequence + t;
      if (!is_first) turn.Wait(step);
      HWY_DYNAMIC_DISPATCH(AddToQueries)(tile, head, strips);
      if (!is_last) turn.Complete(step);
    }
    if (!is_last) turn.Complete((i + 1) * shape.sequence - 1);
  }
  HWY_DYNAMIC_DISPATCH(StoreKeyGradients)(tile);
}

}  // namespace

absl::Status AttentionBackwardHost(const KernelContext& context, const AttentionBackward& args) {
  const AttentionShape& shape = args.shape;
  if (absl::Status status = CheckAttentionShape(shape); !status.ok()) return status;
  const int64_t tokens = shape.batch * shape.sequence;
  context.workers->Run(TileCount(tokens, kDotTokens), [&](int64_t piece, int) {
    const Positions part = TileAt(tokens, kDotTokens, piece);
    HWY_DYNAMIC_DISPATCH(OutputDots)(args, part.begin, part.end);
  });

  const int64_t size = BackwardKeyTile(shape.head_dim);
  const int64_t group = shape.heads / shape.kv_heads;
  // A sequence here is one row of the batch in one key head.
  const int64_t sequences = shape.batch * shape.kv_heads;
  Turns turns(group * shape.sequence);
  // A piece is the tiles of keys that begin in one stretch of tokens. Early keys are seen by more
  // queries: they come first, so that the last pieces are short.
  context.workers->Run(TileCount(shape.sequence, size) * sequences, [&](int64_t piece, int worker) {
    const int64_t sequence = piece % sequences;
    const int64_t batch = sequence / shape.kv_heads;
    const TokenRecord* row = args.records + batch * shape.sequence;
    const Positions stretch = TileAt(shape.sequence, size, piece / sequences);
    const Turn turn = {.turns = turns, .piece = piece, .earlier = piece - sequences};
    turns.Begin(piece);
    for (int64_t t = stretch.begin; t < stretch.end; ++t) {
      if (!TileBeginsAt(row, t, size)) continue;
      VisitKeyTile(
          {.args = args,
           .batch = batch,
           .kv_head = sequence % shape.kv_heads,
           .place = TileFrom(row, shape.sequence, t, size),
           .scratch = {reinterpret_cast<float*>(context.ScratchOf(worker)), shape.head_dim, size}},
          row, turn);
    }
    turn.Complete(group * shape.sequence - 1);
  });
  return absl::OkStatus();
}

}  // namespace horizon
#endif  // HWY_ONCE

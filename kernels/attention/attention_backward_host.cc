#include <algorithm>

#include "common/status_macros.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/attention_tiles.h"
#include "kernels/gemm/blas.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/attention_backward_host.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "hwy/highway.h"
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

// Turns scores into probabilities, and the gradients of probabilities into those of the scores
// (before `scale`), both 0 where a query does not see a key.
void ScoreGradients(const AttentionBackward& args, int64_t batch, int64_t head,
                    const Positions& queries, const Positions& keys, float* scores,
                    float* gradients) {
  const AttentionShape& shape = args.shape;
  const TokenRecord* records = args.records + batch * shape.sequence;
  const F32 f32;
  for (int64_t i = 0; i < queries.size(); ++i) {
    const int64_t entry = HeadEntry(shape, batch, head, queries.begin + i);
    const F32Vec log_sum_exp = hn::Set(f32, args.log_sum_exp[entry]);
    const F32Vec dot = hn::Set(f32, args.output_dot[entry]);
    const Positions seen = Intersection(VisibleKeys(shape, records, queries.begin + i), keys);
    const int64_t count = HWY_MAX(seen.size(), 0);
    const int64_t first = count > 0 ? seen.begin - keys.begin : 0;
    float* p = scores + i * kScoreStride;
    float* ds = gradients + i * kScoreStride;
    for (float* row : {p, ds}) {
      std::fill(row, row + first, 0.0f);
      std::fill(row + first + count, row + keys.size(), 0.0f);
    }
    p += first;
    ds += first;
    ForEachVector(count, [&](int64_t j, int64_t n) HWY_ATTR {
      const F32Vec probability = Exp(hn::Sub(LoadPart(f32, p + j, n), log_sum_exp));
      StorePart(f32, probability, p + j, n);
      const F32Vec gradient = hn::Sub(LoadPart(f32, ds + j, n), dot);
      StorePart(f32, hn::Mul(probability, gradient), ds + j, n);
    });
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(OutputDots);
HWY_EXPORT(ScoreGradients);

constexpr int64_t kTileFloats = kQueryTile * kScoreStride;
static_assert(2 * kTileFloats * sizeof(float) <= kWorkerScratchBytes);
constexpr int64_t kDotTokens = 64;

// Which gradients a visit to a pair of tiles adds to.
enum class Wanted { kAll, kOfKeys, kOfQueries };

// The part of the work that belongs to one head: its arrays from the first position on.
struct HeadArrays {
  const AttentionBackward& args;
  int64_t batch;
  int64_t head;
  int64_t kv_head;

  HeadArrays(const AttentionBackward& arguments, int64_t the_batch, int64_t the_head)
      : args(arguments),
        batch(the_batch),
        head(the_head),
        kv_head(the_head / (args.shape.heads / args.shape.kv_heads)) {}
};

// Adds what one pair of tiles contributes. The calls, their sizes and their order for any one
// gradient are the same whatever is wanted, and so are the bits.
void VisitPair(const HeadArrays& at, const Positions& queries, const Positions& key_tile,
               Wanted wanted, float* scratch) {
  const AttentionBackward& args = at.args;
  const AttentionShape& shape = args.shape;
  const Positions all_seen =
      KeysVisibleToTile(shape, args.records + at.batch * shape.sequence, queries);
  const Positions keys = Intersection(key_tile, all_seen);
  if (keys.size() <= 0) return;
  const int64_t query_row = QueryRow(shape, at.batch, at.head, queries.begin);
  const int64_t key_row = KeyRow(shape, at.batch, at.kv_head, keys.begin);
  const int64_t query_stride = QueryStride(shape);
  const int64_t key_stride = KeyStride(shape);
  float* scores = scratch;
  float* gradients = scratch + kTileFloats;

  BlasTile of_keys = {.b_transposed = Transposed::kYes,
                      .m = queries.size(),
                      .n = keys.size(),
                      .k = shape.head_dim,
                      .alpha = shape.scale,
                      .a = args.q + query_row,
                      .a_stride = query_stride,
                      .b = args.k + key_row,
                      .b_stride = key_stride,
                      .c = scores,
                      .c_stride = kScoreStride};
  MultiplyTile(of_keys);
  of_keys.alpha = 1.0f;
  of_keys.a = args.output_gradient + query_row;
  of_keys.b = args.v + key_row;
  of_keys.c = gradients;
  MultiplyTile(of_keys);
  HWY_DYNAMIC_DISPATCH(ScoreGradients)
  (args, at.batch, at.head, queries, keys, scores, gradients);

  if (wanted != Wanted::kOfQueries) {
    BlasTile into_keys = {.a_transposed = Transposed::kYes,
                          .m = keys.size(),
                          .n = shape.head_dim,
                          .k = queries.size(),
                          .a = scores,
                          .a_stride = kScoreStride,
                          .b = args.output_gradient + query_row,
                          .b_stride = query_stride,
                          .beta = 1.0f,
                          .c = args.v_gradient + key_row,
                          .c_stride = key_stride};
    MultiplyTile(into_keys);
    into_keys.alpha = shape.scale;
    into_keys.a = gradients;
    into_keys.b = args.q + query_row;
    into_keys.c = args.k_gradient + key_row;
    MultiplyTile(into_keys);
  }
  if (wanted != Wanted::kOfKeys) {
    MultiplyTile({.m = queries.size(),
                  .n = shape.head_dim,
                  .k = keys.size(),
                  .alpha = shape.scale,
                  .a = gradients,
                  .a_stride = kScoreStride,
                  .b = args.k + key_row,
                  .b_stride = key_stride,
                  .beta = keys.begin == all_seen.begin ? 0.0f : 1.0f,
                  .c = args.q_gradient + query_row,
                  .c_stride = query_stride});
  }
}

// All that one tile of keys takes part in: dK and dV are complete afterwards.
void VisitKeyTile(const AttentionBackward& args, int64_t batch, int64_t kv_head, int64_t key_tile,
                  Wanted wanted, float* scratch) {
  const AttentionShape& shape = args.shape;
  const Positions keys = TileAt(shape.sequence, kKeyTile, key_tile);
  for (int64_t t = keys.begin; t < keys.end; ++t) {
    const int64_t row = KeyRow(shape, batch, kv_head, t);
    std::fill_n(args.k_gradient + row, shape.head_dim, 0.0f);
    std::fill_n(args.v_gradient + row, shape.head_dim, 0.0f);
  }
  const int64_t group = shape.heads / shape.kv_heads;
  const int64_t query_tiles = TileCount(shape.sequence, kQueryTile);
  for (int64_t head = kv_head * group; head < (kv_head + 1) * group; ++head) {
    for (int64_t tile = keys.begin / kQueryTile; tile < query_tiles; ++tile) {
      VisitPair({args, batch, head}, TileAt(shape.sequence, kQueryTile, tile), keys, wanted,
                scratch);
    }
  }
}

// dQ of one tile of queries.
void VisitQueryTile(const AttentionBackward& args, int64_t batch, int64_t head, int64_t query_tile,
                    float* scratch) {
  const AttentionShape& shape = args.shape;
  const int64_t key_tiles = TileCount(shape.sequence, kKeyTile);
  for (int64_t tile = 0; tile < key_tiles; ++tile) {
    VisitPair({args, batch, head}, TileAt(shape.sequence, kQueryTile, query_tile),
              TileAt(shape.sequence, kKeyTile, tile), Wanted::kOfQueries, scratch);
  }
}

// Visiting each pair of tiles once takes 5 matrix multiplies. Visiting it once for keys and once
// for queries takes 4 + 3, but more workers than there are key heads can share the work.
bool OneVisitIsFaster(int64_t pieces, int64_t workers) {
  const int64_t rounds = (pieces + workers - 1) / workers;
  return 5 * rounds * workers <= 7 * pieces;
}

}  // namespace

absl::Status AttentionBackwardHost(const KernelContext& context, const AttentionBackward& args) {
  const AttentionShape& shape = args.shape;
  if (absl::Status status = CheckAttentionShape(shape); !status.ok()) return status;
  ASSIGN_OR_RETURN(const BlasLease lease, BlasLease::Take(context.workers->count()));
  const int64_t tokens = shape.batch * shape.sequence;
  const int64_t key_tiles = TileCount(shape.sequence, kKeyTile);
  const int64_t query_tiles = TileCount(shape.sequence, kQueryTile);
  // A sequence here is one row of the batch in one head.
  const int64_t kv_sequences = shape.batch * shape.kv_heads;
  const int64_t query_sequences = shape.batch * shape.heads;
  const auto scratch_of = [&](int worker) {
    return reinterpret_cast<float*>(context.ScratchOf(worker));
  };
  context.workers->Run(TileCount(tokens, kDotTokens), [&](int64_t piece, int) {
    const Positions part = TileAt(tokens, kDotTokens, piece);
    HWY_DYNAMIC_DISPATCH(OutputDots)(args, part.begin, part.end);
  });
  if (OneVisitIsFaster(kv_sequences, context.workers->count())) {
    context.workers->Run(kv_sequences, [&](int64_t sequence, int worker) {
      for (int64_t tile = 0; tile < key_tiles; ++tile) {
        VisitKeyTile(args, sequence / shape.kv_heads, sequence % shape.kv_heads, tile, Wanted::kAll,
                     scratch_of(worker));
      }
    });
    return absl::OkStatus();
  }
  // Early keys are seen by more queries, late queries see more keys: those pieces come first.
  context.workers->Run(key_tiles * kv_sequences, [&](int64_t piece, int worker) {
    const int64_t sequence = piece % kv_sequences;
    VisitKeyTile(args, sequence / shape.kv_heads, sequence % shape.kv_heads, piece / kv_sequences,
                 Wanted::kOfKeys, scratch_of(worker));
  });
  context.workers->Run(query_tiles * query_sequences, [&](int64_t piece, int worker) {
    const int64_t sequence = piece % query_sequences;
    VisitQueryTile(args, sequence / shape.heads, sequence % shape.heads,
                   query_tiles - 1 - piece / query_sequences, scratch_of(worker));
  });
  return absl::OkStatus();
}

}  // namespace horizon
#endif  // HWY_ONCE

#include <algorithm>
#include <limits>

#include "common/text/str_cat.h"
#include "kernels/attention/cached_attention.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/attention/cached_attention_host.cc"
#include "hwy/foreach_target.h"  // IWYU pragma: keep
// After foreach_target.h.
#include "hwy/highway.h"
#include "kernels/host/simd_math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace horizon {
namespace HWY_NAMESPACE {

// The queries of one row that read one key head, and the places they see.
struct Group {
  const CachedAttention& args;
  int64_t row;
  int64_t kv_head;

  int64_t size() const { return args.heads / args.cache.kv_heads; }
  int64_t seen() const {
    return HWY_MIN(int64_t{args.records[row].position} + 1, args.cache.places);
  }
  int64_t query(int64_t i) const {
    return (row * args.heads + kv_head * size() + i) * args.cache.head_dim;
  }
  int64_t key(int64_t place) const {
    return ((row * args.cache.places + place) * args.cache.kv_heads + kv_head) *
           args.cache.head_dim;
  }
  int64_t stride() const { return args.cache.kv_heads * args.cache.head_dim; }
};

// scores[i, s] of `count` places from `first` on.
void Score(const Group& group, int64_t first, int64_t count, float* scores) {
  const CachedAttention& args = group.args;
  for (int64_t s = 0; s < count; ++s) {
    const float* key = args.cache.k + group.key(first + s);
    for (int64_t i = 0; i < group.size(); ++i) {
      scores[i * kCacheTile + s] =
          args.scale * Dot(args.q + group.query(i), key, args.cache.head_dim);
    }
  }
}

// `kVectors` vectors of output = factor x output + sum of weights[s] x value s, from value d on.
// Several at once, since each is a chain of sums. Terms are added in order of places.
template <int kVectors>
HWY_INLINE void AddValueVectors(const float* values, int64_t stride, int64_t count,
                                const float* weights, const float* factor, float* output,
                                int64_t n) {
  const F32 f32;
  F32Vec sums[kVectors];
  for (int j = 0; j < kVectors; ++j) {
    sums[j] = factor == nullptr
                  ? hn::Zero(f32)
                  : hn::Mul(LoadPart(f32, output + j * kF32Lanes, n), hn::Set(f32, *factor));
  }
  for (int64_t s = 0; s < count; ++s) {
    const F32Vec weight = hn::Set(f32, weights[s]);
    for (int j = 0; j < kVectors; ++j) {
      const F32Vec value = LoadPart(f32, values + s * stride + j * kF32Lanes, n);
      sums[j] = hn::Add(sums[j], hn::Mul(weight, value));
    }
  }
  for (int j = 0; j < kVectors; ++j) StorePart(f32, sums[j], output + j * kF32Lanes, n);
}

// `factor` null: the output begins here.
void AddValues(const Group& group, int64_t first, int64_t count, const float* weights,
               const float* factor, float* output) {
  constexpr int64_t kBlock = 4 * kF32Lanes;
  const float* values = group.args.cache.v + group.key(first);
  const int64_t width = group.args.cache.head_dim;
  int64_t d = 0;
  for (; d + kBlock <= width; d += kBlock) {
    AddValueVectors<4>(values + d, group.stride(), count, weights, factor, output + d, kF32Lanes);
  }
  for (; d < width; d += kF32Lanes) {
    AddValueVectors<1>(values + d, group.stride(), count, weights, factor, output + d,
                       HWY_MIN(kF32Lanes, width - d));
  }
}

void Divide(float* values, int64_t count, float divisor) {
  const F32 f32;
  ForEachVector(count, [&](int64_t i, int64_t n) HORIZON_VECTOR_BODY {
    StorePart(f32, hn::Div(LoadPart(f32, values + i, n), hn::Set(f32, divisor)), values + i, n);
  });
}

// e^x of one number, by the vector code that all others take.
float ExpOfOne(float x) {
  const F32 f32;
  return hn::GetLane(Exp(hn::Set(f32, x)));
}

// The online softmax (Milakov and Gimelshein 2018) of every query is kept behind the scores. The
// sink of its head, if it has one, is the first score.
void AttendGroup(const CachedAttention& args, int64_t row, int64_t kv_head, float* scratch) {
  const Group group{args, row, kv_head};
  float* largest = scratch + group.size() * kCacheTile;
  float* sum = largest + group.size();
  const float* sinks = args.sinks;
  if (sinks != nullptr) {
    std::copy_n(sinks + kv_head * group.size(), group.size(), largest);
  } else {
    // Finite, so that no difference is that of two infinities.
    std::fill_n(largest, group.size(), std::numeric_limits<float>::lowest());
  }
  std::fill_n(sum, group.size(), sinks != nullptr ? 1.0f : 0.0f);
  const int64_t seen = group.seen();
  for (int64_t first = 0; first < seen; first += kCacheTile) {
    const int64_t count = HWY_MIN(kCacheTile, seen - first);
    Score(group, first, count, scratch);
    for (int64_t i = 0; i < group.size(); ++i) {
      float* weights = scratch + i * kCacheTile;
      const float before = largest[i];
      largest[i] = HWY_MAX(before, Max(weights, count));
      const float factor = ExpOfOne(before - largest[i]);
      sum[i] = sum[i] * factor + ExpShifted(weights, largest[i], count, weights);
      AddValues(group, first, count, weights, first == 0 ? nullptr : &factor,
                args.output + group.query(i));
    }
  }
  for (int64_t i = 0; i < group.size(); ++i) {
    Divide(args.output + group.query(i), args.cache.head_dim, sum[i]);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace horizon
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace horizon {
namespace {

HWY_EXPORT(AttendGroup);

absl::Status CheckCache(const KvCache& cache) {
  if (cache.batch >= 0 && cache.places > 0 && cache.kv_heads > 0 && cache.head_dim > 0) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(StrCat("a cache of ", cache.batch, " rows of ", cache.places,
                                           " places for ", cache.kv_heads, " heads of ",
                                           cache.head_dim, ": all but the rows are at least 1"));
}

// Tokens of the first sample of a row.
int64_t FirstSample(const TokenRecord* row, int64_t sequence) {
  int64_t tokens = 1;
  while (tokens < sequence && row[tokens].position == row[tokens - 1].position + 1) ++tokens;
  return tokens;
}

}  // namespace

absl::Status StoreKeysHost(const KernelContext& context, const StoreKeys& args) {
  const KvCache& cache = args.cache;
  if (absl::Status status = CheckCache(cache); !status.ok()) return status;
  if (args.sequence <= 0) return absl::OkStatus();
  const int64_t width = cache.kv_heads * cache.head_dim;
  context.workers->Run(cache.batch, [&](int64_t row, int) {
    const TokenRecord* records = args.records + row * args.sequence;
    const int64_t tokens = FirstSample(records, args.sequence);
    // Those whose place a later token takes are left out.
    for (int64_t t = std::max<int64_t>(0, tokens - cache.places); t < tokens; ++t) {
      const int64_t from = (row * args.sequence + t) * width;
      const int64_t to = (row * cache.places + records[t].position % cache.places) * width;
      std::copy_n(args.k + from, width, cache.k + to);
      std::copy_n(args.v + from, width, cache.v + to);
    }
  });
  return absl::OkStatus();
}

absl::Status CachedAttentionHost(const KernelContext& context, const CachedAttention& args) {
  const KvCache& cache = args.cache;
  if (absl::Status status = CheckCache(cache); !status.ok()) return status;
  const int64_t group = args.heads / cache.kv_heads;
  const auto scratch = static_cast<int64_t>(kWorkerScratchBytes / sizeof(float));
  if (args.heads <= 0 || args.heads % cache.kv_heads != 0 || group * (kCacheTile + 2) > scratch) {
    return absl::InvalidArgumentError(StrCat(
        "attention of ", args.heads, " heads to a cache of ", cache.kv_heads,
        "; heads are a multiple of key heads, at most ", scratch / (kCacheTile + 2), " to each"));
  }
  context.workers->Run(cache.batch * cache.kv_heads, [&](int64_t piece, int worker) {
    HWY_DYNAMIC_DISPATCH(AttendGroup)
    (args, piece / cache.kv_heads, piece % cache.kv_heads,
     reinterpret_cast<float*>(context.ScratchOf(worker)));
  });
  return absl::OkStatus();
}

}  // namespace horizon
#endif  // HWY_ONCE

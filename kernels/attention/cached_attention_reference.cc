#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attention/cached_attention.h"

namespace horizon {

absl::Status StoreKeysReference(const KernelContext& context, const StoreKeys& args) {
  const KvCache& cache = args.cache;
  const int64_t width = cache.kv_heads * cache.head_dim;
  for (int64_t row = 0; row < cache.batch; ++row) {
    for (int64_t t = 0; t < args.sequence; ++t) {
      const int64_t token = row * args.sequence + t;
      const int64_t position = args.records[token].position;
      if (t > 0 && position != args.records[token - 1].position + 1) break;
      const int64_t place = row * cache.places + position % cache.places;
      for (int64_t d = 0; d < width; ++d) {
        cache.k[place * width + d] = args.k[token * width + d];
        cache.v[place * width + d] = args.v[token * width + d];
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CachedAttentionReference(const KernelContext& context, const CachedAttention& args) {
  const KvCache& cache = args.cache;
  const int64_t width = cache.head_dim;
  for (int64_t row = 0; row < cache.batch; ++row) {
    const int64_t seen = std::min<int64_t>(args.records[row].position + 1, cache.places);
    for (int64_t head = 0; head < args.heads; ++head) {
      const int64_t kv_head = head * cache.kv_heads / args.heads;
      const auto key = [&](int64_t place) {
        return ((row * cache.places + place) * cache.kv_heads + kv_head) * width;
      };
      const int64_t query = (row * args.heads + head) * width;
      const float* sinks = args.sinks;
      const double sink =
          sinks != nullptr ? double{sinks[head]} : -std::numeric_limits<double>::infinity();
      std::vector<double> scores;
      double largest = sink;
      for (int64_t place = 0; place < seen; ++place) {
        double score = 0;
        for (int64_t d = 0; d < width; ++d) {
          score += double{args.q[query + d]} * double{cache.k[key(place) + d]};
        }
        scores.push_back(double{args.scale} * score);
        largest = std::max(largest, scores.back());
      }
      double sum = std::exp(sink - largest);
      for (double& score : scores) sum += score = std::exp(score - largest);
      for (int64_t d = 0; d < width; ++d) {
        double value = 0;
        for (int64_t place = 0; place < seen; ++place) {
          value += scores[static_cast<size_t>(place)] / sum * double{cache.v[key(place) + d]};
        }
        args.output[query + d] = static_cast<float>(value);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace horizon

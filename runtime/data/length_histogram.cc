#include "runtime/data/length_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "common/check.h"

namespace horizon {
namespace {

constexpr int64_t kExact = 64;  // 2^6
constexpr int64_t kSteps = 32;  // 2^5

size_t BucketOf(int64_t length) {
  if (length < kExact) return static_cast<size_t>(length);
  const int power = static_cast<int>(std::bit_width(static_cast<uint64_t>(length))) - 1;  // >= 6
  const int64_t step = (length >> (power - 5)) - kSteps;
  return static_cast<size_t>(kExact + (power - 6) * kSteps + step);
}

// The shortest length of a bucket.
int64_t StartOf(size_t bucket) {
  const auto number = static_cast<int64_t>(bucket);
  if (number < kExact) return number;
  const int64_t power = 6 + (number - kExact) / kSteps;
  return (kSteps + (number - kExact) % kSteps) << (power - 5);
}

}  // namespace

void LengthHistogram::Add(int64_t length) {
  CHECK(length >= 0);
  shortest_ = count_ == 0 ? length : std::min(shortest_, length);
  longest_ = std::max(longest_, length);
  ++buckets_[BucketOf(length)];
  ++count_;
}

void LengthHistogram::Add(const LengthHistogram& other) {
  if (other.count_ == 0) return;
  shortest_ = count_ == 0 ? other.shortest_ : std::min(shortest_, other.shortest_);
  longest_ = std::max(longest_, other.longest_);
  count_ += other.count_;
  for (size_t i = 0; i < kBuckets; ++i) buckets_[i] += other.buckets_[i];
}

int64_t LengthHistogram::Quantile(double share) const {
  const auto rank =
      std::max<int64_t>(1, static_cast<int64_t>(std::ceil(share * static_cast<double>(count_))));
  int64_t below = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    below += buckets_[i];
    if (below >= rank) return std::clamp(StartOf(i), shortest_, longest_);
  }
  return longest_;
}

int64_t LengthHistogram::CountBetween(int64_t from, int64_t to) const {
  int64_t count = 0;
  for (size_t i = 0; i < kBuckets; ++i) {
    if (StartOf(i) >= from && StartOf(i) < to) count += buckets_[i];
  }
  return count;
}

LengthHistogram LengthHistogram::Restore(const std::array<int64_t, kBuckets>& buckets,
                                         int64_t shortest, int64_t longest) {
  LengthHistogram histogram;
  histogram.buckets_ = buckets;
  for (const int64_t count : buckets) histogram.count_ += count;
  histogram.shortest_ = shortest;
  histogram.longest_ = longest;
  return histogram;
}

}  // namespace horizon

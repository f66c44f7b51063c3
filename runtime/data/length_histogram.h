#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace horizon {

// How long samples are, in a memory that does not grow with their number: lengths below 64 are
// counted each, longer ones in 32 steps for every doubling, so that a quantile is at most 1/32 too
// small.
class LengthHistogram {
 public:
  static constexpr size_t kBuckets = 64 + 32 * 57;

  // `length` >= 0.
  void Add(int64_t length);

  int64_t count() const { return count_; }
  // Exact; 0 when nothing was added.
  int64_t shortest() const { return shortest_; }
  int64_t longest() const { return longest_; }
  // A length that `share` (0 to 1) of all do not pass, to the precision above; within the shortest
  // and the longest.
  int64_t Quantile(double share) const;
  // How many are at least `from` and below `to`, where both are bucket borders (a power of two is).
  int64_t CountBetween(int64_t from, int64_t to) const;

  // For storing: the counts of all buckets, and back with the exact ends.
  const std::array<int64_t, kBuckets>& buckets() const { return buckets_; }
  static LengthHistogram Restore(const std::array<int64_t, kBuckets>& buckets, int64_t shortest,
                                 int64_t longest);

  friend bool operator==(const LengthHistogram&, const LengthHistogram&) = default;

 private:
  std::array<int64_t, kBuckets> buckets_{};
  int64_t count_ = 0;
  int64_t shortest_ = 0;
  int64_t longest_ = 0;
};

}  // namespace horizon

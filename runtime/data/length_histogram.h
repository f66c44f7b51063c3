#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace horizon {

// A histogram of sample lengths in constant memory. Lengths below 64 are counted exactly; longer
// ones are counted in 32 buckets for every doubling, so a quantile is at most 1/32 too small.
class LengthHistogram {
 public:
  static constexpr size_t kBuckets = 64 + 32 * 57;

  // `length` >= 0.
  void Add(int64_t length);

  // Adds the lengths of another histogram.
  void Add(const LengthHistogram& other);

  int64_t count() const { return count_; }
  // Exact; 0 when nothing was added.
  int64_t shortest() const { return shortest_; }
  int64_t longest() const { return longest_; }
  // The length that `share` (0 to 1) of all lengths do not exceed, to the precision above; never
  // outside shortest() and longest().
  int64_t Quantile(double share) const;
  // How many lengths are at least `from` and below `to`. Both must be bucket boundaries (powers of
  // two are).
  int64_t CountBetween(int64_t from, int64_t to) const;

  // For storing a histogram: the counts of all buckets, and the way back, with the exact shortest
  // and longest length.
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

#pragma once

#include <cstdint>
#include <span>

namespace horizon {

// How far two orders of the same things agree: pairs that stand in the same order in both, in
// opposite order, and tied in one or both. Counts of several comparisons may be added up.
struct PairCounts {
  int64_t concordant = 0;
  int64_t discordant = 0;
  int64_t tied_first = 0;   // in the first only
  int64_t tied_second = 0;  // in the second only
  int64_t tied_both = 0;

  PairCounts& operator+=(const PairCounts& other);
  // Kendall's tau-b (Kendall 1945): (c - d) / sqrt((c + d + t1) (c + d + t2)), from -1 to 1; ties
  // in both count nowhere. 0 where one of the orders is all ties.
  double TauB() const;
};

// `first[i]` and `second[i]` are the values of thing i, above 0 (CHECK: as many of each). Pairs
// whose first values differ by no more than `apart`, a share of the lesser, count nowhere, unless
// it is 0.
PairCounts CountPairs(std::span<const double> first, std::span<const double> second,
                      double apart = 0);

}  // namespace horizon

#pragma once

#include <cstdint>
#include <span>

namespace horizon {

// Measures how far two rankings of the same items agree: it counts the pairs of items that are in
// the same order in both (concordant), in opposite order (discordant), and tied in one or both.
// Counts of several comparisons may be added up.
struct PairCounts {
  int64_t concordant = 0;
  int64_t discordant = 0;
  int64_t tied_first = 0;   // tied in the first ranking only
  int64_t tied_second = 0;  // tied in the second ranking only
  int64_t tied_both = 0;

  PairCounts& operator+=(const PairCounts& other);
  // Kendall's tau-b (Kendall 1945): (c - d) / sqrt((c + d + t1) (c + d + t2)), from -1 to 1. Pairs
  // tied in both do not count. 0 if one of the rankings is all ties.
  double TauB() const;
};

// Counts the pairs of items. `first[i]` and `second[i]` are the values of item i, above 0; both
// have the same size (CHECK). With `apart` above 0, pairs whose first values differ by no more than
// `apart`, as a fraction of the smaller, are not counted.
PairCounts CountPairs(std::span<const double> first, std::span<const double> second,
                      double apart = 0);

}  // namespace horizon

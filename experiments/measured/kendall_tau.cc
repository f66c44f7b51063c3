#include "experiments/measured/kendall_tau.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "common/check.h"

namespace horizon {

PairCounts& PairCounts::operator+=(const PairCounts& other) {
  concordant += other.concordant;
  discordant += other.discordant;
  tied_first += other.tied_first;
  tied_second += other.tied_second;
  tied_both += other.tied_both;
  return *this;
}

double PairCounts::TauB() const {
  const auto decided = static_cast<double>(concordant + discordant);
  const double first = decided + static_cast<double>(tied_second);
  const double second = decided + static_cast<double>(tied_first);
  if (first == 0 || second == 0) return 0;
  return static_cast<double>(concordant - discordant) / std::sqrt(first * second);
}

PairCounts CountPairs(std::span<const double> first, std::span<const double> second, double apart) {
  CHECK(first.size() == second.size());
  PairCounts counts;
  for (size_t i = 0; i < first.size(); ++i) {
    for (size_t j = i + 1; j < first.size(); ++j) {
      const auto [lesser, greater] = std::minmax(first[i], first[j]);
      if (apart > 0 && greater <= lesser * (1 + apart)) continue;
      const bool tied_first = first[i] == first[j];
      const bool tied_second = second[i] == second[j];
      if (tied_first || tied_second) {
        counts.tied_both += tied_first && tied_second ? 1 : 0;
        counts.tied_first += tied_first && !tied_second ? 1 : 0;
        counts.tied_second += tied_second && !tied_first ? 1 : 0;
        continue;
      }
      const bool same = (first[i] < first[j]) == (second[i] < second[j]);
      counts.concordant += same ? 1 : 0;
      counts.discordant += same ? 0 : 1;
    }
  }
  return counts;
}

}  // namespace horizon

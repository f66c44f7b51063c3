#include "simulator/fair_share.h"

#include <algorithm>

#include "common/check.h"

namespace horizon {
namespace {

// Demands that exceed the capacity by rounding only do not slow anyone.
constexpr double kRounding = 1 + 1e-12;

}  // namespace

void ShareFairly(std::span<const ResourceAmounts* const> draws, std::span<const double> ceilings,
                 const ResourceAmounts& capacity, std::span<double> speeds) {
  CHECK(draws.size() == speeds.size() && draws.size() == ceilings.size() && draws.size() <= 64);
  uint64_t rising = draws.size() == 64 ? ~uint64_t{0} : (uint64_t{1} << draws.size()) - 1;
  const auto rises = [&](size_t i) { return (rising >> i & 1) != 0; };
  ResourceAmounts left = capacity;
  while (rising != 0) {
    // The level at which the first of those that rise reaches its ceiling, or a resource is full.
    double level = 1;
    for (size_t i = 0; i < draws.size(); ++i) {
      if (rises(i)) level = std::min(level, ceilings[i]);
    }
    int full = -1;
    for (int r = 0; r < kResourceCount; ++r) {
      double wanted = 0;
      for (size_t i = 0; i < draws.size(); ++i) {
        if (rises(i)) wanted += (*draws[i])[r];
      }
      if (wanted > 0 && wanted * level > left[r] * kRounding) {
        level = left[r] / wanted;
        full = r;
      }
    }
    for (size_t i = 0; i < draws.size(); ++i) {
      if (!rises(i)) continue;
      const bool stays = full >= 0 ? (*draws[i])[full] > 0 : ceilings[i] <= level;
      if (!stays) continue;
      speeds[i] = level;
      for (int r = 0; r < kResourceCount; ++r) left[r] -= level * (*draws[i])[r];
      rising &= ~(uint64_t{1} << i);
    }
  }
}

}  // namespace horizon

#include "simulator/fair_share.h"

#include <algorithm>
#include <limits>

#include "common/check.h"

namespace horizon {
namespace {

// Demands that exceed the capacity by rounding only do not slow anyone.
constexpr double kRounding = 1 + 1e-12;

}  // namespace

void ShareFairly(std::span<const Sharer> sharers, const ResourceAmounts& capacity,
                 std::span<double> speeds) {
  CHECK(sharers.size() == speeds.size() && sharers.size() <= 64);
  uint64_t rising = sharers.size() == 64 ? ~uint64_t{0} : (uint64_t{1} << sharers.size()) - 1;
  const auto rises = [&](size_t i) { return (rising >> i & 1) != 0; };
  ResourceAmounts left = capacity;
  while (rising != 0) {
    // The level (speed by weight) at which the first of those that rise reaches its ceiling, or a
    // resource is full.
    double level = std::numeric_limits<double>::infinity();
    for (size_t i = 0; i < sharers.size(); ++i) {
      if (rises(i)) level = std::min(level, sharers[i].ceiling / sharers[i].weight);
    }
    int full = -1;
    for (int r = 0; r < kResourceCount; ++r) {
      double wanted = 0;
      for (size_t i = 0; i < sharers.size(); ++i) {
        if (rises(i)) wanted += sharers[i].weight * (*sharers[i].draw)[r];
      }
      if (wanted > 0 && wanted * level > left[r] * kRounding) {
        level = left[r] / wanted;
        full = r;
      }
    }
    for (size_t i = 0; i < sharers.size(); ++i) {
      if (!rises(i)) continue;
      const Sharer& sharer = sharers[i];
      const bool at_ceiling = sharer.ceiling / sharer.weight <= level;
      if (!at_ceiling && (full < 0 || (*sharer.draw)[full] <= 0)) continue;
      speeds[i] = at_ceiling ? sharer.ceiling : level * sharer.weight;
      for (int r = 0; r < kResourceCount; ++r) left[r] -= speeds[i] * (*sharer.draw)[r];
      rising &= ~(uint64_t{1} << i);
    }
  }
}

}  // namespace horizon

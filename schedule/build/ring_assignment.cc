#include "schedule/build/ring_assignment.h"

#include <limits>
#include <set>
#include <tuple>
#include <unordered_map>
#include <utility>

namespace horizon {
namespace {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// For each use, the next use of the same chunk.
std::vector<int64_t> NextUses(std::span<const int32_t> chunk_of_use) {
  std::vector<int64_t> next_use(chunk_of_use.size(), kNever);
  std::unordered_map<int32_t, int64_t> later;
  for (int64_t i = static_cast<int64_t>(chunk_of_use.size()) - 1; i >= 0; --i) {
    const auto [found, is_last] = later.try_emplace(chunk_of_use[i], i);
    if (!is_last) next_use[i] = std::exchange(found->second, i);
  }
  return next_use;
}

}  // namespace

std::vector<RingUse> AssignRing(std::span<const int32_t> chunk_of_use, int32_t depth) {
  const std::vector<int64_t> next_use = NextUses(chunk_of_use);
  struct Held {
    int32_t chunk = -1;
    int64_t last_use = -1;
    int64_t next_use = kNever;
  };
  std::vector<Held> slots(depth);
  // The slot to give away first stands first: needed last, then released first.
  using Rank = std::tuple<int64_t, int64_t, int32_t>;
  const auto rank = [&](int32_t slot) {
    return Rank(-slots[slot].next_use, slots[slot].last_use, slot);
  };
  std::set<Rank> ranks;
  for (int32_t slot = 0; slot < depth; ++slot) ranks.insert(rank(slot));

  std::unordered_map<int32_t, int32_t> slot_of;
  std::vector<RingUse> uses;
  uses.reserve(chunk_of_use.size());
  for (size_t i = 0; i < chunk_of_use.size(); ++i) {
    const auto held = slot_of.find(chunk_of_use[i]);
    const bool loads = held == slot_of.end();
    const int32_t slot = loads ? std::get<2>(*ranks.begin()) : held->second;
    ranks.erase(rank(slot));
    if (loads) {
      slot_of.erase(slots[slot].chunk);
      slot_of[chunk_of_use[i]] = slot;
    }
    slots[slot] = {chunk_of_use[i], static_cast<int64_t>(i), next_use[i]};
    ranks.insert(rank(slot));
    uses.push_back({.slot = slot, .loads = loads});
  }
  return uses;
}

}  // namespace horizon

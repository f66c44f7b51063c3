#include "runtime/data/pack_window.h"

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <set>
#include <utility>

#include "common/check.h"

namespace horizon {

std::vector<std::vector<int32_t>> PackWindow(std::span<const int64_t> lengths, int64_t sequence) {
  std::vector<int32_t> order(lengths.size());
  std::iota(order.begin(), order.end(), 0);
  const auto length_of = [&](int32_t sample) { return lengths[static_cast<size_t>(sample)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](int32_t a, int32_t b) { return length_of(a) > length_of(b); });
  std::vector<std::vector<int32_t>> rows;
  std::set<std::pair<int64_t, size_t>> room;  // what is left in a row, and the row
  for (const int32_t sample : order) {
    const int64_t length = length_of(sample);
    CHECK(length >= 1 && length <= sequence);
    const auto best = room.lower_bound({length, 0});
    if (best == room.end()) {
      room.emplace(sequence - length, rows.size());
      rows.push_back({sample});
    } else {
      const auto [left, row] = *best;
      room.erase(best);
      room.emplace(left - length, row);
      rows[row].push_back(sample);
    }
  }
  return rows;
}

}  // namespace horizon

#include "common/text/nearest_word.h"

#include <algorithm>
#include <array>
#include <cstddef>

namespace horizon {
namespace {

// Longer words come from broken or hostile files, not from typing; the bound keeps the search
// short.
constexpr size_t kLongest = 64;

// Optimal string alignment distance: insert, delete, replace, swap of neighbours. Both words have
// at most kLongest letters.
size_t EditDistance(std::string_view a, std::string_view b) {
  using Row = std::array<size_t, kLongest + 1>;
  Row two_back{};
  Row one_back{};
  Row row{};
  for (size_t j = 0; j <= b.size(); ++j) one_back[j] = j;
  for (size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t replaced = one_back[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1);
      row[j] = std::min({replaced, one_back[j] + 1, row[j - 1] + 1});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1]) {
        row[j] = std::min(row[j], two_back[j - 2] + 1);
      }
    }
    two_back = one_back;
    one_back = row;
  }
  return one_back[b.size()];
}

}  // namespace

std::string NearestWord(std::string_view word, std::span<const std::string> known) {
  std::string_view nearest;
  if (word.empty() || word.size() > kLongest) return "";
  size_t best = kLongest + 1;
  for (const std::string& candidate : known) {
    if (candidate.empty() || candidate.size() > kLongest) continue;
    const size_t distance = EditDistance(word, candidate);
    if (distance * 3 > std::max(word.size(), candidate.size()) || distance >= best) continue;
    best = distance;
    nearest = candidate;
  }
  return std::string(nearest);
}

std::string DidYouMean(std::string_view word, std::span<const std::string> known) {
  const std::string nearest = NearestWord(word, known);
  return nearest.empty() ? "" : "; did you mean '" + nearest + "'?";
}

}  // namespace horizon

#include "common/text/nearest_word.h"

#include <algorithm>
#include <array>
#include <compare>
#include <cstddef>
#include <iterator>
#include <optional>
#include <vector>

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

enum class Likeness { kBegins, kSameDigits, kOther };

// How near a known word is to the one that was typed; less is nearer.
struct Nearness {
  Likeness likeness = Likeness::kOther;
  size_t distance = 0;
  friend auto operator<=>(const Nearness&, const Nearness&) = default;
};

std::string DigitsOf(std::string_view word) {
  std::string digits;
  std::copy_if(word.begin(), word.end(), std::back_inserter(digits),
               [](char letter) { return letter >= '0' && letter <= '9'; });
  return digits;
}

// `word` has at most kLongest letters. None: the two have too little in common.
std::optional<Nearness> Compare(std::string_view word, std::string_view candidate) {
  if (candidate.empty() || candidate.size() > kLongest) return std::nullopt;
  const size_t distance = EditDistance(word, candidate);
  if (word.size() >= 2 && candidate.starts_with(word)) {
    return Nearness{.likeness = Likeness::kBegins, .distance = distance};
  }
  if (distance * 3 > std::max(word.size(), candidate.size())) return std::nullopt;
  const bool same_digits = DigitsOf(word) == DigitsOf(candidate);
  return Nearness{.likeness = same_digits ? Likeness::kSameDigits : Likeness::kOther,
                  .distance = distance};
}

}  // namespace

std::string NearestWord(std::string_view word, std::span<const std::string> known) {
  if (word.empty() || word.size() > kLongest) return "";
  std::string_view nearest;
  std::optional<Nearness> best;
  for (const std::string& candidate : known) {
    const std::optional<Nearness> nearness = Compare(word, candidate);
    if (!nearness.has_value() || (best.has_value() && *nearness >= *best)) continue;
    best = nearness;
    nearest = candidate;
  }
  return std::string(nearest);
}

std::string DidYouMean(std::string_view word, std::span<const std::string> known) {
  constexpr size_t kMost = 4;
  const std::string nearest = NearestWord(word, known);
  if (nearest.empty()) return "";
  std::vector<std::string> words = {nearest};
  for (const std::string& candidate : known) {
    const bool begins = word.size() >= 2 && candidate.starts_with(word);
    if (begins && candidate != nearest && words.size() < kMost) words.push_back(candidate);
  }
  std::string text = "; did you mean ";
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += "'" + words[i] + "'";
  }
  return text + "?";
}

}  // namespace horizon

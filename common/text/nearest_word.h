#pragma once

#include <span>
#include <string>
#include <string_view>

namespace horizon {

// The known word that somebody who typed `word` most likely meant: NearestWord("pln", {"plan",
// "train"}) is "plan". Words are ranked in this order:
//   1. those that begin with `word`, which has two letters or more ("h100" is "h100-sxm", not
//   "h200"),
//   2. those with the same digits ("rxt4090" is "rtx4090", not "rtx4080"),
//   3. the others;
// and within each by edit distance, in which a swap of neighbouring letters counts as one edit,
// then by their place in `known`. Returns "" if no word is close enough: without a common
// beginning, at most a third of the longer word's letters may differ. Words longer than 64 letters
// match nothing.
std::string NearestWord(std::string_view word, std::span<const std::string> known);

// "; did you mean 'plan'?" or "", to append to an error message. It names up to four words that
// begin with `word`: "; did you mean 'h100-pcie' or 'h100-sxm'?".
std::string DidYouMean(std::string_view word, std::span<const std::string> known);

}  // namespace horizon

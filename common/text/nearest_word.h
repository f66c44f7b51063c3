#pragma once

#include <span>
#include <string>
#include <string_view>

namespace horizon {

// The known word closest to a misspelled `word`: NearestWord("pln", {"plan", "train"}) is "plan".
// Closeness is edit distance, in which a swap of neighbouring letters counts as one edit. Returns
// "" if no word is close enough: at most a third of the longer word's letters may differ. Words
// longer than 64 letters match nothing.
std::string NearestWord(std::string_view word, std::span<const std::string> known);

// "; did you mean 'plan'?" or "", to append to an error message.
std::string DidYouMean(std::string_view word, std::span<const std::string> known);

}  // namespace horizon

#pragma once

#include <span>
#include <string>
#include <string_view>

namespace horizon {

// The known word closest to `word` by edit distance (a swap of neighbours counts one), or "" when
// none is near enough to be what was meant: at most a third of the longer word's letters may
// differ.
std::string NearestWord(std::string_view word, std::span<const std::string> known);

// "; did you mean 'plan'?" or "", ready to be put behind a message.
std::string DidYouMean(std::string_view word, std::span<const std::string> known);

}  // namespace horizon

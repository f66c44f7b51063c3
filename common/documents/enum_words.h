#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/text/nearest_word.h"

namespace horizon {

// Words for the values of an enumeration: one table serves printing, parsing, help texts and file
// formats. A type gets the functions below by declaring, in its own header,
//   std::span<const EnumWord<AnchorHome>> WordsOf(AnchorHome);
// Then ToString(AnchorHome::kHost) is "host" and ParseWord<AnchorHome>("host") the reverse.
template <typename E>
struct EnumWord {
  E value;
  std::string_view word;
};

template <typename E>
concept HasWords = requires(E value) {
  WordsOf(value);
};

// The word of a value. Every value must have one.
template <HasWords E>
std::string_view ToString(E value) {
  for (const EnumWord<E>& entry : WordsOf(value)) {
    if (entry.value == value) return entry.word;
  }
  return "?";
}

// All words in declaration order.
template <HasWords E>
std::vector<std::string> AllWords() {
  std::vector<std::string> words;
  for (const EnumWord<E>& entry : WordsOf(E{})) words.emplace_back(entry.word);
  return words;
}

// All words as help texts show them: "host|device".
template <HasWords E>
std::string WordChoices() {
  std::string choices;
  for (const std::string& word : AllWords<E>()) {
    if (!choices.empty()) choices += '|';
    choices += word;
  }
  return choices;
}

// The value of a word. InvalidArgument for any other text; the message names the choices and the
// closest one.
template <HasWords E>
absl::StatusOr<E> ParseWord(std::string_view text) {
  for (const EnumWord<E>& entry : WordsOf(E{})) {
    if (entry.word == text) return entry.value;
  }
  return absl::InvalidArgumentError("needs one of " + WordChoices<E>() + ", found '" +
                                    std::string(text) + "'" + DidYouMean(text, AllWords<E>()));
}

}  // namespace horizon

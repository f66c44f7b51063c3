#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/documents/document.h"

namespace horizon {

// A tokenizer.json, read in one pass. The vocabulary and the merges, which are nearly all of the
// file, are flat lists; the rest is a document tree.
struct TokenizerJson {
  enum class Kind { kMissing, kValid, kInvalid };
  // The vocabulary is an object of tokens with their ids, or an array of pieces with their scores.
  enum class VocabKind { kMissing, kIds, kScores, kInvalid };
  struct Token {
    uint32_t begin = 0;  // in `text`
    uint32_t size = 0;
    int32_t id = 0;
    int line = 0;
  };
  struct Merge {
    uint32_t begin = 0;  // in `text`: the left token, directly followed by the right one
    uint32_t left_size = 0;
    uint32_t right_size = 0;
    int line = 0;
  };

  Document document;  // model.vocab and model.merges are null in it
  std::string text;   // the text of all tokens and merges, one after another
  std::vector<Token> tokens;
  std::vector<double> scores;  // one for each token, if the vocabulary has scores
  std::vector<Merge> merges;   // in order of rank
  VocabKind vocab = VocabKind::kMissing;
  Kind merge_list = Kind::kMissing;

  std::string_view TextOf(const Token& token) const {
    return std::string_view(text).substr(token.begin, token.size);
  }
};

// Returns InvalidArgument "WHERE:LINE: ..." if the text is not JSON, above 64 MiB or deeper than 64
// levels, or has an id that is not an integer from 0 to 2^31 - 2, a piece that is not like ["a",
// -1.5], or a merge that is neither "a b" nor ["a", "b"]. It does not check anything else.
absl::StatusOr<TokenizerJson> ReadTokenizerJson(std::string_view text, std::string_view where);

}  // namespace horizon

#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "model/tokenizer/tokenizer.h"

namespace horizon {

// A token that is recognised in the text itself, before the text is split into words
// ("<|im_end|>"). The fields are those of tokenizer.json.
struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool special = false;
  bool normalized = true;     // matched after the normalizer, against its normalized spelling
  bool single_word = false;   // not recognised inside a word
  bool lstrip = false;        // also consumes the white space before it
  bool rstrip = false;        // also consumes the white space after it
  std::string spelling = {};  // the text that is matched, and that the token is decoded to
};

// Whether the token is a control token, which must not be recognised in quoted text
// (EncodeOptions).
bool IsControl(const AddedToken& token, const EncodeOptions& options);

// Returns the token with its content as its spelling.
AddedToken SpelledAsInFile(AddedToken token);

// Finds added tokens in a text. The leftmost token wins; among those that begin at the same place,
// the longest. Matches do not overlap. Do not change it after all tokens are added.
class AddedTokenFinder {
 public:
  // Adds a token. An empty spelling is never found; of two equal spellings the first one counts.
  void Add(const AddedToken& token);

  bool empty() const { return tokens_.empty(); }

  struct Found {
    size_t begin = 0;
    size_t end = 0;
    const AddedToken* token = nullptr;  // nullptr: nothing was found
  };
  // Finds the first token that begins at or after `from`.
  Found Find(std::string_view text, size_t from) const;

  // Decides whether a token that was found in the text, with this spelling, is recognised there.
  using TokenPredicate = absl::FunctionRef<bool(const AddedToken&, std::string_view spelling)>;
  // Splits a text at the recognised tokens. Calls on_text(text, is_first) for the texts between
  // them and on_token(id, covered text) for the tokens, in the order of the text. Empty texts are
  // left out; is_first tells whether the text is at the very beginning. A token that is not
  // recognised, or that is inside a word although it is single_word, is part of the text. Stops at
  // the first error of on_text.
  absl::Status Split(std::string_view text, TokenPredicate is_recognised,
                     absl::FunctionRef<absl::Status(std::string_view, bool)> on_text,
                     absl::FunctionRef<void(int32_t, std::string_view)> on_token) const;

 private:
  static constexpr uint32_t kRoot = 0;
  static constexpr int32_t kNone = -1;

  std::vector<AddedToken> tokens_;
  std::vector<int32_t> ends_ = {kNone};           // per trie node: the token that ends there
  absl::flat_hash_map<uint64_t, uint32_t> next_;  // node * 256 + byte -> node
  std::array<bool, 256> begins_ = {};             // per byte: whether a token begins with it
};

}  // namespace horizon

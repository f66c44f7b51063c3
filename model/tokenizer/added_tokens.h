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

// A token that is looked for in the text itself, before anything is cut ("<|im_end|>").
struct AddedToken {
  std::string content;
  int32_t id = 0;
  bool special = false;
  bool normalized = true;  // looked for behind the normalizer, in its own normalized spelling
  bool single_word = false;
  bool lstrip = false;  // takes the spaces before it along
  bool rstrip = false;
  std::string spelling = {};  // what is looked for, and what it is decoded to
};

// Whether a token must not be recognised in quoted text.
bool IsControl(const AddedToken& token, const EncodeOptions& options);

// A token that is looked for by its content.
AddedToken SpelledAsInFile(AddedToken token);

// Finds tokens in texts: the leftmost first, of those that begin at one place the longest, none
// inside another. Never changed once filled.
class AddedTokenFinder {
 public:
  // An empty spelling is never found. Of two equal ones the first counts.
  void Add(const AddedToken& token);

  bool empty() const { return tokens_.empty(); }

  struct Found {
    size_t begin = 0;
    size_t end = 0;
    const AddedToken* token = nullptr;  // nullptr: there is none
  };
  // The first token that begins at or after `from`.
  Found Find(std::string_view text, size_t from) const;

  // Whether a token that was found with this spelling in the text counts.
  using IsWanted = absl::FunctionRef<bool(const AddedToken&, std::string_view spelling)>;
  // Calls on_text(text, is_first) and on_token(id, text it takes) in the order of the text, empty
  // texts left out; is_first says that the text is where the whole began. A token that is not
  // wanted, or that is part of a word and must not be, is text. The first error ends it.
  absl::Status Split(std::string_view text, IsWanted is_wanted,
                     absl::FunctionRef<absl::Status(std::string_view, bool)> on_text,
                     absl::FunctionRef<void(int32_t, std::string_view)> on_token) const;

 private:
  static constexpr uint32_t kRoot = 0;
  static constexpr int32_t kNone = -1;

  std::vector<AddedToken> tokens_;
  std::vector<int32_t> ends_ = {kNone};           // by node of the trie: the token that ends there
  absl::flat_hash_map<uint64_t, uint32_t> next_;  // node * 256 + byte -> node
  std::array<bool, 256> begins_ = {};             // bytes with which a token begins
};

}  // namespace horizon

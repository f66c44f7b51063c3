#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace horizon {

// Maps tokens to ids and back. Ids are from 0 to 2^31 - 2 and need not be dense. Tokens are copied
// in; views of them are valid as long as the vocabulary is not moved.
class Vocabulary {
 public:
  enum class AddResult { kAdded, kTokenIsThere, kIdIsTaken };

  // Reserves memory for all tokens and their text. Call it first: Add must not exceed the text
  // (CHECK).
  void Reserve(size_t tokens, size_t bytes);
  // Adds a token. Changes nothing if the token or the id exists already. Memory is proportional to
  // what is added.
  AddResult Add(std::string_view token, int32_t id);
  // Adds a second id for a token that exists. The id must be free. TokenOf returns the same token
  // for both ids, and IdOf returns the new one.
  void AddAnotherId(std::string_view token, int32_t id);

  // The number of ids, and of tokens. There are fewer tokens if some have several ids.
  size_t size() const { return entries_.size(); }
  size_t tokens() const { return ids_.size(); }
  int64_t id_limit() const { return id_limit_; }
  std::optional<int32_t> IdOf(std::string_view token) const;
  // Empty for an unknown id.
  std::string_view TokenOf(int32_t id) const;

  struct Entry {
    absl::string_view token;
    int32_t id = 0;
  };
  const std::vector<Entry>& entries() const { return entries_; }

 private:
  std::vector<char> text_;  // all tokens, never moved once reserved
  std::vector<Entry> entries_;
  absl::flat_hash_map<absl::string_view, int32_t> ids_;
  absl::flat_hash_map<int32_t, uint32_t> places_;  // in entries_
  int64_t id_limit_ = 0;
};

}  // namespace horizon

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

// Tokens and their ids: those of a model and those added to it. Ids are 0 to 2^31 - 2
// and need not be dense. Tokens are copied in; views of them live as long as the vocabulary stays
// where it is.
class Vocabulary {
 public:
  enum class AddResult { kAdded, kTokenIsThere, kIdIsTaken };

  void Reserve(size_t tokens, size_t bytes);
  // Memory is proportional to what is added. Reserve must have made room for it all.
  AddResult Add(std::string_view token, int32_t id);
  // Adds an id that is not taken for a token that is there: both ids are spelled like it, and IdOf
  // tells the new one.
  void AddAnotherId(std::string_view token, int32_t id);

  // Ids, and tokens, which are less where some have several ids.
  size_t size() const { return entries_.size(); }
  size_t tokens() const { return ids_.size(); }
  int64_t id_limit() const { return id_limit_; }
  std::optional<int32_t> IdOf(std::string_view token) const;
  // Empty for ids that are not there.
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

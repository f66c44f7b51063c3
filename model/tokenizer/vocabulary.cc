#include "model/tokenizer/vocabulary.h"

#include <algorithm>

#include "common/check.h"

namespace horizon {

void Vocabulary::Reserve(size_t tokens, size_t bytes) {
  CHECK(entries_.empty());
  text_.reserve(bytes);
  entries_.reserve(tokens);
  ids_.reserve(tokens);
  places_.reserve(tokens);
}

Vocabulary::AddResult Vocabulary::Add(std::string_view token, int32_t id) {
  if (IdOf(token).has_value()) return AddResult::kTokenIsThere;
  if (places_.contains(id)) return AddResult::kIdIsTaken;
  CHECK(text_.size() + token.size() <= text_.capacity());
  const size_t begin = text_.size();
  text_.insert(text_.end(), token.begin(), token.end());
  const absl::string_view kept(text_.data() + begin, token.size());
  ids_.emplace(kept, id);
  places_.emplace(id, static_cast<uint32_t>(entries_.size()));
  entries_.push_back({kept, id});
  id_limit_ = std::max(id_limit_, int64_t{id} + 1);
  return AddResult::kAdded;
}

void Vocabulary::AddAnotherId(std::string_view token, int32_t id) {
  const auto known = ids_.find(absl::string_view(token.data(), token.size()));
  CHECK(known != ids_.end() && !places_.contains(id));
  known->second = id;
  places_.emplace(id, static_cast<uint32_t>(entries_.size()));
  entries_.push_back({known->first, id});
  id_limit_ = std::max(id_limit_, int64_t{id} + 1);
}

std::optional<int32_t> Vocabulary::IdOf(std::string_view token) const {
  const auto found = ids_.find(absl::string_view(token.data(), token.size()));
  if (found == ids_.end()) return std::nullopt;
  return found->second;
}

std::string_view Vocabulary::TokenOf(int32_t id) const {
  const auto found = places_.find(id);
  if (found == places_.end()) return {};
  const absl::string_view token = entries_[found->second].token;
  return {token.data(), token.size()};
}

}  // namespace horizon

#include "model/tokenizer/added_tokens.h"

#include <algorithm>

#include "common/status_macros.h"
#include "model/tokenizer/text/unicode_text.h"

namespace horizon {
namespace {

// The last character of a text that is not empty.
char32_t LastCharacter(std::string_view text) {
  size_t at = LastCharacterBegin(text, text.size());
  return NextCharacter(text, at);
}

bool IsPartOfWord(std::string_view text, size_t begin, size_t end) {
  if (begin > 0 && IsWordCharacter(LastCharacter(text.substr(0, begin)))) return true;
  return end < text.size() && IsWordCharacter(NextCharacter(text, end));
}

size_t SkipSpacesBack(std::string_view text, size_t end, size_t limit) {
  while (end > limit && IsWhiteSpace(LastCharacter(text.substr(0, end)))) {
    end = std::max(LastCharacterBegin(text, end), limit);
  }
  return end;
}

size_t SkipSpaces(std::string_view text, size_t at) {
  while (at < text.size()) {
    size_t next = at;
    if (!IsWhiteSpace(NextCharacter(text, next))) break;
    at = next;
  }
  return at;
}

}  // namespace

bool IsControl(const AddedToken& token, const EncodeOptions& options) {
  return token.special || std::find(options.control_ids.begin(), options.control_ids.end(),
                                    token.id) != options.control_ids.end();
}

AddedToken SpelledAsInFile(AddedToken token) {
  token.spelling = token.content;
  return token;
}

void AddedTokenFinder::Add(const AddedToken& token) {
  const std::string& spelling = token.spelling;
  if (spelling.empty()) return;
  uint32_t node = kRoot;
  for (const char c : spelling) {
    const auto byte = static_cast<unsigned char>(c);
    const auto [edge, is_new] =
        next_.try_emplace(uint64_t{node} * 256 + byte, static_cast<uint32_t>(ends_.size()));
    if (is_new) ends_.push_back(kNone);
    node = edge->second;
  }
  if (ends_[node] != kNone) return;
  ends_[node] = static_cast<int32_t>(tokens_.size());
  begins_[static_cast<unsigned char>(spelling[0])] = true;
  tokens_.push_back(token);
}

AddedTokenFinder::Found AddedTokenFinder::Find(std::string_view text, size_t from) const {
  for (size_t begin = from; begin < text.size(); ++begin) {
    if (!begins_[static_cast<unsigned char>(text[begin])]) continue;
    Found found;
    uint32_t node = kRoot;
    for (size_t at = begin; at < text.size(); ++at) {
      const auto edge = next_.find(uint64_t{node} * 256 + static_cast<unsigned char>(text[at]));
      if (edge == next_.end()) break;
      node = edge->second;
      if (ends_[node] != kNone) {
        found = {begin, at + 1, &tokens_[static_cast<size_t>(ends_[node])]};
      }
    }
    if (found.token != nullptr) return found;
  }
  return {};
}

absl::Status AddedTokenFinder::Split(
    std::string_view text, TokenPredicate is_recognised,
    absl::FunctionRef<absl::Status(std::string_view, bool)> on_text,
    absl::FunctionRef<void(int32_t, std::string_view)> on_token) const {
  size_t done = 0;
  if (!tokens_.empty()) {
    for (Found found = Find(text, 0); found.token != nullptr; found = Find(text, found.end)) {
      const AddedToken& token = *found.token;
      if (!is_recognised(token, text.substr(found.begin, found.end - found.begin))) continue;
      if (token.single_word && IsPartOfWord(text, found.begin, found.end)) continue;
      size_t begin = found.begin;
      size_t end = found.end;
      if (token.lstrip) begin = std::max(SkipSpacesBack(text, begin, 0), done);
      if (token.rstrip) end = SkipSpaces(text, end);
      if (done < begin) RETURN_IF_ERROR(on_text(text.substr(done, begin - done), done == 0));
      on_token(token.id, text.substr(begin, end - begin));
      done = end;
    }
  }
  return done < text.size() ? on_text(text.substr(done), done == 0) : absl::OkStatus();
}

}  // namespace horizon

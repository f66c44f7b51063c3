#include "report/live/json_change.h"

#include <cstddef>
#include <map>
#include <optional>

#include "common/check.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

std::string_view Trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// The length of the value or key that `text` begins with: up to the first separator that is neither
// in a string nor in an array or object of it.
size_t LengthOfPiece(std::string_view text) {
  int depth = 0;
  bool in_string = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char letter = text[i];
    if (in_string) {
      if (letter == '\\') ++i;
      in_string = letter != '"';
      continue;
    }
    if (letter == '"') in_string = true;
    if (depth == 0 && (letter == ',' || letter == ':')) return i;
    if (letter == '{' || letter == '[') ++depth;
    if (letter == '}' || letter == ']') --depth;
  }
  CHECK(depth == 0 && !in_string);
  return text.size();
}

// Keys as they stand there, quoted and escaped.
using Members = std::map<std::string_view, std::string_view>;

std::optional<Members> MembersOf(std::string_view text) {
  if (text.size() < 2 || text.front() != '{' || text.back() != '}') return std::nullopt;
  text = Trimmed(text.substr(1, text.size() - 2));
  Members members;
  while (!text.empty()) {
    const size_t key = LengthOfPiece(text);
    CHECK(key < text.size() && text[key] == ':');
    const std::string_view rest = text.substr(key + 1);
    const size_t value = LengthOfPiece(rest);
    members[Trimmed(text.substr(0, key))] = Trimmed(rest.substr(0, value));
    text = value == rest.size() ? std::string_view() : Trimmed(rest.substr(value + 1));
  }
  return members;
}

// The elements that `after` has behind those of `before`, where both are arrays and it has these.
std::optional<std::string_view> Added(std::string_view before, std::string_view after) {
  if (before.empty() || before.front() != '[' || after.empty() || after.front() != '[') {
    return std::nullopt;
  }
  const std::string_view kept = Trimmed(before.substr(0, before.size() - 1));
  if (!after.starts_with(kept)) return std::nullopt;
  std::string_view rest = Trimmed(after.substr(kept.size(), after.size() - kept.size() - 1));
  if (kept == "[") return rest;
  // Otherwise a number only went on: [1] and [12].
  if (rest.empty() || rest.front() != ',') return std::nullopt;
  return Trimmed(rest.substr(1));
}

class ChangeWriter {
 public:
  void Compare(const std::string& path, std::string_view before, std::string_view after) {
    if (before == after) return;
    const std::optional<Members> old_members = MembersOf(before);
    const std::optional<Members> new_members = MembersOf(after);
    if (old_members.has_value() && new_members.has_value()) {
      return CompareMembers(path, *old_members, *new_members);
    }
    if (const std::optional<std::string_view> added = Added(before, after)) {
      return Write(StrCat("[\"append\", [", path, "], [", *added, "]]"));
    }
    Set(path, after);
  }

  std::string Finish() && { return text_ + "]"; }

 private:
  void CompareMembers(const std::string& path, const Members& before, const Members& after) {
    for (const auto& [key, value] : before) {
      if (!after.contains(key)) Write(StrCat("[\"remove\", [", Below(path, key), "]]"));
    }
    for (const auto& [key, value] : after) {
      const auto old = before.find(key);
      if (old == before.end()) {
        Set(Below(path, key), value);
      } else {
        Compare(Below(path, key), old->second, value);
      }
    }
  }

  static std::string Below(const std::string& path, std::string_view key) {
    return path.empty() ? std::string(key) : StrCat(path, ", ", key);
  }

  void Set(const std::string& path, std::string_view value) {
    Write(StrCat("[\"set\", [", path, "], ", value, "]"));
  }

  void Write(const std::string& operation) {
    if (text_.size() > 1) text_ += ", ";
    text_ += operation;
  }

  std::string text_ = "[";
};

}  // namespace

std::string JsonChange(std::string_view before, std::string_view after) {
  before = Trimmed(before);
  after = Trimmed(after);
  CHECK(before.starts_with('{') && after.starts_with('{'));
  ChangeWriter writer;
  writer.Compare("", before, after);
  return std::move(writer).Finish();
}

}  // namespace horizon

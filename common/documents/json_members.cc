#include "common/documents/json_members.h"

#include "common/check.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr std::string_view kSpaces = " \t\r\n";

// Where a member stands: its key begins, and its value begins and ends.
struct Place {
  size_t key_begin = 0;
  size_t begin = 0;
  size_t end = 0;
};

// The walkers below are given a text that ParseJson took, so they look for borders only.

size_t SkipSpaces(std::string_view text, size_t at) {
  at = text.find_first_not_of(kSpaces, at);
  CHECK(at != std::string_view::npos);
  return at;
}

// One past the closing quote of the string that opens at `at`.
size_t EndOfString(std::string_view text, size_t at) {
  for (++at; text[at] != '"'; ++at) {
    if (text[at] == '\\') ++at;
  }
  return at + 1;
}

size_t EndOfValue(std::string_view text, size_t at) {
  int depth = 0;
  do {
    switch (text[at]) {
      case '"':
        at = EndOfString(text, at);
        break;
      case '{':
      case '[':
        ++depth;
        ++at;
        break;
      case '}':
      case ']':
        --depth;
        ++at;
        break;
      default:  // a number or a word; within a container also commas, colons and spaces
        at = text.find_first_of(depth == 0 ? ",}] \t\r\n" : "\"{}[]", at);
        break;
    }
  } while (depth > 0);
  return at;
}

// Of the object whose brace opens at `at`, in the order of the text.
std::vector<Place> MembersOf(std::string_view text, size_t at) {
  std::vector<Place> members;
  at = SkipSpaces(text, at + 1);
  while (text[at] != '}') {
    const size_t begin = SkipSpaces(text, SkipSpaces(text, EndOfString(text, at)) + 1);
    members.push_back({.key_begin = at, .begin = begin, .end = EndOfValue(text, begin)});
    at = SkipSpaces(text, members.back().end);
    if (text[at] == ',') at = SkipSpaces(text, at + 1);
  }
  return members;
}

}  // namespace

absl::StatusOr<std::vector<JsonMember>> FindJsonMembers(const std::string& file,
                                                        std::string_view text) {
  ASSIGN_OR_RETURN(const Document document, ParseJson(file, text));
  const auto* members = document.root.As<Value::Object>();
  if (members == nullptr) {
    return ErrorAt(document, document.root, "",
                   StrCat("must be an object, not ", document.root.KindName()));
  }
  const std::vector<Place> places = MembersOf(text, text.find('{'));
  // The parser's keys and not the text's: an escape can spell a letter.
  CHECK(places.size() == members->size());
  std::vector<JsonMember> found;
  for (size_t i = 0; i < places.size(); ++i) {
    found.push_back({.key = (*members)[i].first,
                     .begin = places[i].begin,
                     .end = places[i].end,
                     .key_begin = places[i].key_begin});
  }
  return found;
}

absl::StatusOr<std::string> WithoutJsonMember(const std::string& file, std::string_view text,
                                              std::string_view key) {
  ASSIGN_OR_RETURN(const std::vector<JsonMember> members, FindJsonMembers(file, text));
  std::string without(text);
  for (size_t i = 0; i < members.size(); ++i) {
    if (members[i].key != key) continue;
    if (i + 1 < members.size()) {
      without.erase(members[i].key_begin, members[i + 1].key_begin - members[i].key_begin);
    } else if (i > 0) {
      without.erase(members[i - 1].end, members[i].end - members[i - 1].end);
    } else {
      without.erase(members[i].key_begin, members[i].end - members[i].key_begin);
    }
    break;  // keys are unique
  }
  return without;
}

}  // namespace horizon

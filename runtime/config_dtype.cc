#include "runtime/config_dtype.h"

#include <cstddef>
#include <vector>

#include "common/check.h"
#include "common/json.h"
#include "common/status_macros.h"
#include "common/str_cat.h"

namespace horizon {
namespace {

constexpr std::string_view kFile = "config.json";
constexpr std::string_view kSpaces = " \t\r\n";

struct Member {
  std::string_view key;  // as it stands between the quotes
  size_t value_begin = 0;
  size_t value_end = 0;
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

// Of the object whose brace opens at `at`.
std::vector<Member> MembersOf(std::string_view text, size_t at) {
  std::vector<Member> members;
  at = SkipSpaces(text, at + 1);
  while (text[at] != '}') {
    const size_t end = EndOfString(text, at);
    Member member{.key = text.substr(at + 1, end - at - 2)};
    member.value_begin = SkipSpaces(text, SkipSpaces(text, end) + 1);
    member.value_end = EndOfValue(text, member.value_begin);
    members.push_back(member);
    at = SkipSpaces(text, member.value_end);
    if (text[at] == ',') at = SkipSpaces(text, at + 1);
  }
  return members;
}

}  // namespace

absl::StatusOr<std::string> WithDtype(std::string_view config, std::string_view dtype) {
  ASSIGN_OR_RETURN(const Document document, ParseJson(std::string(kFile), config));
  if (document.root.As<Value::Object>() == nullptr) {
    return ErrorAt(document, document.root, "",
                   StrCat("must be an object, not ", document.root.KindName()));
  }
  const size_t brace = config.find('{');
  const std::vector<Member> members = MembersOf(config, brace);
  const std::string value = StrCat("\"", dtype, "\"");
  std::string text(config);
  bool found = false;
  // From the end, so that the places before stay what they are.
  for (auto member = members.rbegin(); member != members.rend(); ++member) {
    if (member->key != "torch_dtype" && member->key != "dtype") continue;
    text.replace(member->value_begin, member->value_end - member->value_begin, value);
    found = true;
  }
  if (!found) {
    text.insert(brace + 1, StrCat("\n  \"torch_dtype\": ", value, members.empty() ? "\n" : ","));
  }
  // A key with needless escapes looks like another one above and is a second one here.
  RETURN_IF_ERROR(ParseJson(std::string(kFile), text).status());
  return text;
}

}  // namespace horizon

#include "tests/schedule/record_cases.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

Value::Object FieldsOf(std::string_view written) {
  const absl::StatusOr<Document> document = ParseJson("written", written);
  EXPECT_TRUE(document.ok()) << document.status();
  if (!document.ok() || document->root.As<Value::Object>() == nullptr) return {};
  return *document->root.As<Value::Object>();
}

std::string WithField(std::string_view name, std::string_view literal) {
  return StrCat("{\"", name, "\": ", literal, "}");
}

// Refused as a bad argument, with a message that holds `part`.
void ExpectRefused(const absl::Status& status, std::string_view text, std::string_view part) {
  const std::string shown(text.substr(0, 80));
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << shown << ": " << status;
  EXPECT_NE(status.message().find(absl::string_view(part.data(), part.size())),
            absl::string_view::npos)
      << shown << ": " << status;
}

bool IsNumber(const Value& value) {
  return value.As<int64_t>() != nullptr || value.As<double>() != nullptr;
}

// Literals that are not of the kind of `value`.
std::vector<std::string> OtherKinds(const Value& value) {
  std::vector<std::string> others = {"null", "{}", "{\"a\": 1}"};
  // A list is one of texts.
  if (value.As<Value::Array>() != nullptr) {
    others.insert(others.end(), {"[1]", "[null]", "[[]]", "[\"a\", true]"});
  } else {
    others.insert(others.end(), {"[]", "[1]"});
  }
  if (value.As<bool>() == nullptr) others.insert(others.end(), {"true", "false"});
  if (value.As<std::string>() == nullptr) others.insert(others.end(), {"\"x\"", "\"\""});
  if (!IsNumber(value)) others.insert(others.end(), {"0", "1", "-1", "1.5"});
  if (value.As<int64_t>() != nullptr) others.insert(others.end(), {"1.5", "1e400", "1e300"});
  return others;
}

}  // namespace

void ExpectRangesKept(std::string_view written, std::span<const FieldRange> ranges,
                      const ReadText& read) {
  for (const auto& member : FieldsOf(written)) {
    const auto range = std::find_if(ranges.begin(), ranges.end(), [&](const FieldRange& entry) {
      return entry.name == member.first;
    });
    EXPECT_EQ(IsNumber(member.second), range != ranges.end())
        << member.first << " needs an entry, or has one";
  }
  for (const FieldRange& range : ranges) {
    for (const std::string_view inside : {range.least, range.most}) {
      const absl::Status status = read(WithField(range.name, inside));
      EXPECT_TRUE(status.ok()) << range.name << " " << inside << ": " << status;
    }
    for (const std::string_view outside : {range.below, range.above}) {
      const std::string text = WithField(range.name, outside);
      ExpectRefused(read(text), text, StrCat(":1: ", range.name, ": "));
    }
  }
}

void ExpectWrongTypesRefused(std::string_view written, const ReadText& read) {
  for (const auto& [name, value] : FieldsOf(written)) {
    for (const std::string& literal : OtherKinds(value)) {
      const std::string text = WithField(name, literal);
      // 1e400 is beyond every number and refused before anyone asks for the field; an element of a
      // list is named with its place.
      const bool element = value.As<Value::Array>() != nullptr && literal.front() == '[';
      ExpectRefused(read(text), text,
                    literal == "1e400" ? ":1: " : StrCat(":1: ", name, element ? "[" : ": "));
    }
  }
}

void ExpectMisspellingsSuggested(std::string_view written, const ReadText& read) {
  for (const auto& [name, value] : FieldsOf(written)) {
    const std::string wrong = StrCat(name.substr(0, 1), name);
    const std::string text = StrCat("{\n\"", wrong, "\": 1}");
    ExpectRefused(read(text), text,
                  StrCat(":2: unknown key \"", wrong, "\"; did you mean '", name, "'?"));
  }
  ExpectRefused(read("{\"zzzzzz\": 1}"), "zzzzzz", "unknown key \"zzzzzz\"");
}

void ExpectHostileTextsRefused(const ReadText& read) {
  for (const std::string_view version : {"0", "2", "-1", "1000000", "9223372036854775807"}) {
    const std::string text = WithField("version", version);
    ExpectRefused(read(text), text, ":1: version: needs a value from 1 to 1");
  }
  for (const std::string_view text : {"[]", "7", "\"version\"", "null", "true", "[{}]"}) {
    ExpectRefused(read(text), text, "needs an object");
  }
  for (const std::string_view text : {"", " \n", "{", "}", "{\"version\"", "{\"version\": 1",
                                      "{} {}", "{\"version\": 1,}", "{version: 1}", "\xff\xfe"}) {
    ExpectRefused(read(text), text, ":");
  }
  const std::string deep = WithField("model", std::string(100'000, '['));
  ExpectRefused(read(deep), deep, "64");
  const std::string closed = WithField("model", std::string(65, '[') + std::string(65, ']'));
  ExpectRefused(read(closed), closed, "64");
  const std::string huge = WithField("model", StrCat("\"", std::string(17 << 20, 'm'), "\""));
  ExpectRefused(read(huge), huge, "more than the 16777216");
  const std::string many = WithField("model", StrCat("[", std::string(2'000'000, ' '), "]"));
  ExpectRefused(read(many), many, ":1: model: needs a string");
}

}  // namespace horizon

#include "common/documents/yaml.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "common/documents/document.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

Document Parsed(std::string_view text) {
  absl::StatusOr<Document> document = ParseYaml("job.yaml", text);
  EXPECT_TRUE(document.ok()) << document.status();
  return document.ok() ? *std::move(document) : Document();
}

std::string ErrorOf(std::string_view text, const DocumentLimits& limits = {}) {
  const absl::StatusOr<Document> document = ParseYaml("job.yaml", text, limits);
  EXPECT_EQ(document.status().code(), absl::StatusCode::kInvalidArgument) << text.substr(0, 80);
  return std::string(document.status().message());
}

TEST(ParseYaml, ReadsMapsSequencesAndScalarsWithTheirLines) {
  const Document document = Parsed(
      "# a job\n"
      "model: Qwen2.5-7B\n"
      "optimizer:\n"
      "  beta1: 0.9\n"
      "  steps: [1, 2,\n"
      "          3]\n"
      "list:\n"
      "  - a\n"
      "  - b: 1\n"
      "    c: 2\n"
      "empty:\n"
      "flow: {x: 1, y: {}}\n");
  const Value& root = document.root;
  EXPECT_EQ(*root.Find("model")->As<std::string>(), "Qwen2.5-7B");
  EXPECT_EQ(root.Find("model")->line(), 2);
  EXPECT_EQ(*root.Find("optimizer")->Find("beta1")->As<double>(), 0.9);
  const auto& steps = *root.Find("optimizer")->Find("steps")->As<Value::Array>();
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(*steps[2].As<int64_t>(), 3);
  EXPECT_EQ(steps[2].line(), 6);
  const auto& list = *root.Find("list")->As<Value::Array>();
  EXPECT_EQ(*list[1].Find("c")->As<int64_t>(), 2);
  EXPECT_TRUE(root.Find("empty")->is_null());
  EXPECT_EQ(root.Find("flow")->Find("y")->As<Value::Object>()->size(), 0U);
}

TEST(ParseYaml, ReadsJson) {
  const Document document = Parsed("{\"a\": [1, 2.5, \"x\", true, null], \"b\": {\"c\": -3}}");
  EXPECT_EQ(document.root.Find("a")->As<Value::Array>()->size(), 5U);
  EXPECT_EQ(*document.root.Find("b")->Find("c")->As<int64_t>(), -3);
}

template <typename T>
void ExpectScalar(std::string_view text, const T& expected) {
  const Document document = Parsed("a: " + std::string(text) + "\n");
  const Value* value = document.root.Find("a");
  ASSERT_NE(value, nullptr) << text;
  ASSERT_NE(value->As<T>(), nullptr) << text << " is " << value->KindName();
  EXPECT_EQ(*value->As<T>(), expected) << text;
}

TEST(ParseYaml, PlainScalarsFollowTheCoreSchema) {
  for (const char* text : {"true", "True", "TRUE"}) ExpectScalar<bool>(text, true);
  for (const char* text : {"false", "False", "FALSE"}) ExpectScalar<bool>(text, false);
  for (const char* text : {"null", "Null", "NULL", "~", ""}) {
    ExpectScalar<std::nullptr_t>(text, nullptr);
  }
  ExpectScalar<int64_t>("12", 12);
  ExpectScalar<int64_t>("-12", -12);
  ExpectScalar<int64_t>("+12", 12);
  ExpectScalar<int64_t>("012", 12);
  ExpectScalar<int64_t>("0x1F", 31);
  ExpectScalar<int64_t>("0o17", 15);
  ExpectScalar<int64_t>("9223372036854775807", INT64_MAX);
  ExpectScalar<double>("9223372036854775808", 0x1p63);
  ExpectScalar<double>("1e-4", 1e-4);
  ExpectScalar<double>("-1.5E+3", -1500.0);
  ExpectScalar<double>(".5", 0.5);
  ExpectScalar<double>("1.", 1.0);
}

TEST(ParseYaml, EverythingElseIsAString) {
  for (const char* text :
       {"yes",   "no",  "on",  "off",  "tRue", "nULL", "1_000", "1e",    "1e+",
        "0x",    "0xG", "0o8", "-0x1", ".",    "-",    "+",     "1.2.3", "2001-01-01",
        "1 GiB", "e5",  ".e5", "--1",  "+-1",  "12a",  "..inf", "inf",   "NaN"}) {
    if (std::string_view(text) == "-") continue;  // a sequence, not a scalar
    ExpectScalar<std::string>(text, text);
  }
}

TEST(ParseYaml, QuotedScalarsAreStrings) {
  ExpectScalar<std::string>("\"12\"", "12");
  ExpectScalar<std::string>("'true'", "true");
  ExpectScalar<std::string>("\"\"", "");
  ExpectScalar<std::string>("'~'", "~");
  ExpectScalar<std::string>("\"a\\tb\\u00e9\"", "a\tbé");
  ExpectScalar<std::string>("|\n  12\n", "12\n");
  ExpectScalar<std::string>(">-\n  two\n  lines\n", "two lines");
}

TEST(ParseYaml, RefusesNumbersThatHaveNoFiniteValue) {
  for (const char* text : {".inf", "-.Inf", "+.INF", ".nan", ".NaN", ".NAN"}) {
    EXPECT_THAT(ErrorOf("a: 1\nb: " + std::string(text)), HasSubstr("job.yaml:2: ")) << text;
  }
  EXPECT_THAT(ErrorOf("a: 1e400"), HasSubstr("out of range"));
  EXPECT_THAT(ErrorOf("a: 0x8000000000000000"), HasSubstr("out of range"));
  EXPECT_THAT(ErrorOf("a: 0o7777777777777777777777"), HasSubstr("out of range"));
}

TEST(ParseYaml, RefusesAnchorsAliasesAndTags) {
  EXPECT_THAT(ErrorOf("a: 1\nb: &x 2\nc: *x"), HasSubstr("job.yaml:2: anchors"));
  EXPECT_THAT(ErrorOf("a: &x [1]"), HasSubstr("anchors"));
  EXPECT_THAT(ErrorOf("a: &x {b: 1}"), HasSubstr("anchors"));
  EXPECT_THAT(ErrorOf("a: &x"), HasSubstr("anchors"));
  EXPECT_THAT(ErrorOf("&x a: 1"), HasSubstr("anchors"));
  EXPECT_THAT(ErrorOf("a: *nowhere"), HasSubstr("job.yaml:1: "));
  EXPECT_THAT(ErrorOf("a:\n  !!str 12"), HasSubstr("job.yaml:2: tags"));
  EXPECT_THAT(ErrorOf("a: !!seq [1]"), HasSubstr("tags"));
  EXPECT_THAT(ErrorOf("!!map {a: 1}"), HasSubstr("tags"));
  EXPECT_THAT(ErrorOf("a: !local x"), HasSubstr("tags"));
  EXPECT_THAT(ErrorOf("a: ! [1]"), HasSubstr("tags"));
  EXPECT_THAT(ErrorOf("a: !!null ~"), HasSubstr("tags"));
}

// Nine levels of ten aliases each: a billion strings for whoever expands them.
TEST(ParseYaml, AliasBombIsRefusedAtItsFirstAnchor) {
  std::string bomb = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 1; j < 10; ++j) bomb += "," + before;
    bomb += "]\n";
  }
  EXPECT_THAT(ErrorOf(bomb), HasSubstr("job.yaml:1: anchors"));
}

TEST(ParseYaml, RefusesDuplicateKeysWithBothLines) {
  EXPECT_EQ(ErrorOf("a: 1\nb: 2\n'a': 3\n"), "job.yaml:3: the key \"a\" is already on line 1");
  EXPECT_THAT(ErrorOf("x: {k: 1, k: 2}"), HasSubstr("the key \"k\""));
}

TEST(ParseYaml, RefusesKeysThatAreNotWords) {
  EXPECT_THAT(ErrorOf("? [a, b]\n: 1"), HasSubstr("a key must be"));
  EXPECT_THAT(ErrorOf("? {a: b}\n: 1"), HasSubstr("a key must be"));
  EXPECT_THAT(ErrorOf("{[a]: 1}"), HasSubstr("job.yaml:1: "));
  EXPECT_THAT(ErrorOf("a: 1\n~: 2"), HasSubstr("job.yaml:2: a key is missing"));
  EXPECT_THAT(ErrorOf(": 1"), HasSubstr("a key is missing"));
  EXPECT_EQ(*Parsed("12: x").root.Find("12")->As<std::string>(), "x");
}

TEST(ParseYaml, RefusesSeveralDocumentsAndNone) {
  EXPECT_THAT(ErrorOf("a: 1\n---\nb: 2\n"), HasSubstr("job.yaml:2: another value follows"));
  EXPECT_THAT(ErrorOf("a: 1\n...\nb: 2\n"), HasSubstr("another value follows"));
  EXPECT_THAT(ErrorOf("a: 1\n---\n"), HasSubstr("another value follows"));
  EXPECT_THAT(ErrorOf(""), HasSubstr("holds no value"));
  EXPECT_THAT(ErrorOf("# only a comment\n"), HasSubstr("holds no value"));
  EXPECT_EQ(*Parsed("---\na: 1\n...\n").root.Find("a")->As<int64_t>(), 1);
}

TEST(ParseYaml, SyntaxErrorsNameTheLine) {
  EXPECT_THAT(ErrorOf("a: 1\nb: [1, 2\n"), HasSubstr("job.yaml:"));
  EXPECT_THAT(ErrorOf("a: 1\nb: \"open"), HasSubstr("not valid YAML"));
  EXPECT_THAT(ErrorOf("a: 1\n\tb: 2"), HasSubstr("job.yaml:2: "));
  EXPECT_THAT(ErrorOf("a: 1\n b: 2"), HasSubstr("job.yaml:2: "));
  EXPECT_THAT(ErrorOf("{a: 1\n"), HasSubstr("is not closed"));
  EXPECT_THAT(ErrorOf("a: }"), HasSubstr("job.yaml:1: "));
  EXPECT_THAT(ErrorOf("%YAML 9.9\n---\na: 1"), HasSubstr("job.yaml:1: "));
  EXPECT_THAT(ErrorOf("a: \"\\q\""), HasSubstr("job.yaml:1: "));
}

// yaml-cpp takes the character 4 for the end of the text, and repairs bad UTF-8.
TEST(ParseYaml, RefusesControlCharactersAndBadUtf8) {
  EXPECT_THAT(ErrorOf("a: 1\n\x04\nb: 2"), HasSubstr("job.yaml:2: control character 4"));
  EXPECT_THAT(ErrorOf(std::string("a: 1\0b", 6)), HasSubstr("control character 0"));
  EXPECT_THAT(ErrorOf("a: \x7F"), HasSubstr("control character 127"));
  EXPECT_THAT(ErrorOf("a: 1\nb: \x80"), HasSubstr("job.yaml:2: the text is not UTF-8"));
  EXPECT_THAT(ErrorOf("\xFF\xFE"
                      "a"),
              HasSubstr("not UTF-8"));
  EXPECT_EQ(*Parsed("a: größe €\n").root.Find("a")->As<std::string>(), "größe €");
  EXPECT_EQ(*Parsed("a: 1\r\nb: 2\r\n").root.Find("b")->As<int64_t>(), 2);
}

TEST(ParseYaml, KeepsItsLimits) {
  const DocumentLimits limits = {.text = 40_B, .depth = 3, .values = 5};
  EXPECT_TRUE(ParseYaml("f", "[[[1]]]", limits).ok());
  EXPECT_EQ(ErrorOf("[[\n[[1]]]]", limits), "job.yaml:2: nested deeper than 3 levels");
  EXPECT_THAT(ErrorOf("a:\n b:\n  c:\n   d: 1", limits), HasSubstr("nested deeper"));
  EXPECT_TRUE(ParseYaml("f", "[1,2,3,4]", limits).ok());
  EXPECT_EQ(ErrorOf("[1,2,3,4,\n5]", limits), "job.yaml:2: more than 5 values in one file");
  EXPECT_THAT(ErrorOf(std::string(41, ' '), limits), HasSubstr("41 bytes, more than the 40"));
}

TEST(ParseYaml, NestingBombsAreRefusedAtTheLimit) {
  for (const char* piece : {"{a: ", "- ", "? ", "[{a: ", "{? ", "[\n", "!!x ", "&x "}) {
    std::string bomb;
    for (int i = 0; i < 100'000; ++i) bomb += piece;
    EXPECT_THAT(ErrorOf(bomb), HasSubstr("job.yaml:")) << piece;
  }
  EXPECT_THAT(ErrorOf(std::string(1'000'000, '[')), HasSubstr("job.yaml:1: "));
  EXPECT_THAT(ErrorOf(std::string(65, '[') + std::string(65, ']')),
              HasSubstr("nested deeper than 64 levels"));
  EXPECT_TRUE(ParseYaml("f", std::string(64, '[') + std::string(64, ']')).ok());
}

TEST(ParseYaml, DeepIndentationIsRefusedAtTheLimit) {
  std::string maps;
  std::string lists;
  for (int i = 0; i < 3'000; ++i) {
    maps += std::string(static_cast<size_t>(i), ' ') + "a:\n";
    lists += std::string(static_cast<size_t>(i), ' ') + "-\n";
  }
  EXPECT_THAT(ErrorOf(maps), HasSubstr("nested deeper than 64 levels"));
  EXPECT_THAT(ErrorOf(lists), HasSubstr("nested deeper than 64 levels"));
}

TEST(ParseYaml, LongScalarsAndManyKeysAreRead) {
  const std::string text(5'000'000, 'x');
  EXPECT_EQ(Parsed("a: " + text).root.Find("a")->As<std::string>()->size(), text.size());
  std::string keys;
  for (int i = 0; i < 50'000; ++i) keys += "key" + std::to_string(i) + ": 0\n";
  EXPECT_EQ(Parsed(keys).root.As<Value::Object>()->size(), 50'000U);
  EXPECT_THAT(ErrorOf(keys + "key777: 1\n"), HasSubstr("already on line 778"));
}

}  // namespace
}  // namespace horizon

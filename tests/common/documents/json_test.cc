#include "common/documents/json.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/documents/document.h"

namespace horizon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Writes down what it is told: "12:key", one entry for each event.
class RecordingHandler : public JsonHandler {
 public:
  absl::Status OnBeginObject() override { return Add("{"); }
  absl::Status OnEndObject() override { return Add("}"); }
  absl::Status OnBeginArray() override { return Add("["); }
  absl::Status OnEndArray() override { return Add("]"); }
  absl::Status OnKey(std::string_view key) override { return Add("key " + std::string(key)); }
  absl::Status OnString(std::string_view text) override {
    return Add("string " + std::string(text));
  }
  absl::Status OnNumber(std::string_view text) override {
    return Add("number " + std::string(text));
  }
  absl::Status OnBool(bool value) override { return Add(value ? "true" : "false"); }
  absl::Status OnNull() override { return Add("null"); }

  std::vector<std::string> events;
  std::string refused;  // the event that is answered with an error

 private:
  absl::Status Add(const std::string& event) {
    events.push_back(std::to_string(line) + ":" + event);
    return event == refused ? absl::DataLossError("refused " + event) : absl::OkStatus();
  }
};

std::vector<std::string> EventsOf(std::string_view text) {
  RecordingHandler handler;
  const absl::Status status = ParseJsonEvents("f.json", text, 64, handler);
  EXPECT_TRUE(status.ok()) << status;
  return handler.events;
}

std::string ErrorOf(std::string_view text, const DocumentLimits& limits = {}) {
  const absl::StatusOr<Document> document = ParseJson("f.json", text, limits);
  EXPECT_EQ(document.status().code(), absl::StatusCode::kInvalidArgument) << text.substr(0, 80);
  return std::string(document.status().message());
}

TEST(ParseJsonEvents, DeliversEveryPieceWithItsLine) {
  EXPECT_THAT(EventsOf("{\n\"a\":\n[1, true,\n\nfalse], \"b\"\n\n:\nnull}\n\n"),
              ElementsAre("1:{", "2:key a", "3:[", "3:number 1", "3:true", "5:false", "5:]",
                          "5:key b", "8:null", "8:}"));
}

TEST(ParseJsonEvents, NumbersArriveAsTheyStand) {
  EXPECT_THAT(
      EventsOf("[-0, 1.0, 1e3, 1E+3,\n18446744073709551616, 0.1000,\n-12\n]"),
      ElementsAre("1:[", "1:number -0", "1:number 1.0", "1:number 1e3", "1:number 1E+3",
                  "2:number 18446744073709551616", "2:number 0.1000", "3:number -12", "4:]"));
  EXPECT_THAT(EventsOf("12"), ElementsAre("1:number 12"));
  EXPECT_THAT(EventsOf("\n-1.5e-7"), ElementsAre("2:number -1.5e-7"));
  const std::string digits(1'000'000, '7');
  EXPECT_THAT(EventsOf(digits), ElementsAre("1:number " + digits));
}

TEST(ParseJsonEvents, StringsArriveWholeAndUnescaped) {
  EXPECT_THAT(EventsOf(R"("a\u0041\n\"\\\/\ud83d\ude00")"),
              ElementsAre("1:string aA\n\"\\/\xF0\x9F\x98\x80"));
  EXPECT_THAT(EventsOf(R"({"\u0061":""})"), ElementsAre("1:{", "1:key a", "1:string ", "1:}"));
  EXPECT_THAT(EventsOf(R"("x\u0000y")"), ElementsAre("1:string " + std::string("x\0y", 3)));
  const std::string text(3'000'000, 'x');
  EXPECT_THAT(EventsOf("[\"" + text + "\\n\", \"y\"]"),
              ElementsAre("1:[", "1:string " + text + "\n", "1:string y", "1:]"));
}

TEST(ParseJsonEvents, TheHandlersErrorStopsTheParse) {
  for (const char* event : {"{", "}", "[", "]", "key a", "string x", "number 1", "true", "null"}) {
    RecordingHandler handler;
    handler.refused = event;
    const absl::Status status =
        ParseJsonEvents("f", "{\"a\": [\"x\", 1, true, null]}", 64, handler);
    EXPECT_EQ(status, absl::DataLossError(std::string("refused ") + event));
    EXPECT_EQ(handler.events.back(), std::string("1:") + event);
  }
}

TEST(ParseJsonEvents, RefusesNestingBeyondTheGivenDepth) {
  RecordingHandler handler;
  EXPECT_TRUE(ParseJsonEvents("f", "[{\"a\":[]}]", 3, handler).ok());
  EXPECT_EQ(ParseJsonEvents("f", "[\n{\"a\":[[]]}]", 3, handler).message(),
            "f:2: nested deeper than 3 levels");
}

TEST(ParseJson, RefusesWhatIsNotStrictJson) {
  for (const char* text : {"",
                           " ",
                           "\n\n",
                           "{",
                           "[",
                           "\"",
                           "{\"a\"",
                           "{\"a\":",
                           "{\"a\":1",
                           "{\"a\":1,",
                           "[1",
                           "[1,",
                           "[1,]",
                           "{\"a\":1,}",
                           "{,}",
                           "[,]",
                           "{a:1}",
                           "{'a':1}",
                           "// x\n1",
                           "/* */1",
                           "1 2",
                           "{}{}",
                           "[]]",
                           "nul",
                           "nulll",
                           "True",
                           "NaN",
                           "Infinity",
                           "-Infinity",
                           "01",
                           "-",
                           "+1",
                           "1.",
                           ".5",
                           "1e",
                           "1e+",
                           "0x10",
                           "--1",
                           "\"\t\"",
                           "\"\n\"",
                           "\"\\x\"",
                           "\"\\u12\"",
                           "\"\\ud800\"",
                           "\"\\udc00\"",
                           "\"\\ud800\\u0041\"",
                           "[1}",
                           "{1:2}",
                           "{\"a\" 1}",
                           "[1 2]",
                           "\xEF\xBB\xBF{}",
                           "\"\x80\"",
                           "\"\xC0\x80\"",
                           "\"\xED\xA0\x80\"",
                           "\"\xF5\x80\x80\x80\"",
                           "\"\xE2\x82\"",
                           "\"\x7F",
                           "[\f1]",
                           "\v1",
                           "tru\ne",
                           "1\n2",
                           "-\n1",
                           "1.\n5",
                           "\"a\nb\""}) {
    EXPECT_THAT(ErrorOf(text), HasSubstr("f.json:")) << text;
  }
  EXPECT_FALSE(ParseJson("f", std::string("1\0", 2)).ok());
  EXPECT_FALSE(ParseJson("f", std::string("\"\0\"", 3)).ok());
}

TEST(ParseJson, ErrorsNameTheLine) {
  EXPECT_THAT(ErrorOf("{\n\n  \"a\": 1,\n  \"b\": x\n}"), HasSubstr("f.json:4: not valid JSON"));
  EXPECT_THAT(ErrorOf("{\n\n  \"a\": 1,\n  \"b\": x\n}"), HasSubstr("column 8"));
  EXPECT_THAT(ErrorOf("\n \n  x"), HasSubstr("f.json:3: not valid JSON: syntax error at column 3"));
  EXPECT_THAT(ErrorOf("{\n\"a\": 1\n"), HasSubstr("ends before its value is complete"));
  EXPECT_THAT(ErrorOf("{}\n\n\nx"), HasSubstr("f.json:4: text follows"));
  EXPECT_THAT(ErrorOf("{} x"), HasSubstr("f.json:1: text follows"));
  EXPECT_THAT(ErrorOf("\n\n1e99999999999999999999"), HasSubstr("f.json:3: "));
  EXPECT_THAT(ErrorOf("\n\n[1e400]"), HasSubstr("f.json:3: the number \"1e400\" is out of range"));
}

TEST(ParseJson, AcceptsAllFourSpacesAndLineEndings) {
  const absl::StatusOr<Document> document = ParseJson("f", " \t\r\n{\"a\"\r\n:\t[ ] }\r\n \n");
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ(document->root.line(), 2);
  EXPECT_EQ(document->root.Find("a")->line(), 3);
}

TEST(ParseJson, RefusesDuplicateKeysWithBothLines) {
  EXPECT_EQ(ErrorOf("{\"b\": 0,\n\"a\": 1,\n\"c\": {\"a\": 3},\n\"\\u0061\": 4}"),
            "f.json:4: the key \"a\" is already on line 2");
  EXPECT_THAT(ErrorOf("[{\"a\": {\"x\": 1, \"x\": 2}}]"), HasSubstr("the key \"x\""));
  EXPECT_THAT(ErrorOf("{\"\": 1, \"\": 2}"), HasSubstr("the key \"\""));
  EXPECT_TRUE(ParseJson("f", "{\"a\": {\"a\": {\"a\": 1}}, \"A\": 2}").ok());
}

TEST(ParseJson, ManyKeysAreReadAndADuplicateAmongThemIsFound) {
  std::string text = "{";
  for (int i = 0; i < 200'000; ++i) text += "\"key" + std::to_string(i) + "\":0,\n";
  const absl::StatusOr<Document> document = ParseJson("f", text + "\"last\":0}");
  ASSERT_TRUE(document.ok()) << document.status();
  EXPECT_EQ(document->root.As<Value::Object>()->size(), 200'001U);
  EXPECT_EQ(ErrorOf(text + "\"key777\":0}"),
            "f.json:200001: the key \"key777\" is already on line 778");
}

TEST(ParseJson, KeepsItsLimits) {
  const DocumentLimits limits = {.text = 40_B, .depth = 3, .values = 5};
  EXPECT_TRUE(ParseJson("f", "[[[1]]]", limits).ok());
  EXPECT_EQ(ErrorOf("[[\n[[1]]]]", limits), "f.json:2: nested deeper than 3 levels");
  EXPECT_EQ(ErrorOf("{\"a\":{\"a\":{\"a\":{}}}}", limits), "f.json:1: nested deeper than 3 levels");
  EXPECT_TRUE(ParseJson("f", "[1,2,3,4]", limits).ok());
  EXPECT_EQ(ErrorOf("[1,2,3,4\n,5]", limits), "f.json:2: more than 5 values in one file");
  EXPECT_THAT(ErrorOf("[[],[],[],{},{}]", limits), HasSubstr("more than 5 values"));
  EXPECT_TRUE(ParseJson("f", std::string(39, ' ') + "1", limits).ok());
  EXPECT_THAT(ErrorOf(std::string(40, ' ') + "1", limits), HasSubstr("41 bytes, more than the 40"));
  EXPECT_THAT(ErrorOf("[]", {.depth = 0}), HasSubstr("nested deeper than 0 levels"));
  EXPECT_TRUE(ParseJson("f", "1", {.depth = 0}).ok());
}

TEST(ParseJson, BracketBombsAreRefusedAtTheLimit) {
  for (const char* piece : {"[", "{\"a\":", "[\n", "[{\"a\":"}) {
    std::string bomb;
    for (int i = 0; i < 1'000'000; ++i) bomb += piece;
    EXPECT_THAT(ErrorOf(bomb), HasSubstr("nested deeper than 64 levels"));
  }
}

TEST(ParseJson, MillionsOfLinesDeepInsideStayQuick) {
  const std::string open(60, '[');
  const std::string close(60, ']');
  std::string text = open + std::string(8'000'000, '\n') + "0";
  for (int i = 0; i < 200'000; ++i) text += ",\n0";
  const absl::StatusOr<Document> document = ParseJson("f", text + close);
  ASSERT_TRUE(document.ok()) << document.status();
}

TEST(ParseJson, WorstLegalTextsStayWithinTheirLimits) {
  std::string zeros = "[0";
  for (int i = 0; i < 999'998; ++i) zeros += ",0";
  EXPECT_TRUE(ParseJson("f", zeros + "]").ok());
  EXPECT_THAT(ErrorOf(zeros + ",0]"), HasSubstr("more than 1000000 values"));
}

TEST(JsonWriter, PrettyTextIsIndentedByTwo) {
  JsonWriter writer;
  writer.BeginObject().Key("a").Integer(-1).Key("b").BeginArray().Bool(true).Null().EndArray();
  writer.Key("c").BeginObject().EndObject().Key("d").BeginArray().EndArray().EndObject();
  EXPECT_EQ(
      std::move(writer).Finish(),
      "{\n  \"a\": -1,\n  \"b\": [\n    true,\n    null\n  ],\n  \"c\": {},\n  \"d\": []\n}\n");
}

TEST(JsonWriter, OneLineHasNoNewline) {
  JsonWriter writer(JsonWriter::Style::kOneLine);
  writer.BeginObject().Key("a").Unsigned(UINT64_MAX).Key("b").BeginArray().Number(0.5).Bool(false);
  writer.EndArray().EndObject();
  EXPECT_EQ(std::move(writer).Finish(), "{\"a\": 18446744073709551615, \"b\": [0.5, false]}");
}

std::string Written(double value) {
  JsonWriter writer(JsonWriter::Style::kOneLine);
  writer.Number(value);
  return std::move(writer).Finish();
}

std::string Written(std::string_view text) {
  JsonWriter writer(JsonWriter::Style::kOneLine);
  writer.String(text);
  return std::move(writer).Finish();
}

TEST(JsonWriter, DoublesAreShortAndNonFiniteOnesNull) {
  EXPECT_EQ(Written(0.1), "0.1");
  EXPECT_EQ(Written(1e22), "1e+22");
  EXPECT_EQ(Written(-0.0), "-0.0");
  EXPECT_EQ(Written(2.0), "2");
  EXPECT_EQ(Written(std::numeric_limits<double>::infinity()), "null");
  EXPECT_EQ(Written(std::numeric_limits<double>::quiet_NaN()), "null");
}

TEST(JsonWriter, StringsAreEscapedAndAlwaysUtf8) {
  EXPECT_EQ(Written("a\"\\\n\r\t\x01\x7F/é"), "\"a\\\"\\\\\\n\\r\\t\\u0001\\u007f/é\"");
  EXPECT_EQ(Written(std::string("\0", 1)), "\"\\u0000\"");
  EXPECT_EQ(Written("a\xFF"
                    "b\xE2\x82"),
            "\"a\uFFFD"
            "b\uFFFD\uFFFD\"");
  EXPECT_EQ(Written("\xED\xA0\x80"), "\"\uFFFD\uFFFD\uFFFD\"");
}

TEST(JsonWriter, MisuseIsABug) {
  EXPECT_DEATH({ JsonWriter().Key("a"); }, "CHECK");
  EXPECT_DEATH({ JsonWriter().BeginArray().Key("a"); }, "CHECK");
  EXPECT_DEATH({ JsonWriter().BeginObject().Integer(1); }, "CHECK");
  EXPECT_DEATH({ JsonWriter().BeginObject().EndArray(); }, "CHECK");
  EXPECT_DEATH({ JsonWriter().BeginArray().EndObject(); }, "CHECK");
  EXPECT_DEATH({ JsonWriter().BeginObject().Key("a").EndObject(); }, "CHECK");
  EXPECT_DEATH({ JsonWriter().BeginObject().Key("a").Key("b"); }, "CHECK");
  EXPECT_DEATH({ JsonWriter().Integer(1).Integer(2); }, "CHECK");
  EXPECT_DEATH({ (void)JsonWriter().Finish(); }, "CHECK");
  EXPECT_DEATH(
      {
        JsonWriter writer;
        writer.BeginArray();
        (void)std::move(writer).Finish();
      },
      "CHECK");
}

}  // namespace
}  // namespace horizon

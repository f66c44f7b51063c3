#include "runtime/data/sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/str_cat.h"

namespace horizon {
namespace {

using testing::HasSubstr;

constexpr TokenLimits kLimits = {.sequence = 4, .vocab = 10};

// The turns as "system: words|user: words|...".
std::string Turns(std::string_view json, DataKind kind) {
  Sample sample;
  const absl::Status status = ParseSample(json, kind, kLimits, sample);
  if (!status.ok()) return StrCat("error: ", status.message());
  EXPECT_EQ(sample.kind, kind);
  std::string text;
  for (const ChatTurn& turn : sample.turns) {
    text += StrCat(text.empty() ? "" : "|", ToString(turn.role), ": ", turn.content);
  }
  return text;
}

TEST(Sample, KindsAreDetectedFromTheirKeys) {
  for (const auto& [json, kind] : std::vector<std::pair<std::string_view, DataKind>>{
           {R"({"text": ""})", DataKind::kText},
           {R"({"id": 1, "text": "a"})", DataKind::kText},
           {R"({"instruction": "", "output": "", "text": ""})", DataKind::kAlpaca},
           {R"({"output": "", "input": "", "instruction": ""})", DataKind::kAlpaca},
           {R"({"messages": [{"text": 1}], "text": ""})", DataKind::kMessages},
           {R"({"conversations": []})", DataKind::kShareGpt},
           {R"({"query": "", "response": "", "original_question": ""})", DataKind::kQa},
           {R"({"question": "", "answer": ""})", DataKind::kQa},
           {R"({"prompt": "", "completion": ""})", DataKind::kQa},
           {R"({"prompt": "", "response": ""})", DataKind::kQa},
           {R"({"input_ids": [1], "text": ""})", DataKind::kTokens}}) {
    const absl::StatusOr<DataKind> found = DetectKind(json);
    ASSERT_TRUE(found.ok()) << json << found.status();
    EXPECT_EQ(*found, kind) << json;
  }
}

TEST(Sample, NoKindNamesTheKeys) {
  const auto error = [](std::string_view json) {
    const absl::Status status = DetectKind(json).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << json;
    return std::string(status.message());
  };
  EXPECT_THAT(error(R"({"prompt": 1, "nested": {"text": 1}})"),
              HasSubstr("its keys (\"prompt\", \"nested\") are those of no kind"));
  EXPECT_THAT(error("{}"), HasSubstr("no kind"));
  EXPECT_THAT(error("[{\"text\": 1}]"), HasSubstr("not an object"));
  EXPECT_THAT(error("\"text\""), HasSubstr("not an object"));
  EXPECT_THAT(error("{\"text\""), HasSubstr("ends before its value is complete"));
  EXPECT_EQ(error("nonsense").find("record"), std::string::npos);
  EXPECT_THAT(error("{\"a\":" + std::string(100, '[')), HasSubstr("nested deeper than 64"));
}

TEST(Sample, TextIsTheText) {
  Sample sample;
  ASSERT_TRUE(
      ParseSample(R"({"meta": [1], "text": "a\n\u00e9"})", DataKind::kText, kLimits, sample).ok());
  EXPECT_EQ(sample.text, "a\n\u00e9");
  ASSERT_TRUE(ParseSample(R"({"text": ""})", DataKind::kText, kLimits, sample).ok());
  EXPECT_EQ(sample.text, "");
}

TEST(Sample, AlpacaJoinsInstructionAndInput) {
  const DataKind kind = DataKind::kAlpaca;
  EXPECT_EQ(Turns(R"({"instruction": "I", "input": "x", "output": "O"})", kind),
            "user: I\nx|assistant: O");
  EXPECT_EQ(Turns(R"({"instruction": "I", "input": "", "output": "O"})", kind),
            "user: I|assistant: O");
  EXPECT_EQ(Turns(R"({"instruction": "", "input": "x", "output": "O"})", kind),
            "user: x|assistant: O");
  EXPECT_EQ(Turns(R"({"instruction": "I", "output": "O", "input": null, "system": "S",
                      "history": [["a", "b"], ["c", "d"]]})",
                  kind),
            "system: S|user: a|assistant: b|user: c|assistant: d|user: I|assistant: O");
}

TEST(Sample, ConversationsOfBothFormsAreRead) {
  EXPECT_EQ(Turns(R"({"messages": [{"role": "system", "content": "S"},
                                   {"role": "user", "content": "U"},
                                   {"role": "assistant", "content": "A"}]})",
                  DataKind::kMessages),
            "system: S|user: U|assistant: A");
  EXPECT_EQ(Turns(R"({"conversations": [{"from": "human", "value": "U"},
                                        {"from": "gpt", "value": "A"}], "system": "S"})",
                  DataKind::kShareGpt),
            "system: S|user: U|assistant: A");
  EXPECT_EQ(Turns(R"({"conversations": [{"role": "user", "content": "U"},
                                        {"role": "assistant", "content": "A"}]})",
                  DataKind::kShareGpt),
            "user: U|assistant: A");
  EXPECT_EQ(Turns(R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"},
                                                                {"type": "text", "text": "b"}]},
                                   {"role": "assistant", "content": "A"}]})",
                  DataKind::kMessages),
            "user: ab|assistant: A");
}

TEST(Sample, QuestionsAndAnswersOfEveryNameAreRead) {
  for (const auto& [question, answer] :
       std::vector<std::pair<std::string, std::string>>{{"query", "response"},
                                                        {"question", "answer"},
                                                        {"prompt", "completion"},
                                                        {"prompt", "response"}}) {
    EXPECT_EQ(Turns(StrCat(R"({")", question, R"(": "Q", ")", answer, R"(": "A"})"), DataKind::kQa),
              "user: Q|assistant: A");
  }
}

TEST(Sample, ASampleLeavesNothingForTheNext) {
  Sample sample;
  ASSERT_TRUE(
      ParseSample(R"({"query": "Q", "response": "A"})", DataKind::kQa, kLimits, sample).ok());
  ASSERT_TRUE(
      ParseSample(R"({"query": "R", "response": "B"})", DataKind::kQa, kLimits, sample).ok());
  EXPECT_EQ(sample.turns.size(), 2u);
  EXPECT_EQ(sample.turns[0].content, "R");
}

TEST(Sample, SaysWhatIsWrong) {
  const DataKind messages = DataKind::kMessages;
  for (
      const auto& [kind, json, reason] :
      std::vector<std::tuple<DataKind, std::string_view, std::string_view>>{
          {DataKind::kText, R"({"text": 1})", "text is an integer; it must be a string"},
          {DataKind::kText, R"({"txt": "a"})", "\"text\" is missing"},
          {DataKind::kText, R"({"text": null})", "text is null"},
          {DataKind::kText, R"({"text": "a", "text": "b"})", "text"},
          {DataKind::kText, R"(["text"])", "the record is an array"},
          {DataKind::kText, "{\"text\": \"\xff\"}", "not valid JSON"},
          {DataKind::kText, "{\"text\": \"\\ud800\"}", "not valid JSON"},
          {DataKind::kText, "{\"text\": \"a\nb\"}", "not valid JSON"},
          {DataKind::kText, R"({"text": "a"} {})", "text follows"},
          {DataKind::kText, R"({"text": "a)", "ends before"},
          {DataKind::kText, R"({"text": "a", "n": 1e999999999999})", ""},
          {DataKind::kAlpaca, R"({"instruction": "I"})", "\"output\" is missing"},
          {DataKind::kAlpaca, R"({"instruction": "I", "output": ""})", "has no words"},
          {DataKind::kAlpaca, R"({"instruction": "I", "output": "O", "input": 3})", "input is"},
          {DataKind::kAlpaca, R"({"instruction": "I", "output": "O", "history": [["a"]]})",
           "history[0] must be [question, answer]"},
          {DataKind::kAlpaca, R"({"instruction": "I", "output": "O", "history": [["a", 1]]})",
           "history[0][1] is an integer"},
          {DataKind::kQa, R"({"query": "Q"})", "no question with an answer"},
          {messages, R"({"messages": "x"})", "messages is a string; it must be an array"},
          {messages, R"({"messages": []})", "nothing to learn"},
          {messages, R"({"messages": [1]})", "messages[0] is an integer"},
          {messages, R"({"messages": [{"content": "U"}]})", "neither \"role\" nor \"from\""},
          {messages, R"({"messages": [{"role": "user"}]})", "messages[0].content is missing"},
          {messages, R"({"messages": [{"role": 1, "content": ""}]})", "messages[0].role is an"},
          {messages, R"({"messages": [{"role": "tool", "content": ""}]})", "is \"tool\"; horizon"},
          {messages, R"({"messages": [{"role": "user", "content": null}]})",
           "messages[0].content is null"},
          {messages, R"({"messages": [{"role": "user", "content": [{"type": "image_url"}]}]})",
           "of the type \"image_url\""},
          {messages, R"({"messages": [{"role": "user", "content": ["x"]}]})", "is no part"},
          {messages, R"({"messages": [{"role": "user", "content": [{"type": "text"}]}]})",
           "[0].text must be a string"},
          {messages, R"({"messages": [{"role": "user", "content": "U"}]})", "nothing to learn"},
          {messages, R"({"messages": [{"role": "assistant", "content": "A"}]})",
           "turn 1 is the assistant's, and it is the user's turn"},
          {messages,
           R"({"messages": [{"role": "user", "content": "U"}, {"role": "user", "content": "U"},
                             {"role": "assistant", "content": "A"}]})",
           "turn 2 is the user's"},
          {messages,
           R"({"messages": [{"role": "user", "content": "U"}, {"role": "assistant", "content": "A"},
                             {"role": "user", "content": "U"}]})",
           "the last turn is the user's"},
          {messages,
           R"({"messages": [{"role": "user", "content": "U"}, {"role": "system", "content": "S"},
                             {"role": "assistant", "content": "A"}]})",
           "turn 2 is the system's"},
          {messages,
           R"({"system": "S", "messages": [{"role": "system", "content": "S"},
                {"role": "user", "content": "U"}, {"role": "assistant", "content": "A"}]})",
           "two system prompts"},
          {DataKind::kTokens, R"({"input_ids": [10]})", "input_ids[0] is 10"},
          {DataKind::kTokens, R"({"input_ids": [1, 1, 1, 1, 1]})", "more than the sequence"}}) {
    Sample sample;
    const absl::Status status = ParseSample(json, kind, kLimits, sample);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << json;
    EXPECT_THAT(std::string(status.message()), HasSubstr(std::string(reason))) << json;
    // File and line are the caller's to say.
    EXPECT_EQ(status.message().find("record:"), std::string::npos) << status;
  }
}

TEST(Sample, HostileRecordsAreBounded) {
  Sample sample;
  const std::string deep = StrCat(R"({"text": "a", "x": )", std::string(1'000'000, '['));
  EXPECT_FALSE(ParseSample(deep, DataKind::kText, kLimits, sample).ok());
  std::string many = R"({"text": "a", "x": [0)";
  for (int i = 0; i < 1'000'001; ++i) many += ",0";
  EXPECT_THAT(std::string(ParseSample(many + "]}", DataKind::kText, kLimits, sample).message()),
              HasSubstr("1000000"));
}

}  // namespace
}  // namespace horizon

#include "runtime/data/sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <string_view>
#include <vector>

#include "common/text/str_cat.h"

namespace horizon {
namespace {

using testing::HasSubstr;

constexpr TokenLimits kLimits = {.sequence = 4, .vocab = 10};

// The messages as "system: words|user: words|...".
std::string Turns(std::string_view json, DataKind kind) {
  Sample sample;
  const absl::Status status = ParseSample(json, kind, kLimits, sample);
  if (!status.ok()) return StrCat("error: ", status.message());
  EXPECT_EQ(sample.kind, kind);
  std::string text;
  for (const ChatMessage& message : sample.conversation.messages) {
    const Value* content = message.Find("content");
    const auto* words = content == nullptr ? nullptr : content->As<std::string>();
    text += StrCat(text.empty() ? "" : "|", message.role(), ": ", words == nullptr ? "?" : *words);
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
           {R"({"prompt": "", "completion": ""})", DataKind::kPromptCompletion},
           {R"({"prompt": [], "completion": [], "text": ""})", DataKind::kPromptCompletion},
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
  // Lists of parts are the template's to read.
  EXPECT_EQ(Turns(R"({"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]},
                                   {"role": "assistant", "content": "A"}]})",
                  DataKind::kMessages),
            "user: ?|assistant: A");
}

TEST(Sample, PromptAndCompletionAreTextsOrMessages) {
  const DataKind kind = DataKind::kPromptCompletion;
  Sample sample;
  ASSERT_TRUE(ParseSample(R"({"prompt": "a ", "completion": " b"})", kind, kLimits, sample).ok());
  EXPECT_EQ(sample.text, "a  b");
  EXPECT_EQ(sample.prompt_bytes, 2u);
  EXPECT_TRUE(sample.conversation.messages.empty());
  EXPECT_EQ(Turns(R"({"prompt": [{"role": "user", "content": "U"}],
                      "completion": [{"role": "assistant", "content": "A"}]})",
                  kind),
            "user: U|assistant: A");
  EXPECT_THAT(Turns(R"({"prompt": "a", "completion": []})", kind),
              HasSubstr("prompt is a string and completion is an array; both must be"));
  EXPECT_THAT(Turns(R"({"prompt": null, "completion": "a"})", kind), HasSubstr("prompt is null"));
  EXPECT_THAT(Turns(R"({"prompt": "a"})", kind), HasSubstr("\"completion\" is missing"));
  EXPECT_THAT(Turns(R"({"completion": "a"})", kind), HasSubstr("\"prompt\" is missing"));
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
  EXPECT_EQ(sample.conversation.messages.size(), 2u);
  EXPECT_EQ(*sample.conversation.messages[0].Find("content")->As<std::string>(), "R");
  ASSERT_TRUE(ParseSample(R"({"prompt": "a", "completion": "b"})", DataKind::kPromptCompletion,
                          kLimits, sample)
                  .ok());
  EXPECT_TRUE(sample.conversation.messages.empty());
  ASSERT_TRUE(ParseSample(R"({"text": "c"})", DataKind::kText, kLimits, sample).ok());
  EXPECT_EQ(sample.text, "c");
  EXPECT_EQ(sample.prompt_bytes, 0u);
}

TEST(Sample, SaysWhatIsWrong) {
  const DataKind messages = DataKind::kMessages;
  for (const auto& [kind, json, reason] :
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
           {DataKind::kAlpaca, R"({"instruction": "I", "output": "O", "input": 3})", "input is"},
           {DataKind::kAlpaca, R"({"instruction": "I", "output": "O", "history": [["a"]]})",
            "history[0] must be [question, answer]"},
           {DataKind::kAlpaca, R"({"instruction": "I", "output": "O", "history": [["a", 1]]})",
            "history[0][1] is an integer"},
           {DataKind::kQa, R"({"query": "Q"})", "no question with an answer"},
           {messages, R"({"messages": "x"})", "messages is a string; it must be an array"},
           {messages, R"({"messages": []})", "nothing to learn"},
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

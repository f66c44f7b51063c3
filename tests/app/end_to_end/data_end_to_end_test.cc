// `horizon data check` as a person or a script runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/documents/document.h"
#include "common/documents/json.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kQuestions[] =
    "{\"query\": \"1+1?\", \"response\": \"2\"}\n"
    "{\"query\": \"2+2?\", \"response\": 4}\n"
    "{\"query\": \"a much longer question than fits?\", \"response\": \"no\"}\n"
    "{\"query\": \"3+3?\", \"response\": \"6\"}\n";

int64_t Integer(const Document& document, std::string_view key) {
  const Value* value = document.root.Find(key);
  return value != nullptr && value->As<int64_t>() != nullptr ? *value->As<int64_t>() : -1;
}

TEST(DataEndToEnd, CheckShowsCountsBadLinesAndASampleWithItsMaskedPart) {
  WriteFile("q.jsonl", kQuestions);
  const ProcessResult result =
      RunShell("\"$horizon\" data check q.jsonl --tokenizer byte --sequence 16");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("q.jsonl: qa\n"));
  EXPECT_THAT(result.out, HasSubstr("records    3, and 1 bad lines"));
  EXPECT_THAT(result.out, HasSubstr("samples    2 of at most 16 tokens; 0 truncated, 1 dropped"));
  // "1+1?\n2" and its end are 7 tokens, 2 of them trained.
  EXPECT_THAT(result.out, HasSubstr("tokens     14, 4 of them learnt (28.6 %)"));
  EXPECT_THAT(result.out, HasSubstr("lengths    shortest 7, median 7, 95 % 37, longest 37"));
  EXPECT_THAT(result.out, HasSubstr("packed     1 rows, 87.5 % full"));
  EXPECT_THAT(result.out, HasSubstr("padded     2 rows, 43.8 % full"));
  EXPECT_THAT(result.out, HasSubstr("        0 to        15  ####"));
  EXPECT_THAT(result.out, HasSubstr("q.jsonl:2: response is an integer; it must be a string"));
  EXPECT_THAT(result.out, HasSubstr("what stands in [[ ]] is not learnt\n[[1+1?\n]]2<|end|>\n"));
  EXPECT_THAT(result.out, HasSubstr("its ids\n49 43 49 63 10 50 257\n"));
  EXPECT_THAT(result.out, HasSubstr("1 is learnt\n0 0 0 0 0 1 1\n"));
  EXPECT_THAT(result.out, Not(HasSubstr("\033")));
}

TEST(DataEndToEnd, CheckAnswersInJson) {
  WriteFile("q.jsonl", kQuestions);
  WriteFile("t.txt", "some plain text\n");
  const ProcessResult result =
      RunShell("\"$horizon\" data check q.jsonl t.txt --tokenizer byte --sequence 16 --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = ParseJson("answer", result.out);
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(Integer(*json, "records"), 4);
  EXPECT_EQ(Integer(*json, "bad_lines"), 1);
  EXPECT_EQ(Integer(*json, "dropped"), 1);
  // 16 bytes and the end are one more than a row: the last sample begins with the 16th again.
  EXPECT_EQ(Integer(*json, "samples"), 4);
  EXPECT_EQ(Integer(*json, "tokens"), 14 + 16 + 2);
  EXPECT_EQ(Integer(*json, "trained_tokens"), 4 + 16);
  EXPECT_EQ(json->root.Find("files")->As<Value::Array>()->size(), 2u);
}

TEST(DataEndToEnd, ABadLineStopsWhereItIsAskedTo) {
  WriteFile("q.jsonl", kQuestions);
  const ProcessResult result =
      RunShell("\"$horizon\" data check q.jsonl --tokenizer byte --on-bad-line stop");
  EXPECT_EQ(result.exit_code, 2);
  EXPECT_THAT(result.err, HasSubstr("q.jsonl:2: response is an integer; it must be a string"));
  EXPECT_EQ(result.out, "");
}

TEST(DataEndToEnd, WhatCannotBeReadSaysWhatToDo) {
  WriteFile("a.parquet", "PAR1");
  WriteFile("q.jsonl", kQuestions);
  const auto error = [](const std::string& arguments) {
    const ProcessResult result = RunShell("\"$horizon\" data " + arguments);
    EXPECT_EQ(result.exit_code, 2) << arguments;
    return result.err;
  };
  EXPECT_THAT(error("check a.parquet --tokenizer byte"),
              HasSubstr("python3 -c \"import pandas; pandas.read_parquet('a.parquet')"));
  EXPECT_THAT(error("check none.jsonl --tokenizer byte"), HasSubstr("none.jsonl"));
  EXPECT_THAT(error("check q.jsonl"), HasSubstr("--tokenizer byte"));
  EXPECT_THAT(error("check q.jsonl --tokenizer byte --chat-format chatml"),
              HasSubstr("needs the token \"<|im_start|>\""));
  EXPECT_THAT(error("clean q.jsonl"), HasSubstr("'check' only"));
  EXPECT_THAT(error("check"), HasSubstr("name the files"));
}

// A small tokenizer with <s>, </s> and, as many have it, a chat template in its config.
void WriteModel(const std::string& folder, const std::string& config) {
  RunShell("mkdir -p " + folder +
           " && cp \"$TEST_SRCDIR/horizon/tests/model/tokenizer/goldens/chat_mistral1/"
           "tokenizer.json\" " +
           folder);
  WriteFile(folder + "/tokenizer_config.json", config);
}

constexpr char kChats[] =
    "{\"messages\": [{\"role\": \"user\", \"content\": \"x\"}, "
    "{\"role\": \"assistant\", \"content\": \"y\"}]}\n";

TEST(DataEndToEnd, AChatIsWhatTheModelsTemplateWrites) {
  WriteModel("m", R"({"bos_token": "<s>", "eos_token": "</s>", "chat_template":
      "{{ bos_token }}{% for m in messages %}{% if m.role == 'user' %}{{ '[INST] ' + m.content + ' [/INST]' }}{% else %}{{ ' ' + m.content + eos_token }}{% endif %}{% endfor %}"})");
  WriteFile("c.jsonl", kChats);
  const ProcessResult result = RunShell("\"$horizon\" data check c.jsonl --model m --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const auto json = ParseJson("answer", result.out);
  ASSERT_TRUE(json.ok()) << json.status();
  const Value* example = json->root.Find("example");
  ASSERT_NE(example, nullptr);
  const auto numbers = [&](std::string_view key) {
    std::string text;
    for (const Value& each : *example->Find(key)->As<Value::Array>()) {
      text += (text.empty() ? "" : " ") + std::to_string(*each.As<int64_t>());
    }
    return text;
  };
  EXPECT_EQ(numbers("ids"), "1 310 94 76 81 86 87 96 310 297 310 94 266 76 81 86 87 96 310 298 2");
  EXPECT_EQ(numbers("mask"), "0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 1 1 1");
  EXPECT_EQ(*example->Find("text")->As<std::string>(), "<s> [INST] x [/INST] y</s>");
}

TEST(DataEndToEnd, ATemplateOfOnesOwnItsArgumentsAndItsDateAreUsed) {
  WriteModel("m", R"({"bos_token": "<s>", "eos_token": "</s>"})");
  WriteFile("c.jsonl", kChats);
  WriteFile("own.jinja",
            "{% for m in messages %}{{ m.content }}{% endfor %} {{ mood }} "
            "{{ strftime_now('%d %b %Y') }}{{ eos_token }}");
  const auto check = [](const std::string& how) {
    return RunShell("\"$horizon\" data check c.jsonl --model m " + how);
  };
  const ProcessResult result = check(
      "--chat-template own.jinja --chat-template-args '{\"mood\": \"good\"}' "
      "--chat-date 2024-07-26");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("good 26 Jul 2024</s>"));
  const auto error = [&](const std::string& how) {
    const ProcessResult bad = check(how);
    EXPECT_EQ(bad.exit_code, 2) << how;
    return bad.err;
  };
  EXPECT_THAT(error(""), HasSubstr("no chat template"));
  EXPECT_THAT(error("--chat-template none.jinja"), HasSubstr("none.jinja"));
  EXPECT_THAT(error("--chat-template own.jinja --chat-format plain"), HasSubstr("choose one"));
  EXPECT_THAT(error("--chat-format plain --chat-date tomorrow"), HasSubstr("2024-07-26"));
  EXPECT_THAT(error("--chat-format plain --chat-template-args '[1]'"), HasSubstr("an object"));
  EXPECT_THAT(error("--chat-format plain --chat-template-args '{'"),
              HasSubstr("--chat-template-args"));
  WriteFile("bad.jinja", "{% for %}");
  EXPECT_THAT(error("--chat-template bad.jinja"), HasSubstr("bad.jinja:1: "));
}

TEST(DataEndToEnd, MissingAndCutEndsAreCounted) {
  WriteModel("m", R"({"bos_token": "<s>", "eos_token": "</s>"})");
  WriteFile("c.jsonl", kChats);
  WriteFile("own.jinja", "{% for m in messages %}{{ m.content }}{% endfor %}");
  const ProcessResult none =
      RunShell("\"$horizon\" data check c.jsonl --model m --chat-template own.jinja");
  EXPECT_THAT(none.out, HasSubstr("1 of 1 samples have no token that ends an answer"));
  const ProcessResult cut =
      RunShell("\"$horizon\" data check c.jsonl --model m --chat-format plain --sequence 4");
  EXPECT_THAT(cut.out, HasSubstr("1 cut before the token that ends their last answer")) << cut.out;
}

TEST(DataEndToEnd, PromptsAndCompletionsNeedNoTemplate) {
  WriteFile("p.jsonl", "{\"prompt\": \"1+1=\", \"completion\": \"2\"}\n");
  const ProcessResult joined = RunShell("\"$horizon\" data check p.jsonl --tokenizer byte");
  EXPECT_THAT(joined.out, HasSubstr("p.jsonl: prompt-completion\n"));
  EXPECT_THAT(joined.out, HasSubstr("[[1+1=]]2<|end|>\n"));
  const ProcessResult asked =
      RunShell("\"$horizon\" data check p.jsonl --tokenizer byte --data-kind qa");
  EXPECT_THAT(asked.out, HasSubstr("[[1+1=\n]]2<|end|>\n"));
}

TEST(DataEndToEnd, TokensNeedNoTokenizer) {
  WriteFile("i.jsonl", "{\"input_ids\": [1, 2, 3], \"labels\": [-100, 2, 3]}\n");
  const ProcessResult result = RunShell("\"$horizon\" data check i.jsonl");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("[[1]]2 3\n"));
}

}  // namespace
}  // namespace horizon

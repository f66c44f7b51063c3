// `horizon data check` as a person or a script runs it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/document.h"
#include "common/json.h"
#include "tests/app/run_program.h"

namespace horizon {
namespace {

using testing::HasSubstr;
using testing::Not;

constexpr char kQuestions[] =
    "{\"query\": \"1+1?\", \"response\": \"2\"}\n"
    "{\"query\": \"2+2?\", \"response\": \"\"}\n"
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
  // "1+1?\n2" and its end are 7 tokens, 2 of them learnt.
  EXPECT_THAT(result.out, HasSubstr("tokens     14, 4 of them learnt (28.6 %)"));
  EXPECT_THAT(result.out, HasSubstr("lengths    shortest 7, median 7, 95 % 37, longest 37"));
  EXPECT_THAT(result.out, HasSubstr("packed     1 rows, 87.5 % full"));
  EXPECT_THAT(result.out, HasSubstr("padded     2 rows, 43.8 % full"));
  EXPECT_THAT(result.out, HasSubstr("        0 to        15  ####"));
  EXPECT_THAT(result.out, HasSubstr("q.jsonl:2: turn 2, the assistant's, has no words"));
  EXPECT_THAT(result.out, HasSubstr("what stands in [[ ]] is not learnt\n[[1+1?\n]]2<|end|>\n"));
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
  EXPECT_THAT(result.err, HasSubstr("q.jsonl:2: turn 2, the assistant's, has no words"));
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

TEST(DataEndToEnd, TokensNeedNoTokenizer) {
  WriteFile("i.jsonl", "{\"input_ids\": [1, 2, 3], \"labels\": [-100, 2, 3]}\n");
  const ProcessResult result = RunShell("\"$horizon\" data check i.jsonl");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("[[1]]2 3\n"));
}

}  // namespace
}  // namespace horizon

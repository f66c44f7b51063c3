// `horizon generate` and `horizon eval` as a person runs them, on a golden model with bytes as
// tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string Model(const std::string& family) {
  return StrCat("--model \"$TEST_SRCDIR/horizon/tests/goldens/", family, "\" --tokenizer byte ");
}

std::string Generate(const std::string& more, const std::string& family = "llama") {
  return StrCat("\"$horizon\" generate ", Model(family), "--threads 2 ", more);
}

std::string Eval(const std::string& more) {
  return StrCat("\"$horizon\" eval ", Model("llama"), "--threads 2 ", more);
}

Document Parsed(const ProcessResult& result) {
  EXPECT_EQ(result.exit_code, 0) << result.err;
  absl::StatusOr<Document> document = ParseJson("answer", result.out);
  EXPECT_TRUE(document.ok()) << document.status() << result.out;
  return document.ok() ? *std::move(document) : Document{};
}

std::vector<int64_t> Ids(const Document& answer, std::string_view key) {
  std::vector<int64_t> ids;
  const Value* list = answer.root.Find(key);
  if (list == nullptr) return ids;
  for (const Value& id : *list->As<Value::Array>()) ids.push_back(*id.As<int64_t>());
  return ids;
}

std::string Text(const Value& object, std::string_view key) {
  const Value* value = object.Find(key);
  return value == nullptr ? "" : *value->As<std::string>();
}

double Number(const Value& object, std::string_view key) {
  const Value* value = object.Find(key);
  if (value == nullptr) return NAN;
  if (const int64_t* integer = value->As<int64_t>()) return static_cast<double>(*integer);
  return *value->As<double>();
}

TEST(GenerateCommand, WritesTheTextAsItComesAndFiguresToTheLog) {
  const std::string how = "--prompt 'Once upon' --max-tokens 30 --temperature 0 ";
  const Document answer = Parsed(RunShell(Generate(how + "--json")));
  EXPECT_EQ(Ids(answer, "prompt_ids"),
            (std::vector<int64_t>{'O', 'n', 'c', 'e', ' ', 'u', 'p', 'o', 'n'}));
  EXPECT_EQ(Text(answer.root, "finish"), "max_tokens");
  EXPECT_EQ(Ids(answer, "ids").size(), 30u);
  const ProcessResult plain = RunShell(Generate(how));
  EXPECT_EQ(plain.exit_code, 0);
  EXPECT_EQ(plain.out, Text(answer.root, "text") + "\n");
  EXPECT_THAT(plain.err, AllOf(HasSubstr("30 tokens (max_tokens); prompt of 9 tokens in"),
                               HasSubstr("tokens/s"), HasSubstr("all weights stay on the device")));
  WriteFile("prompt.txt", "Once upon");
  const Document from_file =
      Parsed(RunShell(Generate("--prompt-file prompt.txt --max-tokens 30 --temperature 0 --json")));
  EXPECT_EQ(Ids(from_file, "ids"), Ids(answer, "ids"));
}

// The model has 100,000 parameters or so: 400 KB.
TEST(GenerateCommand, StreamsWhatDoesNotFitAndGivesTheSameText) {
  for (const std::string family : {"llama", "qwen3"}) {
    const std::string how = "--prompt hello --max-tokens 20 --temperature 1.5 --seed 7 --json ";
    const ProcessResult all = RunShell(Generate(how, family));
    const ProcessResult ring = RunShell(Generate(how + "--device-memory 4.8MB", family));
    EXPECT_THAT(ring.err, HasSubstr("weights stream through 2 slots"));
    EXPECT_EQ(Ids(Parsed(all), "ids"), Ids(Parsed(ring), "ids"));
    const ProcessResult none = RunShell(Generate(how + "--device-memory 1MB", family));
    EXPECT_EQ(none.exit_code, 3);
    EXPECT_THAT(none.err, AllOf(HasSubstr("takes at least"), HasSubstr("1,000,000")));
  }
}

TEST(GenerateCommand, ASeedDecidesTheText) {
  const auto ids = [](const std::string& how) {
    return Ids(Parsed(RunShell(StrCat("\"$horizon\" generate ", Model("llama"),
                                      "--prompt x --max-tokens 25 --json ", how))),
               "ids");
  };
  const std::vector<int64_t> one = ids("--temperature 2 --seed 1 --threads 2");
  EXPECT_EQ(ids("--temperature 2 --seed 1 --threads 1 --link 1GB/s"), one);
  EXPECT_NE(ids("--temperature 2 --seed 2"), one);
  EXPECT_EQ(ids("--temperature 2 --seed 3 --top-k 1"), ids("--temperature 0 --seed 4"));
}

TEST(GenerateCommand, ChatWritesTheConversationDown) {
  const Document answer = Parsed(
      RunShell(Generate("--chat --system S --prompt Q --max-tokens 3 --chat-format plain --json")));
  const std::vector<int64_t> ids = Ids(answer, "prompt_ids");
  const std::string prompt(ids.begin(), ids.end());
  EXPECT_THAT(prompt, AllOf(HasSubstr("S"), testing::EndsWith("Q\n")));
}

TEST(GenerateCommand, MisuseIsRefusedBeforeAnyWeightIsRead) {
  const auto expect = [](const std::string& command, int exit_code, const char* words) {
    const ProcessResult result = RunShell(command);
    EXPECT_EQ(result.exit_code, exit_code) << command << result.err;
    EXPECT_THAT(result.err, HasSubstr(words)) << command;
    EXPECT_EQ(result.out, "");
  };
  expect(Generate(""), 2, "--prompt");
  expect(Generate("--prompt a --prompt-file b"), 2, "one of --prompt and --prompt-file");
  expect(Generate("--prompt ''"), 2, "no tokens");
  expect(Generate("--prompt a --system b"), 2, "--chat");
  expect(Generate("--prompt a --temperature -1"), 2, "temperature");
  expect(Generate("--prompt a --top-p 0"), 2, "top_p");
  expect(Generate("--prompt a --max-tokens 0"), 2, "max-tokens");
  expect(Generate("--prompt-file missing"), 2, "missing");
  expect("\"$horizon\" generate --model missing --prompt a", 2, "missing");
  expect("\"$horizon\" generate --model \"$TEST_SRCDIR/horizon/tests/goldens/llama\" --prompt a", 2,
         "tokenizer.json");
  expect(Generate("--prompt \"$(head -c 300 /dev/zero | tr '\\0' a)\""), 2, "positions");
}

// The signal arrives when the text has begun.
TEST(GenerateCommand, ASignalEndsTheTextCleanly) {
  const ProcessResult result =
      RunShell(StrCat("mkfifo -m 600 pipe; ",
                      Generate("--prompt a --max-tokens 240 --temperature 1 --link 20MB/s "
                               "--device-memory 4.8MB"),
                      " >pipe & pid=$!\nexec 3<pipe\nhead -c 1 <&3 >/dev/null\nkill -TERM $pid\n"
                      "cat <&3 >rest\nwait $pid; echo ended $?\n"));
  EXPECT_THAT(result.out, HasSubstr("ended 0")) << result.err;
}

TEST(EvalCommand, GivesLossAndPerplexity) {
  WriteFile("text.jsonl",
            "{\"text\": \"The quick brown fox jumps over the lazy dog.\"}\n"
            "{\"text\": \"Pack my box with five dozen liquor jugs.\"}\n");
  const Document packed = Parsed(RunShell(Eval("--data text.jsonl --sequence 200 --json")));
  const double loss = Number(packed.root, "loss");
  // A model that was never trained, of 320 tokens.
  EXPECT_NEAR(loss, std::log(320.0), 1);
  EXPECT_NEAR(Number(packed.root, "perplexity"), std::exp(loss), 1e-6 * std::exp(loss));
  EXPECT_EQ(Number(packed.root, "samples"), 2);
  // 44 and 40 bytes with their ends: as many predictions as bytes.
  EXPECT_EQ(Number(packed.root, "tokens"), 84);
  // Alone in rows, in batches, streamed: the same but for the order of fp32 sums.
  for (const char* how :
       {"--sequence 200 --packing false", "--sequence 200 --packing false --micro-batch 3",
        "--sequence 200 --device-memory 5.5MB", "--sequence 64 --micro-batch 2"}) {
    const Document other = Parsed(RunShell(Eval(StrCat("--data text.jsonl --json ", how))));
    EXPECT_NEAR(Number(other.root, "loss"), loss, 1e-5) << how;
  }
  const ProcessResult plain = RunShell(Eval("--data text.jsonl --sequence 200"));
  EXPECT_THAT(plain.out, AllOf(HasSubstr("loss "), HasSubstr("perplexity"),
                               HasSubstr("over 84 tokens of 2 samples")));
}

TEST(EvalCommand, CountsRightAnswers) {
  const std::string how = "--max-tokens 12 --json ";
  // What the model says, made the expected answer of one of three questions.
  const Document said =
      Parsed(RunShell(Generate("--chat --prompt 'What?' --temperature 0 " + how)));
  JsonWriter right;
  right.BeginObject().Key("question").String("What?").Key("answer");
  right.String(Text(said.root, "text")).EndObject();
  std::string line = std::move(right).Finish();
  while (!line.empty() && line.back() == '\n') line.pop_back();
  for (char& c : line) {
    if (c == '\n') c = ' ';
  }
  WriteFile("qa.jsonl", line + "\n{\"question\": \"A?\", \"answer\": \"it is 42\"}\n" +
                            "{\"question\": \"B?\", \"answer\": \"words\"}\n");
  for (const char* batch : {"--batch 1", "--batch 2", "--batch 64"}) {
    const Document found = Parsed(RunShell(
        Eval(StrCat("--data qa.jsonl --sequence 64 --exact-match --show 5 ", batch, " ", how))));
    const Value* matches = found.root.Find("exact_match");
    ASSERT_NE(matches, nullptr);
    EXPECT_EQ(Number(*matches, "questions"), 3);
    EXPECT_EQ(Number(*matches, "same_text"), 1);
    EXPECT_GE(Number(*matches, "numbers"), 1);
    EXPECT_EQ(matches->Find("wrong")->As<Value::Array>()->size(), 2u);
  }
  const Document limited =
      Parsed(RunShell(Eval("--data qa.jsonl --sequence 64 --exact-match --limit 1 " + how)));
  EXPECT_EQ(Number(*limited.root.Find("exact_match"), "questions"), 1);
  const ProcessResult plain =
      RunShell(Eval("--data qa.jsonl --sequence 64 --exact-match --show 1 --max-tokens 12"));
  EXPECT_THAT(plain.out, AllOf(HasSubstr("exact match 33.3 %: 1 of 3"), HasSubstr("expected  ")));

  WriteFile("text.jsonl", "{\"text\": \"no question\"}\n");
  const ProcessResult refused = RunShell(Eval("--data text.jsonl --sequence 64 --exact-match"));
  EXPECT_EQ(refused.exit_code, 2);
  EXPECT_THAT(refused.err, AllOf(HasSubstr("text.jsonl:1"), HasSubstr("conversations")));
}

}  // namespace
}  // namespace horizon

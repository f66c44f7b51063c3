// horizon tokenize as a process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/documents/json.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

// Letters and a space; "ab" and " a" are tokens of their own, and so is "<s>". "ab ab" is ab,
// space, ab: of the merges the first counts first.
constexpr char kTokenizer[] = R"({
  "added_tokens": [{"id": 9, "content": "<s>", "special": true}],
  "pre_tokenizer": null, "decoder": {"type": "Fuse"},
  "model": {"type": "BPE", "vocab": {"a": 0, "b": 1, " ": 2, "\n": 3, "ab": 4, " a": 5},
            "merges": ["a b", [" ", "a"]]}})";

void WriteModel() {
  RunShell("mkdir -p model");
  WriteFile("model/tokenizer.json", kTokenizer);
}

Document ParseAnswer(const std::string& text) {
  absl::StatusOr<Document> document = ParseJson("answer", text);
  EXPECT_TRUE(document.ok()) << document.status() << "\n" << text;
  return document.ok() ? *std::move(document) : Document{};
}

int64_t IntegerAt(const Document& document, std::string_view key) {
  const Value* value = document.root.Find(key);
  const int64_t* number = value == nullptr ? nullptr : value->As<int64_t>();
  EXPECT_NE(number, nullptr) << key;
  return number == nullptr ? -1 : *number;
}

TEST(Tokenize, CountsTheTokensOfAFile) {
  WriteModel();
  WriteFile("text", "ab ab<s>b\n");
  const ProcessResult text = RunShell("\"$horizon\" tokenize --model model text");
  EXPECT_EQ(text.exit_code, 0) << text.err;
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("text: 6 tokens"), HasSubstr("10 bytes"), HasSubstr("2 words"),
                    HasSubstr("1 lines"), HasSubstr("5 different tokens"), HasSubstr("MB/s")));
  EXPECT_THAT(text.out, AllOf(HasSubstr("ids   4 2 4 9 1 3"), HasSubstr("|ab| |ab|<s>|b|\\n|")));
}

TEST(Tokenize, AnswersInJson) {
  WriteModel();
  WriteFile("text", "ab ab");
  const ProcessResult result =
      RunShell("\"$horizon\" tokenize --model model text --json --sample 2");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const Document answer = ParseAnswer(result.out);
  EXPECT_EQ(IntegerAt(answer, "tokens"), 3);
  EXPECT_EQ(IntegerAt(answer, "bytes"), 5);
  EXPECT_EQ(IntegerAt(answer, "characters"), 5);
  EXPECT_EQ(IntegerAt(answer, "words"), 2);
  EXPECT_EQ(IntegerAt(answer, "lines"), 0);
  EXPECT_EQ(IntegerAt(answer, "distinct_tokens"), 2);
  EXPECT_EQ(IntegerAt(answer, "vocabulary"), 10);
  const Value* sample = answer.root.Find("sample");
  ASSERT_NE(sample, nullptr);
  EXPECT_EQ(sample->As<Value::Array>()->size(), 2);
}

TEST(Tokenize, WritesAllIdsOnALine) {
  WriteModel();
  WriteFile("text", "ab ab<s>b\nab\n");
  const ProcessResult line = RunShell("\"$horizon\" tokenize --model model text --ids --sample 0");
  EXPECT_EQ(line.exit_code, 0) << line.err;
  EXPECT_EQ(line.out, "4 2 4 9 1 3 4 3\n");
  const ProcessResult array = RunShell("\"$horizon\" tokenize --model model text --ids --json");
  EXPECT_EQ(array.exit_code, 0) << array.err;
  EXPECT_EQ(array.out, "[4,2,4,9,1,3,4,3]\n");
  WriteFile("empty", "");
  EXPECT_EQ(RunShell("\"$horizon\" tokenize --model model empty --ids").out, "\n");
  EXPECT_EQ(RunShell("\"$horizon\" tokenize --model model empty --ids --json").out, "[]\n");
}

// Several pieces of a megabyte, with no break of the line between them.
TEST(Tokenize, WritesTheIdsOfLargeFilesPieceByPiece) {
  const ProcessResult result = RunShell(
      "yes 'a line' | head -c 3500007 > large; \"$horizon\" tokenize --tokenizer byte large --ids "
      "> "
      "ids; wc -l < ids; wc -w < ids; tr ' ' '\\n' < ids | awk '{printf \"%c\", $1}' | cmp - large "
      "&& echo same; \"$horizon\" tokenize --tokenizer byte large --ids --json > array; "
      "tr ' ' ',' < ids | sed 's/.*/[&]/' | cmp - array && echo equal");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out, "1\n3500007\nsame\nequal\n") << result.err;
}

TEST(Tokenize, FailsWhenTheIdsCannotBeWritten) {
  WriteModel();
  WriteFile("text", "ab");
  const ProcessResult result =
      RunShell("\"$horizon\" tokenize --model model text --ids > /dev/full");
  EXPECT_NE(result.exit_code, 0);
  EXPECT_THAT(result.err, StartsWith("error: "));
}

TEST(Tokenize, TakesBytesWithoutAModelAndFilesOfAnySizeAndContent) {
  WriteFile("empty", "");
  EXPECT_THAT(RunShell("\"$horizon\" tokenize --tokenizer byte empty").out,
              StartsWith("empty: 0 tokens"));
  WriteFile("broken", "\xFF\xFE caf\xC3");
  const ProcessResult broken = RunShell("\"$horizon\" tokenize --tokenizer byte broken --json");
  EXPECT_EQ(broken.exit_code, 0) << broken.err;
  EXPECT_EQ(IntegerAt(ParseAnswer(broken.out), "tokens"), 7);
  // Several pieces, with and without lines.
  const ProcessResult large = RunShell(
      "head -c 5000000 /dev/zero | tr '\\0' a > large; yes 'a line of text' | head -c 5000000 >> "
      "large; \"$horizon\" tokenize --tokenizer byte large --json");
  EXPECT_EQ(large.exit_code, 0) << large.err;
  EXPECT_EQ(IntegerAt(ParseAnswer(large.out), "tokens"), 10'000'000);
}

TEST(Tokenize, SaysWhatIsMissing) {
  WriteModel();
  WriteFile("text", "a");
  const auto expect = [](const std::string& arguments, int code, const std::string& message) {
    const ProcessResult result = RunShell("\"$horizon\" tokenize " + arguments);
    EXPECT_EQ(result.exit_code, code) << arguments;
    EXPECT_EQ(result.out, "");
    EXPECT_THAT(result.err, AllOf(StartsWith("error: "), HasSubstr(message))) << arguments;
  };
  expect("text", 2, "--tokenizer byte");
  expect("--model nowhere text", 2, "there is no tokenizer.json");
  expect("--model model nofile", 2, "nofile");
  expect("--model model model", 2, "model");
  expect("--model model", 2, "FILE");
  expect("--tokenizer words text", 2, "words");
  RunShell("mkdir -p other");
  WriteFile("other/tokenizer.json", R"({"model": {"type": "WordPiece", "vocab": {}}})");
  expect("--model other text", 2, "WordPiece");
}

}  // namespace
}  // namespace horizon

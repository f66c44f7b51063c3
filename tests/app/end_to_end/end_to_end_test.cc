// The real program as a process: what it prints where, and how it ends.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <sstream>
#include <string>

#include "common/documents/json.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

// A small model of the qwen2 family.
constexpr char kConfig[] = R"({
  "model_type": "qwen2",
  "hidden_size": 64, "intermediate_size": 128, "num_hidden_layers": 4,
  "num_attention_heads": 4, "num_key_value_heads": 2, "vocab_size": 512,
  "max_position_embeddings": 256, "tie_word_embeddings": true
})";

Document ParseAnswer(const std::string& text) {
  absl::StatusOr<Document> document = ParseJson("answer", text);
  EXPECT_TRUE(document.ok()) << document.status() << "\n" << text;
  return document.ok() ? *std::move(document) : Document{};
}

int64_t IntegerAt(const Value& object, std::string_view key) {
  const Value* value = object.Find(key);
  const int64_t* number = value == nullptr ? nullptr : value->As<int64_t>();
  EXPECT_NE(number, nullptr) << key;
  return number == nullptr ? -1 : *number;
}

void ExpectMisuse(const std::string& command, const std::string& message) {
  const ProcessResult result = RunShell(command);
  EXPECT_EQ(result.exit_code, 2) << command;
  EXPECT_EQ(result.out, "") << command;
  EXPECT_THAT(result.err, AllOf(StartsWith("error: "), HasSubstr(message))) << command;
}

TEST(Horizon, ExplainsItself) {
  const ProcessResult alone = RunShell("\"$horizon\"");
  EXPECT_EQ(alone.exit_code, 0);
  EXPECT_EQ(alone.err, "");
  EXPECT_THAT(alone.out, HasSubstr("\nPlan:\n  plan "));
  EXPECT_EQ(RunShell("\"$horizon\" help").out, alone.out);
  EXPECT_EQ(RunShell("\"$horizon\" --help").out, alone.out);
  const ProcessResult model = RunShell("\"$horizon\" help model");
  EXPECT_EQ(model.exit_code, 0);
  EXPECT_THAT(
      model.out,
      HasSubstr("  --batch SEQUENCES  Sequences that go through the model at once (default 1)\n"));
  EXPECT_EQ(RunShell("\"$horizon\" model --help").out, model.out);
  EXPECT_EQ(RunShell("\"$horizon\" model -h").out, model.out);
  EXPECT_EQ(RunShell("\"$horizon\" -h model").out, model.out);
}

TEST(Horizon, FitsItsHelpToTheColumnsThatTheEnvironmentNames) {
  const auto longest = [](const std::string& text) {
    size_t most = 0;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) most = std::max(most, line.size());
    return most;
  };
  const std::string help = "\"$horizon\" help train";
  const std::string usual = RunShell(help).out;
  EXPECT_LE(longest(usual), 80U);
  EXPECT_EQ(RunShell("COLUMNS=80 " + help).out, usual);
  const size_t wide = longest(RunShell("COLUMNS=100 " + help).out);
  EXPECT_LE(wide, 100U);
  EXPECT_GT(wide, 80U);
  for (const char* bad : {"0", "-5", "wide", ""}) {
    EXPECT_EQ(RunShell("COLUMNS=" + std::string(bad) + " " + help).out, usual) << bad;
  }
}

TEST(Horizon, TellsItsVersion) {
  const ProcessResult version = RunShell("\"$horizon\" --version");
  EXPECT_EQ(version.exit_code, 0);
  EXPECT_EQ(RunShell("\"$horizon\" version").out, version.out);
  const Document json = ParseAnswer(RunShell("\"$horizon\" version --json").out);
  const Value* number = json.root.Find("version");
  ASSERT_NE(number, nullptr);
  EXPECT_EQ(version.out, "horizon " + *number->As<std::string>() + "\n");
}

TEST(Horizon, ShowsAModelOfTheCatalog) {
  const ProcessResult text = RunShell("\"$horizon\" model qwen2.5-7b");
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_EQ(text.err, "");
  EXPECT_THAT(text.out, HasSubstr("7,615,616,512"));
  const ProcessResult json = RunShell("\"$horizon\" model Qwen2.5-7B --json --batch 2");
  EXPECT_EQ(json.exit_code, 0);
  const Document answer = ParseAnswer(json.out);
  EXPECT_EQ(IntegerAt(answer.root, "parameters"), 7'615'616'512);
  EXPECT_EQ(IntegerAt(answer.root, "layers"), 28);
  EXPECT_EQ(IntegerAt(answer.root, "batch"), 2);
}

TEST(Horizon, ShowsAModelFromItsFolderOrItsFile) {
  WriteFile("small/config.json", kConfig);
  const ProcessResult folder = RunShell("\"$horizon\" model ./small --json");
  EXPECT_EQ(folder.exit_code, 0) << folder.err;
  const Document answer = ParseAnswer(folder.out);
  EXPECT_EQ(IntegerAt(answer.root, "layers"), 4);
  EXPECT_EQ(IntegerAt(answer.root, "hidden"), 64);
  // The model was made for less than the usual length.
  EXPECT_EQ(IntegerAt(answer.root, "sequence"), 256);
  EXPECT_EQ(RunShell("\"$horizon\" model small/config.json --json").out, folder.out);
  EXPECT_EQ(RunShell("\"$horizon\" model --json -- small").out, folder.out);
}

TEST(Horizon, ListsTheCatalog) {
  const ProcessResult text = RunShell("\"$horizon\" models");
  EXPECT_EQ(text.exit_code, 0);
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("qwen2.5-0.5b"), HasSubstr("494,032,768"), HasSubstr("mixtral-8x7b"),
                    HasSubstr("46,702,792,704"), Not(HasSubstr("Models that do not train"))));
  const Document answer = ParseAnswer(RunShell("\"$horizon\" models --json").out);
  const Value* models = answer.root.Find("models");
  ASSERT_NE(models, nullptr);
  ASSERT_NE(models->As<Value::Array>(), nullptr);
  EXPECT_GE(models->As<Value::Array>()->size(), 18U);
  for (const Value& model : *models->As<Value::Array>()) {
    EXPECT_GT(IntegerAt(model, "parameters"), 0);
    EXPECT_LE(IntegerAt(model, "active_parameters"), IntegerAt(model, "parameters"));
  }
}

TEST(Horizon, MisuseGetsASuggestionAndTwo) {
  ExpectMisuse("\"$horizon\" modle qwen2.5-7b", "unknown command 'modle'; did you mean 'model'?");
  ExpectMisuse("\"$horizon\" help modle", "unknown command 'modle'; did you mean 'model'?");
  ExpectMisuse("\"$horizon\" model qwen2.5-7b --bacth 2", "did you mean '--batch'?");
  ExpectMisuse("\"$horizon\" --log-levle debug models", "did you mean '--log-level'?");
  ExpectMisuse("\"$horizon\" --log-level debgu models", "did you mean 'debug'?");
  ExpectMisuse("\"$horizon\" model qwen2.5-7bb", "qwen2.5-7b");
  ExpectMisuse("\"$horizon\" model", "PATH_OR_NAME is missing");
  ExpectMisuse("\"$horizon\" model a b", "one argument too many: 'b'");
  ExpectMisuse("\"$horizon\" models extra", "one argument too many: 'extra'");
  ExpectMisuse("\"$horizon\" model qwen2.5-7b --batch 0", "is not a whole number of ");
  ExpectMisuse("\"$horizon\" model qwen2.5-7b --batch 9223372036854775807 --sequence 2", "tokens");
  ExpectMisuse("\"$horizon\" model qwen2.5-7b --sequence 1e3", "--sequence");
}

TEST(Horizon, BadConfigurationsAreNamedAndTwo) {
  ExpectMisuse("\"$horizon\" model ./no/such/folder", "no/such/folder");
  ExpectMisuse("mkdir -p empty; \"$horizon\" model ./empty", "config.json");
  ExpectMisuse("\"$horizon\" model ''", "");
  WriteFile("broken.json", "{\"model_type\": \"qwen2\",\n  \"hidden_size\": 64,,\n}");
  ExpectMisuse("\"$horizon\" model broken.json", "broken.json:2");
  WriteFile("cut.json", std::string(kConfig).substr(0, 60));
  ExpectMisuse("\"$horizon\" model cut.json", "cut.json");
  WriteFile("nothing.json", "");
  ExpectMisuse("\"$horizon\" model nothing.json", "nothing.json");
  WriteFile("unknown.json", "{\"model_type\": \"rnn\"}");
  ExpectMisuse("\"$horizon\" model unknown.json", "rnn");
  WriteFile("typed.json", "{\"model_type\": \"qwen2\", \"hidden_size\": \"wide\"}");
  ExpectMisuse("\"$horizon\" model typed.json", "hidden_size");
  WriteFile("deep.json", std::string(100'000, '['));
  ExpectMisuse("\"$horizon\" model deep.json", "deep.json");
  WriteFile("binary.json", std::string("\x7f"
                                       "ELF\0\xff\xfe",
                                       7));
  ExpectMisuse("\"$horizon\" model binary.json", "binary.json");
  ExpectMisuse("truncate -s 17M huge.json; \"$horizon\" model huge.json", "huge.json");
  ExpectMisuse("mkfifo pipe.json 2>/dev/null; \"$horizon\" model pipe.json", "pipe.json");
  ExpectMisuse("\"$horizon\" model /dev/zero", "/dev/zero");
}

TEST(Horizon, AnAnswerThatCannotBeWrittenIsSix) {
  for (const char* command :
       {"\"$horizon\" models >/dev/full", "\"$horizon\" models --json >/dev/full",
        "\"$horizon\" help >/dev/full", "\"$horizon\" --version >/dev/full",
        "\"$horizon\" model qwen2.5-7b >/dev/full", "\"$horizon\" models >&-",
        "\"$horizon\" models >&- <&-"}) {
    const ProcessResult result = RunShell(command);
    EXPECT_EQ(result.exit_code, 6) << command;
    EXPECT_THAT(result.err, StartsWith("error: cannot write the answer to standard output"))
        << command;
  }
}

TEST(Horizon, AClosedErrorStreamChangesNothing) {
  const ProcessResult good = RunShell("\"$horizon\" --version 2>&-");
  EXPECT_EQ(good.exit_code, 0);
  EXPECT_THAT(good.out, StartsWith("horizon "));
  EXPECT_EQ(RunShell("\"$horizon\" modle 2>&-").exit_code, 2);
  EXPECT_EQ(RunShell("\"$horizon\" modle 2>/dev/full").exit_code, 2);
}

TEST(Horizon, AReaderThatStopsEarlyHearsNothing) {
  // Descriptor 4 writes to a pipe whose only reader, descriptor 3, is gone.
  const std::string pipe =
      "rm -f pipe; mkfifo pipe; exec 3<>pipe 4>pipe 3<&-; \"$horizon\" models >&4";
  for (const std::string ignore : {"", "trap '' PIPE; "}) {
    const ProcessResult result = RunShell(ignore + pipe + "; exit $?");
    EXPECT_EQ(result.exit_code, 6);  // an answer that did not arrive, and no signal
    EXPECT_EQ(result.err, "");
  }
  const ProcessResult head = RunShell("\"$horizon\" models | head -1");
  EXPECT_EQ(head.err, "");
  EXPECT_THAT(head.out, StartsWith("model "));
}

TEST(Horizon, WritesNoColourToAFile) {
  const ProcessResult result = RunShell("\"$horizon\" modle");
  EXPECT_THAT(result.err, Not(HasSubstr("\x1b")));
}

TEST(Horizon, ColoursATerminalUnlessToldNotTo) {
  // `script` gives the program a terminal.
  const ProcessResult colour = RunShell("TERM=xterm script -qec \"'$horizon' modle\" /dev/null");
  EXPECT_THAT(colour.out, HasSubstr("error:\x1b[0m "));
  const ProcessResult plain = RunShell("NO_COLOR=1 script -qec \"'$horizon' modle\" /dev/null");
  EXPECT_THAT(plain.out, HasSubstr("did you mean"));
  EXPECT_THAT(plain.out, HasSubstr("error: "));
}

}  // namespace
}  // namespace horizon

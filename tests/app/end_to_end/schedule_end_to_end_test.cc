// `horizon schedule` and `horizon weights` as a person runs them, with good files and bad ones.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <string>

#include "common/documents/json.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

void ExpectError(const std::string& command, int exit_code, const std::string& message) {
  const ProcessResult result = RunShell(command);
  EXPECT_EQ(result.exit_code, exit_code) << command << "\n" << result.err;
  EXPECT_EQ(result.out, "") << command;
  EXPECT_THAT(result.err, AllOf(StartsWith("error: "), HasSubstr(message))) << command;
}

const Value* At(const Value& root, std::initializer_list<std::string_view> path) {
  const Value* value = &root;
  for (const std::string_view key : path) value = value == nullptr ? nullptr : value->Find(key);
  return value;
}

int64_t IntegerAt(const Value& root, std::initializer_list<std::string_view> path) {
  const Value* value = At(root, path);
  const int64_t* number = value == nullptr ? nullptr : value->As<int64_t>();
  EXPECT_NE(number, nullptr);
  return number == nullptr ? -1 : *number;
}

TEST(ScheduleCommand, DrawsLanesAndTellsTheMemory) {
  const ProcessResult result = RunShell("\"$horizon\" schedule --model qwen2.5-0.5b");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  EXPECT_THAT(result.out, AllOf(HasSubstr("494,032,768 parameters"), HasSubstr("verified"),
                                HasSubstr("\ncompute "), HasSubstr("\noptimizer "),
                                HasSubstr("ring_slot"), HasSubstr("pinned")));
}

TEST(ScheduleCommand, AnswersInJsonWithTheFilesItIsGiven) {
  WriteFile("plan.json", R"({"buffer_depth": 3, "chunk_bytes": "64 MiB", "anchor_interval": 2})");
  WriteFile("job.yaml", "sequence: 256\naccumulation: 2\nmicro_batch: 4\n");
  const ProcessResult result =
      RunShell("\"$horizon\" schedule --model qwen2.5-0.5b --plan plan.json --job job.yaml --json");
  ASSERT_EQ(result.exit_code, 0) << result.err;
  const absl::StatusOr<Document> answer = ParseJson("answer", result.out);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_EQ(IntegerAt(answer->root, {"parameters"}), 494032768);
  EXPECT_EQ(IntegerAt(answer->root, {"memory", "device", "buffers", "ring_slot", "count"}), 3);
  EXPECT_GT(IntegerAt(answer->root, {"memory", "pinned", "bytes"}), 0);
  EXPECT_GT(IntegerAt(answer->root, {"crossings", "layers", "loads"}), 0);
  EXPECT_GT(IntegerAt(answer->root, {"operations", "steady"}),
            IntegerAt(answer->root, {"operations", "first"}));
}

TEST(ScheduleCommand, EveryPassHasASchedule) {
  for (const std::string pass : {"train", "evaluate", "prefill", "decode"}) {
    const ProcessResult result =
        RunShell("\"$horizon\" schedule --model qwen2.5-0.5b --json --pass " + pass);
    EXPECT_EQ(result.exit_code, 0) << pass << ": " << result.err;
    EXPECT_THAT(result.out, HasSubstr("\"pass\": \"" + pass + "\""));
  }
}

TEST(ScheduleCommand, WritesATraceAndLeavesNothingElse) {
  const ProcessResult result = RunShell(
      "rm -rf t && mkdir t && \"$horizon\" schedule --model qwen2.5-0.5b --trace t/trace.json "
      ">/dev/null && ls t && head -c 100 t/trace.json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, StartsWith("trace.json\n{\"displayTimeUnit\""));
}

TEST(ScheduleCommand, RefusesBadFilesWithFileLineAndField) {
  WriteFile("unknown.json", "{\n  \"version\": 1,\n  \"bufer_depth\": 3\n}");
  ExpectError("\"$horizon\" schedule --model qwen2.5-0.5b --plan unknown.json", 2,
              "unknown.json:3: unknown key \"bufer_depth\"; did you mean 'buffer_depth'?");
  WriteFile("type.json", "{\"buffer_depth\": \"two\"}");
  ExpectError("\"$horizon\" schedule --model qwen2.5-0.5b --plan type.json", 2,
              "type.json:1: buffer_depth: ");
  WriteFile("zero.json", "{\"gradient_slabs\": 0}");
  ExpectError("\"$horizon\" schedule --model qwen2.5-0.5b --plan zero.json", 2, "gradient_slabs");
  WriteFile("cut.json", "{\"buffer_depth\": 2");
  ExpectError("\"$horizon\" schedule --model qwen2.5-0.5b --plan cut.json", 2, "cut.json:1");
  ExpectError(
      "head -c 200000 /dev/zero | tr '\\0' '[' > deep.json; "
      "\"$horizon\" schedule --model qwen2.5-0.5b --plan deep.json",
      2, "deep.json:1");
  ExpectError(
      "truncate -s 20M huge.json; \"$horizon\" schedule --model qwen2.5-0.5b --plan huge.json", 2,
      "huge.json");
  ExpectError("\"$horizon\" schedule --model qwen2.5-0.5b --plan none.json", 2, "none.json");
  WriteFile("alias.yaml", "a: &x 1\nb: *x\n");
  ExpectError("\"$horizon\" schedule --model qwen2.5-0.5b --job alias.yaml", 2, "alias.yaml:1");
}

TEST(ScheduleCommand, RefusesWhatDoesNotGoTogether) {
  WriteFile("other.json", "{\"model\": \"qwen2.5-7b\"}");
  ExpectError("\"$horizon\" schedule --model qwen2.5-0.5b --plan other.json", 2,
              "the plan is for model 'qwen2.5-7b', not for 'qwen2.5-0.5b'");
  WriteFile("long.yaml", "sequence: 200000\n");
  ExpectError("\"$horizon\" schedule --model qwen2.5-0.5b --job long.yaml", 2,
              "sequence 200000 is longer than the");
  WriteFile("clip.yaml", "optimizer_place: in_backward\n");
  ExpectError("\"$horizon\" schedule --model qwen2.5-0.5b --job clip.yaml", 2, "clip_norm 0");
  WriteFile("small.json", "{\"chunk_bytes\": 1000}");
  ExpectError("\"$horizon\" schedule --model qwen2.5-0.5b --plan small.json", 3,
              "set chunk_bytes to at least");
  WriteFile("many.yaml", "sequence: 1024\naccumulation: 65536\n");
  ExpectError("\"$horizon\" schedule --model llama-3.1-405b --job many.yaml", 3,
              "lower accumulation");
  ExpectError("\"$horizon\" schedule", 2, "--model");
  ExpectError("\"$horizon\" schedule --model qwen2.5-0.5b --trace /dev/null/x", 2, "/dev/null/x");
}

// A copy of a golden model to break.
std::string CopyOf(const std::string& family) {
  return "rm -rf model && cp -rL \"$TEST_SRCDIR/horizon/tests/goldens/" + family +
         "\" model && chmod -R u+w model && ";
}

TEST(WeightsCommand, MatchesEveryFamily) {
  for (const std::string family :
       {"llama", "qwen2", "qwen3", "mistral_window", "mixtral", "qwen3_moe", "gpt_oss"}) {
    const ProcessResult result = RunShell(CopyOf(family) + "\"$horizon\" weights model --json");
    EXPECT_EQ(result.exit_code, 0) << family << ": " << result.err;
    EXPECT_THAT(result.out, HasSubstr("\"matches\": true"));
  }
}

TEST(WeightsCommand, CorruptFilesAreNamedWithTheReason) {
  ExpectError(CopyOf("llama") +
                  "truncate -s -1 model/model.safetensors && "
                  "\"$horizon\" weights model",
              4, "model.safetensors");
  ExpectError(CopyOf("llama") +
                  "truncate -s 5 model/model.safetensors && "
                  "\"$horizon\" weights model",
              4, "model.safetensors");
  ExpectError(
      CopyOf("llama") +
          "printf '\\377\\377\\377\\377\\377\\377\\377\\377' | dd of=model/model.safetensors "
          "conv=notrunc bs=8 count=1 2>/dev/null && \"$horizon\" weights model",
      4, "model.safetensors");
  ExpectError(CopyOf("llama") +
                  "cp \"$TEST_SRCDIR/horizon/tests/goldens/qwen3/model.safetensors\" "
                  "model/ && \"$horizon\" weights model",
              4, "model.layers.0.self_attn.k_norm.weight");
  ExpectError(CopyOf("llama") + "rm model/model.safetensors && \"$horizon\" weights model", 2,
              "model.safetensors");
  ExpectError(CopyOf("llama") +
                  "rm model/model.safetensors && "
                  "echo '{\"weight_map\": {\"a\": \"../../etc/passwd\"}}' > "
                  "model/model.safetensors.index.json && \"$horizon\" weights model",
              4, "model.safetensors.index.json");
}

}  // namespace
}  // namespace horizon

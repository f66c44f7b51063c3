// `horizon checkpoint` as a process.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <memory>
#include <string>

#include "common/documents/json.h"
#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "runtime/checkpoint/run_lock.h"
#include "tests/app/support/golden_run.h"
#include "tests/app/support/run_program.h"
#include "tests/runtime/checkpoint/saved_run.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class CheckpointCommand : public testing::Test {
 protected:
  // A run with these steps, at "run" in the folder where commands run.
  void SetUp() override {
    RunShell("rm -rf run");
    ASSERT_TRUE(MakeRun(*io_, run_, SmallLayout(), {10, 20, 30, 40}).ok());
  }
  std::unique_ptr<Io> io_ = MakePosixIo();
  std::string run_ = JoinPath(testing::TempDir(), "work/run");
};

TEST_F(CheckpointCommand, VerifyReadsEveryCheckpointOfARun) {
  const ProcessResult result = RunShell("\"$horizon\" checkpoint verify run");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.err, "");
  for (const char* step : {"10", "20", "30", "40"}) {
    EXPECT_THAT(result.out, HasSubstr(StrCat("run/checkpoints/step-000000", step,
                                             ": whole, full, 38.2 KiB in 4 files, read in ")));
  }
}

TEST_F(CheckpointCommand, VerifyTakesOneCheckpointAndAnswersInJson) {
  const ProcessResult result =
      RunShell("\"$horizon\" checkpoint verify run/checkpoints/step-00000020/ --json");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  const absl::StatusOr<Document> answer = ParseJson("answer", result.out);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_TRUE(*answer->root.Find("whole")->As<bool>());
  const auto& list = *answer->root.Find("checkpoints")->As<Value::Array>();
  ASSERT_EQ(list.size(), 1u);
  EXPECT_EQ(*list[0].Find("step")->As<int64_t>(), 20);
  EXPECT_EQ(*list[0].Find("files")->As<int64_t>(), 4);
  EXPECT_EQ(list[0].Find("problem"), nullptr);
}

TEST_F(CheckpointCommand, ADamagedTensorIsNamedWithExitCodeFour) {
  // The last byte of the moments is of v of the last tensor.
  const std::string damage =
      "f=run/checkpoints/step-00000030/moments.safetensors; n=$(stat -c %s $f); "
      "b=$(tail -c 1 $f | od -An -tu1); "
      "printf \"\\\\$(printf %03o $((b ^ 1)))\" | dd of=$f bs=1 seek=$((n-1)) conv=notrunc 2>&-; ";
  const ProcessResult text = RunShell(damage + "\"$horizon\" checkpoint verify run");
  EXPECT_EQ(text.exit_code, 4);
  EXPECT_THAT(text.out,
              AllOf(HasSubstr("step-00000040: whole"), HasSubstr("step-00000020: whole"),
                    HasSubstr("step-00000030: NOT WHOLE: "), HasSubstr("moments.safetensors"),
                    HasSubstr("\"model.norm.weight.v\""), HasSubstr("CRC-32C is ")));
  // An error is told once.
  EXPECT_EQ(text.err, "error: 1 of 4 checkpoints is not whole; the answer says why\n");
  const ProcessResult json = RunShell("\"$horizon\" checkpoint verify run --json");
  EXPECT_EQ(json.exit_code, 4);
  const absl::StatusOr<Document> answer = ParseJson("answer", json.out);
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_FALSE(*answer->root.Find("whole")->As<bool>());
}

// A training that saves every step and keeps two removes what is being read.
TEST(CheckpointsOfARunThatTrains, AreVerifiedWhileItRemovesThem) {
  PrepareGolden("llama");
  const ProcessResult result = RunShell(
      StrCat("coproc train { exec \"$horizon\" train --machine cpu-desktop --threads 1 ",
             "--model model --data batches.jsonl --output run --steps 1000000 --sequence 40 ",
             "--save-every 1 --keep 2 2>&1; }\n", R"(
training=$train_PID
while read -r line <&${train[0]}; do [[ $line == *'saved step 2 '* ]] && break; done
# A background process has no descriptors of a coproc, but it has a copy.
exec {log}<&${train[0]}
cat <&$log >/dev/null &
for ((i = 0; i < 60; ++i)); do
  "$horizon" checkpoint verify run >verified.txt || echo "verify ended with $?"
  "$horizon" checkpoint show run >shown.txt || echo "show ended with $?"
  grep -q whole verified.txt || echo 'nothing was verified'
done
kill -INT "$training"; wait "$training"; echo "training ended with $?")"));
  EXPECT_EQ(result.out, "training ended with 75\n") << result.err;
}

TEST_F(CheckpointCommand, ShowSaysWhatItHolds) {
  const ProcessResult result = RunShell("\"$horizon\" checkpoint show run");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("run/checkpoints/step-00000040\nstep 40 of 40, full, 38.2 KiB"),
                    HasSubstr("step 10 of 40"), HasSubstr("data stories.jsonl"),
                    HasSubstr("buffer depth 3"), HasSubstr("epoch 2, position 140"),
                    HasSubstr("best 0.3333333333333333"), HasSubstr("40,000 tokens seen"),
                    HasSubstr("hi          4  6.10 KiB"), HasSubstr("v           4  12.2 KiB")));
  const ProcessResult json =
      RunShell("\"$horizon\" checkpoint show run/checkpoints/step-00000010 --json");
  EXPECT_EQ(json.exit_code, 0) << json.err;
  const absl::StatusOr<Document> answer = ParseJson("answer", json.out);
  ASSERT_TRUE(answer.ok()) << answer.status();
  const Value& one = answer->root.Find("checkpoints")->As<Value::Array>()->front();
  EXPECT_EQ(*one.Find("step")->As<int64_t>(), 10);
  EXPECT_EQ(*one.Find("job")->Find("data")->As<std::string>(), "stories.jsonl");
  EXPECT_EQ(*one.Find("plan")->Find("buffer_depth")->As<int64_t>(), 3);
  EXPECT_EQ(*one.Find("data")->Find("index")->As<int64_t>(), 110);
  EXPECT_EQ(*one.Find("parts")->Find("lo")->Find("bytes")->As<int64_t>(), 6250);
}

TEST_F(CheckpointCommand, PruneKeepsTheHighest) {
  const ProcessResult result = RunShell("\"$horizon\" checkpoint prune run --keep 3");
  EXPECT_EQ(result.exit_code, 0) << result.err;
  EXPECT_EQ(result.out,
            "removed run/checkpoints/step-00000010\nkept run/checkpoints/step-00000040\n"
            "kept run/checkpoints/step-00000030\nkept run/checkpoints/step-00000020\n");
  EXPECT_EQ(RunShell("ls run/checkpoints").out, "step-00000020\nstep-00000030\nstep-00000040\n");
  const ProcessResult json = RunShell("\"$horizon\" checkpoint prune run --json");
  EXPECT_EQ(json.exit_code, 0) << json.err;
  EXPECT_THAT(json.out, AllOf(HasSubstr("\"removed\""), HasSubstr("step-00000020")));
  EXPECT_EQ(RunShell("ls run/checkpoints").out, "step-00000030\nstep-00000040\n");
}

TEST_F(CheckpointCommand, PruneIsRefusedWhileAnotherProcessHasTheRun) {
  const absl::StatusOr<RunLock> lock = RunLock::Acquire(*io_, run_);
  ASSERT_TRUE(lock.ok()) << lock.status();
  const ProcessResult result = RunShell("\"$horizon\" checkpoint prune run");
  EXPECT_EQ(result.exit_code, 3);
  EXPECT_THAT(result.err, AllOf(HasSubstr("holds it"), HasSubstr("process ")));
  EXPECT_EQ(RunShell("ls run/checkpoints | wc -l").out, "4\n");
  // Looking is allowed.
  EXPECT_EQ(RunShell("\"$horizon\" checkpoint verify run").exit_code, 0);
}

TEST_F(CheckpointCommand, MisuseIsSaidAndTouchesNothing) {
  const std::pair<const char*, const char*> cases[] = {
      {"checkpoint", "ACTION"},
      {"checkpoint verify", "PATH"},
      {"checkpoint veryfy run", "did you mean 'verify'"},
      {"checkpoint verify nowhere", "nowhere"},
      {"checkpoint show .", "no checkpoint in '.'"},
      {"checkpoint prune .", "no checkpoint in '.'"},
      {"checkpoint prune run --keep 1", "--keep"},
      {"checkpoint prune run/checkpoints/step-00000040", "give the folder of its run"}};
  for (const auto& [command, message] : cases) {
    const ProcessResult result = RunShell(StrCat("\"$horizon\" ", command));
    EXPECT_EQ(result.exit_code, 2) << command << ": " << result.err;
    EXPECT_THAT(result.err, AllOf(StartsWith("error: "), HasSubstr(message))) << command;
    EXPECT_EQ(result.out, "") << command;
  }
  EXPECT_EQ(RunShell("ls run/checkpoints | wc -l; ls lock").out, "4\n");
}

}  // namespace
}  // namespace horizon

// Runs whose disk fills up, whose files may not grow, and whose folder is taken away, with the real
// means: a small file system, limits of the process, rm and mv.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "common/text/str_cat.h"
#include "tests/app/support/event_files.h"
#include "tests/app/support/run_program.h"
#include "tests/app/support/watched_run.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// fill and free: no byte more can be written to disk/, and room again. With $means tmpfs, `disk` is
// a file system of 8 MiB. Otherwise, and where this test may not mount one, the running process
// gets a limit on the size of files, which the kernel enforces in the middle of a write too.
constexpr char kDisk[] = R"sh(
mkdir -p disk
if [ "$means" = tmpfs ] && mount -t tmpfs -o size=8m none disk 2>/dev/null; then
  echo "disk: tmpfs"; trap 'umount -l disk' EXIT
  fill() { kill -STOP $pid; cat /dev/zero >disk/fill 2>/dev/null; kill -CONT $pid; }
  free() { rm disk/fill; }
else
  echo "disk: a limit on file sizes"
  fill() { kill -STOP $pid; prlimit --pid $pid --fsize=$(($(stat -c %s disk/run/metrics.jsonl) + 100)):
           kill -CONT $pid; }
  free() { prlimit --pid $pid --fsize=unlimited:; }
fi
)sh";

ProcessResult Watch(const std::string& commands) {
  return RunShell(StrCat(WatchedRunFunctions(), commands));
}

class FullDisk : public testing::TestWithParam<std::string> {};
INSTANTIATE_TEST_SUITE_P(Means, FullDisk, testing::Values("tmpfs", "limit"),
                         [](const auto& means) { return means.param; });

TEST_P(FullDisk, ARunGoesOnAndWritesEverythingWhenThereIsRoomAgain) {
  PrepareWatchedRun();
  const ProcessResult result = Watch(StrCat("means=", GetParam(), kDisk, R"sh(
start --output disk/run --metrics tensorboard
await 'saved step 10 '; fill
await 'are kept in memory'; await 'was not saved'; free
await 'is written again; no line is lost'
await 'saved step '
kill -TERM $pid; finish; echo "code $code"
whole_lines disk/run/metrics.jsonl
steps=$(wc -l <disk/run/metrics.jsonl)
grep "after step $steps of" err
"$horizon" checkpoint verify disk/run >/dev/null; echo "verify $?"
"$horizon" train --config job.yaml --output disk/run --resume auto --steps $((steps + 3)) \
  --metrics tensorboard \
  >/dev/null 2>>err; echo "resumed $?"
whole_lines disk/run/metrics.jsonl
grep -c 'metrics.jsonl are kept in memory' err; ls disk/run
rm -rf kept; mkdir kept; cp disk/run/events* disk/run/metrics.jsonl kept)sh"));
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out,
              AllOf(HasSubstr("code 75\n"), HasSubstr("error: stopped by a signal"),
                    HasSubstr("verify 0\n"), HasSubstr("resumed 0\n1\n"), HasSubstr("\nmodel\n")));
  EXPECT_EQ(ScalarsOf("kept")["train/loss"], FiguresOf("kept/metrics.jsonl", "loss"));
}

TEST_P(FullDisk, ARunWhoseEndFindsNoRoomSaysWhatIsKept) {
  PrepareWatchedRun();
  const ProcessResult result = Watch(StrCat("means=", GetParam(), kDisk, R"sh(
start --output disk/run --steps 400
await 'saved step 20 '; fill
finish; echo "code $code"; tail -1 err; whole_lines disk/run/metrics.jsonl
"$horizon" checkpoint verify disk/run >/dev/null; echo "verify $?"; ls disk/run)sh"));
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(
      result.out,
      AllOf(HasSubstr("code 6\n"), HasSubstr("error: the trained model was not exported"),
            HasSubstr("nor was the state saved"), HasSubstr("The newest checkpoint is disk"),
            HasSubstr("--resume auto"), HasSubstr("verify 0\n"), Not(HasSubstr("\nmodel\n"))));
}

// The model goes first: what comes after it is no reason to lose it.
TEST(RunRecord, ATimelineThatCannotBeWrittenCostsNoModel) {
  PrepareWatchedRun();
  const ProcessResult result = Watch(R"sh(
start --steps 300 --save none
await 'step 1/'; mkdir run/timeline.json run/run.json; finish; echo "code $code"
grep warning: err; "$horizon" weights run/model)sh");
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("code 0\n"), HasSubstr("run/timeline.json"),
                                HasSubstr("run/run.json")));
}

TEST(FileSizeLimit, IsAnErrorWithItsOwnWordsAndNeverASignal) {
  PrepareWatchedRun();
  // In units of 1,024 bytes: not even the tokenised data, and two that are too small for a
  // checkpoint, which is refused before anything is made.
  for (const std::string limit : {"1", "100", "400"}) {
    SCOPED_TRACE(limit);
    const ProcessResult result = RunShell(StrCat(R"sh(
rm -rf run cache
text=$(ulimit -S -f )sh",
                                                 limit, R"sh(
       "$horizon" train --config job.yaml --steps 5 2>&1); echo "code $?"; echo "$text"
ls run; "$horizon" train --config job.yaml --steps 5 >/dev/null 2>err || cat err
ls run/model)sh"));
    EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
    EXPECT_THAT(result.out, AllOf(HasSubstr(limit == "1" ? "code 6\n" : "code 3\n"),
                                  HasSubstr("ulimit -f"), HasSubstr("\nconfig.json\n")));
    EXPECT_THAT(result.err, HasSubstr("'run': No such file"));
  }
}

TEST(FileSizeLimit, ASaveThatMeetsItIsTriedAgain) {
  PrepareWatchedRun();
  const ProcessResult result = Watch(R"sh(
start; await 'saved step 10 '
prlimit --pid $pid --fsize=100000:; await 'was not saved'
prlimit --pid $pid --fsize=unlimited:; await 'saved step '
kill -TERM $pid; finish; echo "code $code"; grep 'was not saved' err
"$horizon" checkpoint verify run)sh");
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("code 75\n"), HasSubstr("File too large"),
                                HasSubstr("ulimit -f"), HasSubstr("the next save is at step ")));
}

TEST(RunFolder, ADeletedOneEndsTheRunWhenItHappensAndTheModelIsRescued) {
  PrepareWatchedRun();
  const ProcessResult result = Watch(R"sh(
start; await 'saved step 10 '
until rm -rf run 2>/dev/null; do :; done
finish; echo "code $code"; tail -1 err; ls -d run; "$horizon" weights run-rescued >/dev/null && echo whole)sh");
  EXPECT_THAT(result.out, AllOf(HasSubstr("code 6\n"), HasSubstr("error: the run folder run was "),
                                HasSubstr("is in run-rescued"), HasSubstr("No checkpoint is left"),
                                HasSubstr("\nwhole\n")))
      << result.err;
  EXPECT_THAT(result.err, HasSubstr("No such file"));  // nothing made the folder again
}

TEST(RunFolder, AMovedOneIsNamedAndGoesOnWhereItIs) {
  PrepareWatchedRun();
  const ProcessResult result = Watch(R"sh(
start --save-every 100; await 'saved step 100 '
kill -STOP $pid; mv run moved; mkdir run; kill -CONT $pid
finish; echo "code $code"; tail -1 err; ls run
steps=$(wc -l <moved/metrics.jsonl)
command=$(sed -n 's/.*Go on with: horizon //p' err)
eval "\"\$horizon\" $command --steps $((steps + 3))" >/dev/null 2>err || cat err
ls moved/model)sh");
  EXPECT_EQ(result.exit_code, 0) << result.out << result.err;
  EXPECT_THAT(result.out, AllOf(HasSubstr("code 6\n"), HasSubstr("was moved to /"),
                                HasSubstr("Its newest checkpoint is of step "),
                                HasSubstr("--resume auto\nconfig.json\n")));
}

}  // namespace
}  // namespace horizon

// The program under limits: address space, memory and threads run out. What cannot be done is
// refused with a message; nothing hangs, is killed or aborts.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "common/text/str_cat.h"
#include "tests/app/support/golden_run.h"
#include "tests/app/support/run_program.h"

namespace horizon {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A machine with yardsticks, so that its speed is looked at before a run, as it is of a machine
// that was measured. Nothing is as slow as these.
void MakeMachine() {
  const std::string figure = R"({"value": 1000, "origin": "assumed", "source": "a test"},)";
  const ProcessResult made = RunShell(StrCat(
      "\"$horizon\" machines cpu-desktop --json | sed 's/^  \"host\": {/&",
      " \"yardstick_flops_per_second\": ", figure, " \"yardstick_bytes_per_second\": ", figure,
      "/' > machine.json && \"$horizon\" machines machine.json"));
  ASSERT_EQ(made.exit_code, 0) << made.err;
}

// `timeout` ends what hangs, well after anything that works.
std::string Train(const std::string& more, int steps = 8) {
  return StrCat("timeout 100 \"$horizon\" train --machine machine.json --threads 2 --model model ",
                "--data batches.jsonl --output run --sequence 40 --micro-batch 2 --steps ", steps,
                " ", more);
}

// Runs `command` in a control group of a controller of version 1 with one value set; false where
// this machine gives us none.
bool RunInGroup(const std::string& controller, const std::string& setting, const std::string& value,
                const std::string& command, ProcessResult& result) {
  const std::string group = StrCat("/sys/fs/cgroup/", controller, "/horizon-test-$$");
  // The shell leaves the group before it is removed.
  result = RunShell(
      StrCat("group=", group, "\nmkdir $group 2>/dev/null || exit 200\n", "( echo ", value,
             " > $group/", setting, " && echo $BASHPID > $group/cgroup.procs ) 2>/dev/null",
             " || { rmdir $group; exit 200; }\n", "( echo $BASHPID > $group/cgroup.procs; exec ",
             command, " )\n", "code=$?\nrmdir $group\nexit $code"));
  return result.exit_code != 200;
}

TEST(UnderPressure, WhatDoesNotComputeWorksInLittleAddressSpace) {
  for (const std::string words : {"version", "help", "models", "machines", "devices"}) {
    const ProcessResult result =
        RunShell(StrCat("ulimit -v 200000; timeout 60 \"$horizon\" ", words));
    EXPECT_EQ(result.exit_code, 0) << words << ": " << result.err;
    EXPECT_NE(result.out, "") << words;
  }
}

TEST(UnderPressure, OnlyCommandsThatComputeLoadTheBlasLibrary) {
  const auto loads = [](const std::string& words) {
    return RunShell(StrCat("LD_DEBUG=files ", words, " 2>&1 | grep -c libopenblas")).exit_code == 0;
  };
  EXPECT_FALSE(loads("\"$horizon\" version"));
  EXPECT_FALSE(loads("\"$horizon\" plan --model llama-3.1-8b --machine h100-pcie"));
  PrepareGolden("llama");
  MakeMachine();
  EXPECT_TRUE(loads(Train("")));
}

// OpenBLAS starts threads when it is loaded and not told otherwise.
TEST(UnderPressure, TheBlasLibraryStartsNoThreads) {
  PrepareGolden("llama");
  MakeMachine();
  const ProcessResult result = RunShell(
      StrCat("export OPENBLAS_NUM_THREADS=64\n", Train("--save none", 400),
             " & \nwhile ! grep -qs '\"step\": 20,' run/metrics.jsonl; do kill -0 $! || exit 9; ",
             "done\ncat /proc/$(pgrep -P $!)/task/*/comm | sort | uniq -c\nwait $!"));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.out, HasSubstr("compute"));
  // Threads of a library carry the name of the program: the main thread is the only one.
  EXPECT_THAT(result.out, HasSubstr("1 horizon\n")) << result.out;
}

TEST(UnderPressure, TooLittleAddressSpaceToComputeInIsRefusedAndTheLimitNamed) {
  PrepareGolden("llama");
  MakeMachine();
  for (const int kilobytes : {150000, 200000, 300000, 400000}) {
    const ProcessResult result =
        RunShell(StrCat("rm -rf run; ulimit -v ", kilobytes, "; ", Train("")));
    EXPECT_EQ(result.exit_code, 3) << kilobytes << ": " << result.err;
    EXPECT_THAT(result.err, HasSubstr("error: ")) << kilobytes;
    EXPECT_THAT(result.err,
                AnyOf(HasSubstr("ulimit -v"), HasSubstr("does not fit"), HasSubstr("are free")))
        << kilobytes;
  }
}

// Whatever the limit: it works, or it is refused.
TEST(UnderPressure, NoLimitOnAddressSpaceOrDataHangsOrAborts) {
  PrepareGolden("llama");
  MakeMachine();
  for (const std::string limit : {"-v 500000", "-v 700000", "-v 900000", "-v 1500000", "-d 50000",
                                  "-d 200000", "-d 400000", "-d 600000"}) {
    const ProcessResult result = RunShell(StrCat("rm -rf run; ulimit ", limit, "; ", Train("")));
    EXPECT_THAT(result.exit_code, AnyOf(0, 3)) << limit << ": " << result.err;
  }
}

TEST(UnderPressure, AMemoryGroupThatIsTooSmallIsRefusedNotKilled) {
  PrepareGolden("llama");
  MakeMachine();
  for (const std::string mebibytes : {"30", "45", "60", "80", "100"}) {
    ProcessResult result;
    RunShell("rm -rf run");
    if (!RunInGroup("memory", "memory.limit_in_bytes", mebibytes + "M", Train(""), result)) {
      // No control groups here: a limit on data is read in the same way.
      result = RunShell(StrCat("ulimit -d $((", mebibytes, " * 1024)); ", Train("")));
    }
    EXPECT_THAT(result.exit_code, AnyOf(0, 3)) << mebibytes << " MiB: " << result.err;
    if (result.exit_code == 3) {
      EXPECT_THAT(result.err, HasSubstr("MiB")) << mebibytes;
    }
    if (mebibytes == "30") {
      EXPECT_EQ(result.exit_code, 3) << result.err;
    }
  }
}

// 2 processes are the shell's and timeout's.
TEST(UnderPressure, AThreadThatCannotBeStartedIsAnErrorThatNamesTheLimits) {
  PrepareGolden("llama");
  MakeMachine();
  bool refused = false;
  for (const int most : {3, 5, 8, 10, 14, 40}) {
    ProcessResult result;
    RunShell("rm -rf run");
    if (!RunInGroup("pids", "pids.max", StrCat(most), Train(""), result)) {
      // Threads whose stacks do not fit are refused by the same call.
      result = RunShell(StrCat("ulimit -s 4000000; ulimit -v 12000000; ", Train("")));
    }
    EXPECT_THAT(result.exit_code, AnyOf(0, 3)) << most << ": " << result.err;
    if (result.exit_code == 0) continue;
    EXPECT_THAT(result.err, HasSubstr("cannot start thread")) << most;
    EXPECT_THAT(result.err, HasSubstr("ulimit -u")) << most;
    refused = true;
  }
  EXPECT_TRUE(refused);
}

double PeakOf(const std::string& key) {
  const std::vector<Document> record = Lines(RunShell("tr -d '\\n' < run/run.json").out);
  if (record.empty()) return 0;
  const Value* bytes = record[0].root.Find("host_bytes");
  return bytes == nullptr ? 0 : NumberAt(*bytes, key);
}

// Streams of the device and their threads were made anew for each evaluation, and kept.
TEST(UnderPressure, MemoryDoesNotGrowWithStepsSavesAndEvaluations) {
  PrepareGolden("llama");
  MakeMachine();
  const std::string more = "--eval-data batches.jsonl --eval-every 4 --save-every 10 ";
  const ProcessResult result = RunShell(Train(more, 1000));
  ASSERT_EQ(result.exit_code, 0) << result.err;
  EXPECT_THAT(result.err, Not(HasSubstr("more memory than was predicted")));
  std::vector<double> held;
  for (const Document& line : Lines(RunShell("cat run/metrics.jsonl").out)) {
    held.push_back(NumberAt(line.root, "host_bytes"));
  }
  ASSERT_EQ(held.size(), 1000u);
  const auto least = [&](size_t begin, size_t end) {
    return *std::min_element(held.begin() + static_cast<std::ptrdiff_t>(begin),
                             held.begin() + static_cast<std::ptrdiff_t>(end));
  };
  EXPECT_LE(least(900, 1000), least(300, 400) + (1 << 20)) << "150 evaluations later";
  EXPECT_LE(PeakOf("measured"), PeakOf("predicted"));
  // Resumed, it takes no more.
  const ProcessResult resumed = RunShell(Train(more + "--resume auto", 1100));
  ASSERT_EQ(resumed.exit_code, 0) << resumed.err;
  EXPECT_LE(PeakOf("measured"), PeakOf("predicted"));
  EXPECT_GT(PeakOf("measured"), 0);
}

}  // namespace
}  // namespace horizon

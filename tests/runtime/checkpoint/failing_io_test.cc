// K5 and K6: a save and prune in which any call fails, and disks of every size.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <string>

#include "common/files/faulting_io.h"
#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "runtime/checkpoint/checkpoint_layout.h"
#include "runtime/checkpoint/run_lock.h"
#include "tests/common/files/memory_io.h"
#include "tests/model/test_files.h"
#include "tests/runtime/checkpoint/durability.h"
#include "tests/runtime/checkpoint/saved_run.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

class FailingIo : public testing::Test {
 protected:
  void SetUp() override {
    MemoryIo io;
    ASSERT_TRUE(MakeRun(io, "/run", layout_, {1, 2}).ok());
    two_ = io.tree();
  }
  CheckpointLayout layout_ =
      *LayOutCheckpoint({{"a", {61, 47}}, {"b", {1}}}, StateFormat::kBf16Weights, SaveMode::kFull);
  MemoryTree two_;  // with checkpoints of steps 1 and 2
};

// Fails each call in turn, once and from there on, on a disk of its own; returns how many were hit.
uint64_t FailEveryCall(const MemoryTree& two, const CheckpointLayout& layout, FaultPlan plan) {
  uint64_t hits = 0;
  for (const auto extent : {FaultPlan::Extent::kOnce, FaultPlan::Extent::kFromThereOn}) {
    plan.extent = extent;
    for (plan.at_call = 1;; ++plan.at_call, ++hits) {
      MemoryIo disk(two);
      FaultingIo io(disk, plan);
      const absl::Status status = SaveAndPrune(io, "/run", layout, 3);
      if (!io.reached()) break;
      const std::string call = io.history()[plan.at_call - 1];
      EXPECT_EQ(ProblemOfRun(disk, "/run", layout, status.ok() ? 3 : 2), "")
          << call << ": " << status;
      EXPECT_EQ(ProblemOfGoingOn(disk, "/run", layout, 2, 4), "") << call << ": " << status;
      if (call.starts_with("WriteAt") || call.starts_with("Sync ")) {
        EXPECT_THAT(std::string(status.message()),
                    HasSubstr(StrCat(layout.total_bytes.value(), " bytes")));
        EXPECT_EQ(IoErrno(status), plan.error_number);
      }
      if (testing::Test::HasFailure()) break;
    }
  }
  return hits;
}

// EEXIST and ENOENT too, which the code asks about.
TEST_F(FailingIo, AnyFailingCallLeavesTheOldOrTheNewAndTrainingGoesOn) {
  for (const int error_number : {ENOSPC, EIO, EMFILE, EINTR, ENOENT, EEXIST}) {
    EXPECT_GT(FailEveryCall(two_, layout_, {.error_number = error_number}), 200u);
  }
}

TEST_F(FailingIo, AShortWriteOrReadIsNoBetter) {
  const FaultPlan plan{.kind = FaultPlan::Kind::kShort, .error_number = EDQUOT};
  EXPECT_GT(FailEveryCall(two_, layout_, plan), 200u);
}

// An error means "not saved": no temporary folder stays, and no name that a later prune would
// count.
TEST_F(FailingIo, OneFailingCallOfASaveLeavesNoTrace) {
  FaultPlan plan{.extent = FaultPlan::Extent::kOnce, .error_number = ENOSPC};
  int failed = 0;
  for (plan.at_call = 1;; ++plan.at_call) {
    MemoryIo disk(two_);
    const absl::StatusOr<RunLock> lock = RunLock::Acquire(disk, "/run");
    ASSERT_TRUE(lock.ok()) << lock.status();
    FaultingIo io(disk, plan);
    const absl::Status status = SaveStep(io, *lock, layout_, 3);
    if (!io.reached()) break;
    const std::vector<std::string> names = *disk.List("/run/checkpoints");
    ASSERT_EQ(names.size(), status.ok() ? 3u : 2u)
        << io.history()[plan.at_call - 1] << ": " << status;
    EXPECT_EQ(names[1], "step-00000002");
    if (!status.ok()) ++failed;
  }
  EXPECT_GT(failed, 50);
}

// The disk runs full after any number of bytes, though it had said there was room.
TEST_F(FailingIo, ADiskThatRunsFullAtAnySizeLeavesTheOldOnes) {
  uint64_t used = 0;
  for (const auto& [node, data] : two_.files) used += data.size();
  int full = 0;
  bool fits = false;
  for (uint64_t extra = 0; !fits; extra += 307) {
    MemoryIo disk(two_);
    disk.capacity = used + extra;
    const absl::Status status = SaveAndPrune(disk, "/run", layout_, 3);
    fits = status.ok();
    if (!fits) {
      ++full;
      ASSERT_EQ(IoErrno(status), ENOSPC) << status;
      ASSERT_THAT(*disk.List("/run/checkpoints"),
                  testing::ElementsAre("step-00000001", "step-00000002"));
    }
    ASSERT_EQ(ProblemOfRun(disk, "/run", layout_, fits ? 3 : 2), "");
  }
  EXPECT_GT(full, 50);
}

// The system's own limit on the size of a file, in a process of its own since it cannot be raised
// again.
TEST_F(FailingIo, TheLimitOnFileSizesIsAnErrorNotASignal) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string run = JoinPath(MakeTestFolder(*io), "run");
  ASSERT_TRUE(MakeRun(*io, run, layout_, {1, 2}).ok());
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    bool good = true;
    for (rlim_t limit = 16 * 1024; limit >= 512; limit /= 2) {
      const rlimit both{.rlim_cur = limit, .rlim_max = RLIM_INFINITY};
      ::setrlimit(RLIMIT_FSIZE, &both);
      const absl::Status status = SaveAndPrune(*io, run, layout_, 3);
      good = good && IoErrno(status) == EFBIG && ProblemOfRun(*io, run, layout_, 2).empty();
    }
    ::_exit(good ? 0 : 1);
  }
  int result = 0;
  ASSERT_EQ(::waitpid(child, &result, 0), child);
  EXPECT_EQ(result, 0);
  EXPECT_EQ(ProblemOfGoingOn(*io, run, layout_, 2, 3), "");
}

}  // namespace
}  // namespace horizon

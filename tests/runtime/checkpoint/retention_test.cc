#include "runtime/checkpoint/retention.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <memory>
#include <optional>
#include <string>

#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/run_lock.h"
#include "tests/common/files/memory_io.h"
#include "tests/model/test_files.h"
#include "tests/runtime/checkpoint/saved_run.h"

namespace horizon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

class Retention : public testing::Test {
 protected:
  void Make(const std::vector<int64_t>& steps) {
    ASSERT_TRUE(MakeRun(io_, "/run", layout_, steps).ok());
    absl::StatusOr<RunLock> lock = RunLock::Acquire(io_, "/run");
    ASSERT_TRUE(lock.ok()) << lock.status();
    lock_.emplace(*std::move(lock));
  }
  void Damage(int64_t step) {
    ASSERT_TRUE(io_.Unlink(StrCat("/run/checkpoints/step-0000000", step, "/low.safetensors")).ok());
  }
  std::vector<std::string> Names() { return *io_.List("/run/checkpoints"); }

  MemoryIo io_;
  CheckpointLayout layout_ = SmallLayout();
  std::optional<RunLock> lock_;
};

TEST_F(Retention, KeepsTheHighestAndSaysWhatItDid) {
  Make({1, 2, 3, 4, 5});
  const absl::StatusOr<PruneResult> result = PruneCheckpoints(io_, *lock_, 3);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(Names(), ElementsAre("step-00000003", "step-00000004", "step-00000005"));
  EXPECT_THAT(result->kept,
              ElementsAre("/run/checkpoints/step-00000005", "/run/checkpoints/step-00000004",
                          "/run/checkpoints/step-00000003"));
  EXPECT_THAT(result->removed,
              ElementsAre("/run/checkpoints/step-00000002", "/run/checkpoints/step-00000001"));
  EXPECT_THAT(result->damaged, IsEmpty());
  const absl::StatusOr<PruneResult> again = PruneCheckpoints(io_, *lock_, 3);
  EXPECT_THAT(again->removed, IsEmpty());
}

TEST_F(Retention, NeverKeepsFewerThanTwo) {
  Make({1, 2, 3});
  for (const int64_t keep : {1, 0, -5}) {
    EXPECT_TRUE(absl::IsInvalidArgument(PruneCheckpoints(io_, *lock_, keep).status()));
  }
  EXPECT_EQ(Names().size(), 3u);
}

TEST_F(Retention, ADamagedOneDoesNotCountAndStays) {
  Make({1, 2, 3, 4, 5});
  Damage(5);
  Damage(2);
  const absl::StatusOr<PruneResult> result = PruneCheckpoints(io_, *lock_, 2);
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_THAT(Names(), ElementsAre("step-00000003", "step-00000004", "step-00000005"));
  EXPECT_THAT(result->damaged, ElementsAre("/run/checkpoints/step-00000005"));
}

TEST_F(Retention, WithFewerWholeOnesThanAskedNothingGoes) {
  Make({1, 2, 3});
  Damage(2);
  const absl::StatusOr<PruneResult> result = PruneCheckpoints(io_, *lock_, 2);
  ASSERT_TRUE(result.ok());
  EXPECT_EQ(Names().size(), 3u);
  EXPECT_THAT(result->removed, IsEmpty());
}

TEST_F(Retention, WeightsAloneDoNotPushOutWhatCanBeResumed) {
  Make({1, 2, 3});
  const CheckpointLayout weights = SmallLayout(StateFormat::kFp32, SaveMode::kWeights);
  for (const int64_t step : {4, 5, 6}) ASSERT_TRUE(SaveStep(io_, *lock_, weights, step).ok());
  ASSERT_TRUE(PruneCheckpoints(io_, *lock_, 2).ok());
  EXPECT_THAT(Names(),
              ElementsAre("step-00000002", "step-00000003", "step-00000005", "step-00000006"));
}

TEST_F(Retention, OneCheckpointIsRemovedByItsStep) {
  Make({1, 2, 3});
  EXPECT_TRUE(RemoveCheckpoint(io_, *lock_, 2).ok());
  EXPECT_THAT(Names(), ElementsAre("step-00000001", "step-00000003"));
  EXPECT_TRUE(absl::IsNotFound(RemoveCheckpoint(io_, *lock_, 2)));
}

TEST_F(Retention, AnEmptyRunHasNothingToPrune) {
  Make({});
  EXPECT_TRUE(PruneCheckpoints(io_, *lock_, 2).ok());
  EXPECT_TRUE(RemoveUnfinished(io_, *lock_).ok());
}

// Real files: links are taken away, never followed; what is not ours stays.
TEST(RemoveUnfinished, TouchesNothingOutside) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string base = MakeTestFolder(*io);
  const std::string run = JoinPath(base, "run");
  ASSERT_TRUE(MakeRun(*io, run, SmallLayout(), {1}).ok());
  const std::string folder = JoinPath(run, "checkpoints");
  WriteBytes(*io, JoinPath(base, "precious"), "x");
  ASSERT_TRUE(io->MakeDirectory(JoinPath(base, "outside")).ok());
  WriteBytes(*io, JoinPath(base, "outside/precious"), "x");
  const std::string temporary = JoinPath(folder, "step-00000009.tmp-1");
  ASSERT_TRUE(io->MakeDirectory(temporary).ok());
  ASSERT_EQ(::symlink("../../../precious", JoinPath(temporary, "link").c_str()), 0);
  ASSERT_EQ(::symlink("../../../nothing", JoinPath(temporary, "dangling").c_str()), 0);
  ASSERT_EQ(::symlink("../../outside", JoinPath(folder, "step-00000009.tmp-2").c_str()), 0);
  ASSERT_TRUE(io->MakeDirectory(JoinPath(folder, "step-00000009.tmp-3")).ok());
  ASSERT_TRUE(io->MakeDirectory(JoinPath(folder, "step-00000009.tmp-3/inside")).ok());

  const absl::StatusOr<RunLock> lock = RunLock::Acquire(*io, run);
  ASSERT_TRUE(lock.ok()) << lock.status();
  EXPECT_FALSE(RemoveUnfinished(*io, *lock).ok());  // the link and the folder inside stay
  EXPECT_TRUE(FileExists(*io, JoinPath(base, "precious")));
  EXPECT_TRUE(FileExists(*io, JoinPath(base, "outside/precious")));
  EXPECT_FALSE(FileExists(*io, temporary));
  EXPECT_THAT(*io->List(folder),
              UnorderedElementsAre("step-00000001", "step-00000009.tmp-2", "step-00000009.tmp-3"));
}

TEST(RunLock, IsOneProcessesAndNamesIt) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string run = MakeTestFolder(*io);
  {
    const absl::StatusOr<RunLock> lock = RunLock::Acquire(*io, run);
    ASSERT_TRUE(lock.ok()) << lock.status();
    const absl::Status second = RunLock::Acquire(*io, run).status();
    EXPECT_TRUE(absl::IsFailedPrecondition(second)) << second;
    EXPECT_THAT(std::string(second.message()), HasSubstr(StrCat("process ", ::getpid())));
    EXPECT_THAT(std::string(second.message()), HasSubstr(run));
  }
  EXPECT_TRUE(RunLock::Acquire(*io, run).ok());
  EXPECT_TRUE(absl::IsNotFound(RunLock::Acquire(*io, JoinPath(run, "missing")).status()));
}

TEST(RunLock, RefusesLinks) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string run = MakeTestFolder(*io);
  ASSERT_TRUE(io->MakeDirectory(JoinPath(run, "elsewhere")).ok());
  ASSERT_EQ(::symlink("elsewhere", JoinPath(run, "checkpoints").c_str()), 0);
  EXPECT_TRUE(absl::IsDataLoss(RunLock::Acquire(*io, run).status()));
  EXPECT_TRUE(absl::IsDataLoss(FindCheckpoints(*io, run).status()));
  ASSERT_TRUE(io->Unlink(JoinPath(run, "checkpoints")).ok());
  ASSERT_TRUE(io->Unlink(JoinPath(run, "lock")).ok());
  WriteBytes(*io, JoinPath(run, "precious"), "x");
  ASSERT_EQ(::symlink("precious", JoinPath(run, "lock").c_str()), 0);
  EXPECT_TRUE(absl::IsInvalidArgument(RunLock::Acquire(*io, run).status()));
  EXPECT_EQ(ReadBytes(*io, JoinPath(run, "precious")), "x");
}

TEST(RunLock, RefusesAFolderWithALinkInIt) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string base = MakeTestFolder(*io);
  const std::string run = JoinPath(base, "run");
  ASSERT_TRUE(io->MakeDirectory(run).ok());
  WriteBytes(*io, JoinPath(base, "target"), "x");
  const std::string link = JoinPath(run, "metrics.jsonl");
  for (const std::string target : {"../target", "../nothing", ".."}) {
    ASSERT_EQ(::symlink(target.c_str(), link.c_str()), 0);
    const absl::Status status = RunLock::Acquire(*io, run).status();
    EXPECT_TRUE(absl::IsDataLoss(status)) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(link));
    ASSERT_TRUE(io->Unlink(link).ok());
  }
  WriteBytes(*io, JoinPath(run, "checkpoints"), "x");
  EXPECT_TRUE(absl::IsDataLoss(RunLock::Acquire(*io, run).status()));
  ASSERT_TRUE(io->Unlink(JoinPath(run, "checkpoints")).ok());
  EXPECT_TRUE(RunLock::Acquire(*io, run).ok());
}

}  // namespace
}  // namespace horizon

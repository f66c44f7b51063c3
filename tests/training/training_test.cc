// The steps of a training, one after the other: what each makes is what the next uses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/run_lock.h"
#include "schedule/verify/verify_schedule.h"
#include "tests/model/recording_io.h"
#include "tests/model/test_files.h"
#include "tests/training/small_run.h"

namespace horizon {
namespace {

using testing::HasSubstr;

class TrainingTest : public testing::Test {
 protected:
  int64_t Lines(const std::string& name) {
    const std::string text = ReadBytes(run_.io(), run_.Path(name));
    return std::count(text.begin(), text.end(), '\n');
  }

  SmallRun run_;
};

// The operations that were predicted from lie where those that run lie: it is one object.
TEST_F(TrainingTest, TheScheduleThatWasPredictedFromIsTheOneThatRuns) {
  PreparedTraining prepared = run_.Prepare();
  const Operation* const planned = prepared.planned->schedule.steady.operations.data();
  const absl::StatusOr<BegunTraining> begun =
      BeginTraining(run_.Context(), run_.settings, run_.model(), std::move(prepared));
  ASSERT_TRUE(begun.ok()) << begun.status();
  EXPECT_EQ(begun->trainer().schedule().steady.operations.data(), planned);
}

// A plan of the search is not simulated again, and is predicted as if it were.
TEST_F(TrainingTest, APlanOfTheSearchIsPredictedAsTheSamePlanFromAFile) {
  const PreparedTraining searched = run_.Prepare();
  const TrainingPlan& found = searched.planned->plan;
  run_.settings.plan.file = run_.Path("plan.json");
  WriteBytes(run_.io(), *run_.settings.plan.file, WritePlan(found.plan));
  const PreparedTraining read = run_.Prepare();
  const TrainingPlan& followed = read.planned->plan;
  EXPECT_EQ(followed.plan, found.plan);
  EXPECT_EQ(followed.prediction.step_seconds, found.prediction.step_seconds);
  EXPECT_EQ(followed.prediction.operations, found.prediction.operations);
  EXPECT_EQ(followed.durations, found.durations);
  EXPECT_EQ(followed.timelines, found.timelines);
  EXPECT_EQ(followed.arena_bytes, found.arena_bytes);
  EXPECT_TRUE(VerifySchedule(searched.planned->schedule).ok());
}

TEST_F(TrainingTest, TrainsExportsAndWritesDownWhatItDid) {
  const FinishedTraining finished = run_.Train();
  EXPECT_TRUE(finished.status.ok()) << finished.status;
  ASSERT_TRUE(finished.answer.has_value());
  EXPECT_THAT(finished.answer->text, HasSubstr("trained 3 steps"));
  EXPECT_EQ(Lines("run/metrics.jsonl"), 3);
  EXPECT_EQ(ReadBytes(run_.io(), run_.Path("run/run.json")), finished.answer->json);
  EXPECT_EQ(ReadBytes(run_.io(), run_.Path("run/train.yaml")), "steps: 3\n");
  for (const char* name : {"run/model/config.json", "run/prediction.json", "run/timeline.json"}) {
    EXPECT_TRUE(FileExists(run_.io(), run_.Path(name))) << name;
  }
  const absl::StatusOr<Checkpoint> saved = OpenNewestCheckpoint(run_.io(), run_.Path("run"));
  ASSERT_TRUE(saved.ok()) << saved.status();
  EXPECT_EQ(saved->manifest().step, 3);
}

TEST_F(TrainingTest, AStopIsFollowedByASaveAndTheRunGoesOnFromThere) {
  const FinishedTraining stopped = run_.Train([] { return true; });
  EXPECT_EQ(stopped.status.code(), absl::StatusCode::kCancelled) << stopped.status;
  EXPECT_FALSE(stopped.answer.has_value());
  EXPECT_FALSE(FileExists(run_.io(), run_.Path("run/model")));
  run_.settings.resume = "auto";
  const FinishedTraining finished = run_.Train();
  EXPECT_TRUE(finished.status.ok()) << finished.status;
  EXPECT_EQ(Lines("run/metrics.jsonl"), 3);
  EXPECT_THAT(run_.LogText(), HasSubstr("going on after step"));
}

TEST_F(TrainingTest, AStopWithoutCheckpointsLeavesTheModelSoFar) {
  run_.settings.save.mode = std::nullopt;
  const FinishedTraining stopped = run_.Train([] { return true; });
  EXPECT_EQ(stopped.status.code(), absl::StatusCode::kCancelled) << stopped.status;
  EXPECT_TRUE(stopped.answer.has_value());
  EXPECT_TRUE(FileExists(run_.io(), run_.Path("run/model/config.json")));
  EXPECT_TRUE(absl::IsNotFound(OpenNewestCheckpoint(run_.io(), run_.Path("run")).status()));
}

TEST_F(TrainingTest, TheModelOfACompleteRunIsWrittenAgainWhereItIsGone) {
  ASSERT_TRUE(run_.Train().status.ok());
  const std::string weights = ReadBytes(run_.io(), run_.Path("run/model/model.safetensors"));
  ASSERT_TRUE(run_.io().Rename(run_.Path("run/model"), run_.Path("moved")).ok());
  run_.settings.resume = "auto";
  const absl::StatusOr<TrainingAnswer> answer =
      FinishComplete(run_.Context(), run_.settings, run_.model(), run_.Prepare());
  ASSERT_TRUE(answer.ok()) << answer.status();
  EXPECT_THAT(answer->text, HasSubstr("is complete: step 3 of 3"));
  EXPECT_EQ(ReadBytes(run_.io(), run_.Path("run/model/model.safetensors")), weights);
}

TEST_F(TrainingTest, HeldOutDataIsEvaluated) {
  run_.settings.data.eval_file = run_.settings.job.data;
  run_.settings.eval_every = 2;
  ASSERT_TRUE(run_.Train().status.ok());
  EXPECT_EQ(Lines("run/eval.jsonl"), 2);  // after steps 2 and 3
  EXPECT_THAT(run_.LogText(), HasSubstr("held-out loss"));
}

// Fails to write what is named so, from when it is told to.
class FullDisk : public RecordingIo {
 public:
  FullDisk(Io& inner, std::vector<std::string> full) : RecordingIo(inner), full_(std::move(full)) {}
  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) override {
    const bool hit = std::any_of(full_.begin(), full_.end(), [&](const std::string& name) {
      return path.find(name) != std::string::npos;
    });
    if (hit && mode != OpenMode::kRead) return IoError(ENOSPC, "create '" + path + "'");
    return RecordingIo::Open(path, mode);
  }

 private:
  const std::vector<std::string> full_;
};

TEST_F(TrainingTest, WhatIsWrittenAfterTheModelMayFail) {
  run_.settings.save.mode = std::nullopt;
  run_.settings.data.eval_file = run_.settings.job.data;
  FullDisk disk(run_.io(), {"timeline", "run.json", "eval.jsonl"});
  const FinishedTraining finished = run_.Train(disk);
  EXPECT_TRUE(finished.status.ok()) << finished.status;
  EXPECT_TRUE(finished.answer.has_value());
  EXPECT_TRUE(FileExists(run_.io(), run_.Path("run/model/config.json")));
  const std::string log = run_.LogText();
  for (const char* name : {"timeline.json", "timelines.json", "run.json", "eval.jsonl"}) {
    EXPECT_THAT(log, HasSubstr(name));
  }
}

TEST_F(TrainingTest, AModelThatCannotBeExportedIsAnErrorThatNamesTheCheckpoint) {
  FullDisk disk(run_.io(), {"run/model/"});
  const FinishedTraining finished = run_.Train(disk);
  EXPECT_EQ(IoErrno(finished.status), ENOSPC) << finished.status;
  EXPECT_FALSE(finished.answer.has_value());
  EXPECT_THAT(std::string(finished.status.message()),
              testing::AllOf(HasSubstr("step-00000003 holds the trained state"),
                             HasSubstr("horizon export " + run_.Path("run"))));
  EXPECT_TRUE(FileExists(run_.io(), run_.Path("run/run.json")));
}

TEST_F(TrainingTest, AStateThatCannotBeSavedInTheEndIsAnErrorThatNamesTheModel) {
  run_.settings.save.every = 2;
  FullDisk disk(run_.io(), {"step-00000003"});
  const FinishedTraining finished = run_.Train(disk);
  EXPECT_EQ(IoErrno(finished.status), ENOSPC) << finished.status;
  EXPECT_TRUE(finished.answer.has_value());
  EXPECT_THAT(std::string(finished.status.message()),
              testing::AllOf(HasSubstr("The trained model is in"), HasSubstr("step-00000002"),
                             HasSubstr("--resume auto")));
  EXPECT_TRUE(FileExists(run_.io(), run_.Path("run/model/config.json")));
}

TEST_F(TrainingTest, AStoppedRunThatCannotBeSavedSaysWhatItGoesOnFrom) {
  FullDisk disk(run_.io(), {"checkpoints/step"});
  const FinishedTraining finished = run_.Train(disk, [] { return true; });
  EXPECT_EQ(IoErrno(finished.status), ENOSPC) << finished.status;
  EXPECT_THAT(std::string(finished.status.message()),
              testing::AllOf(HasSubstr("stopped by a signal"), HasSubstr("its state was not saved"),
                             HasSubstr("no older checkpoint")));
}

TEST_F(TrainingTest, AFolderThatIsMovedEndsTheRunAndTheModelIsRescued) {
  run_.settings.save.every = 1;
  ASSERT_TRUE(run_.io().MakeDirectory(run_.Path("run-rescued")).ok());  // that name is taken
  int steps = 0;
  const FinishedTraining finished = run_.Train([&] {
    if (++steps != 2) return false;
    while (!FileExists(run_.io(), run_.Path("run/checkpoints/step-00000001"))) {
    }
    EXPECT_TRUE(run_.io().Rename(run_.Path("run"), run_.Path("moved")).ok());
    return false;
  });
  EXPECT_EQ(IoErrno(finished.status), ESTALE) << finished.status;
  EXPECT_THAT(std::string(finished.status.message()),
              testing::AllOf(HasSubstr("was moved to"), HasSubstr("after step 3 of 3"),
                             HasSubstr("moved/train.yaml --output"), HasSubstr("run-rescued-2")));
  EXPECT_TRUE(FileExists(run_.io(), run_.Path("run-rescued-2/config.json")));
  EXPECT_TRUE(FileExists(run_.io(), run_.Path("run-rescued-2/model.safetensors")));
  EXPECT_FALSE(FileExists(run_.io(), run_.Path("run")));
}

TEST_F(TrainingTest, AStartThatWasStoppedDoesNotStandInTheWayOfTheNext) {
  { const BegunTraining begun = run_.Begin(); }
  EXPECT_TRUE(FileExists(run_.io(), run_.Path("run/job.json")));
  WriteBytes(run_.io(), run_.Path("run/base/tokenizer.json"), "of another model");
  EXPECT_TRUE(run_.Train().status.ok());
  EXPECT_FALSE(FileExists(run_.io(), run_.Path("run/base/tokenizer.json")));
  EXPECT_TRUE(FileExists(run_.io(), run_.Path("run/model/config.json")));
}

TEST_F(TrainingTest, AStartThatWasKilledAtItsFirstFileDoesNotStandInTheWayEither) {
  ASSERT_TRUE(run_.io().MakeDirectory(run_.Path("run")).ok());
  WriteBytes(run_.io(), run_.Path("run/lock"), "4711\n");
  WriteBytes(run_.io(), run_.Path("run/job.json.tmp-4711-0"), "{");
  EXPECT_TRUE(run_.Train().status.ok());
  EXPECT_FALSE(FileExists(run_.io(), run_.Path("run/job.json.tmp-4711-0")));
}

class SmallDisk : public RecordingIo {
 public:
  using RecordingIo::RecordingIo;
  absl::StatusOr<Bytes> FreeSpace(const std::string&) override { return 1_KiB; }
};

TEST_F(TrainingTest, ADiskThatCannotHoldTheCheckpointsIsRefusedBeforeAnythingIsMade) {
  SmallDisk disk(run_.io());
  const absl::Status status =
      BeginTraining(run_.Context(disk), run_.settings, run_.model(), run_.Prepare()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_FALSE(FileExists(run_.io(), run_.settings.folder));
}

TEST_F(TrainingTest, ALockThatIsTakenBetweenPreparingAndBeginningIsRespected) {
  PreparedTraining prepared = run_.Prepare();
  ASSERT_TRUE(run_.io().MakeDirectory(run_.settings.folder).ok());
  const absl::StatusOr<RunLock> lock = RunLock::Acquire(run_.io(), run_.settings.folder);
  ASSERT_TRUE(lock.ok()) << lock.status();
  const absl::Status status =
      BeginTraining(run_.Context(), run_.settings, run_.model(), std::move(prepared)).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << status;
  EXPECT_FALSE(FileExists(run_.io(), run_.Path("run/job.json")));
}

}  // namespace
}  // namespace horizon

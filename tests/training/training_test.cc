// The steps of a training, one after the other: what each makes is what the next uses.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/run_lock.h"
#include "schedule/verify_schedule.h"
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

#include "training/prepare_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/sample_lengths.h"
#include "runtime/checkpoint/run_lock.h"
#include "schedule/load_files.h"
#include "tests/model/test_files.h"
#include "tests/training/small_run.h"

namespace horizon {
namespace {

using testing::HasSubstr;

class PrepareTrainingTest : public testing::Test {
 protected:
  // Nothing that can be refused without it is refused after a machine was measured.
  void ExpectRefused(absl::StatusCode code, const std::string& message, int machines = 0) {
    const absl::Status status =
        PrepareTraining(run_.Context(), run_.settings, run_.model()).status();
    EXPECT_EQ(status.code(), code) << status;
    EXPECT_THAT(std::string(status.message()), HasSubstr(message));
    EXPECT_EQ(run_.machine_requests, machines);
  }

  SmallRun run_;
};

TEST_F(PrepareTrainingTest, ANewRunIsPlannedAndWritesOnlyTheTokenisedData) {
  const PreparedTraining prepared = run_.Prepare();
  EXPECT_FALSE(prepared.lock.has_value());
  EXPECT_FALSE(prepared.resume.has_value());
  ASSERT_FALSE(prepared.complete());
  EXPECT_EQ(run_.machine_requests, 1);
  EXPECT_GT(prepared.planned->plan.prediction.step_seconds, 0);
  EXPECT_FALSE(FileExists(run_.io(), run_.settings.folder));
}

TEST_F(PrepareTrainingTest, AFolderThatAnotherProcessWorksInIsRefused) {
  ASSERT_TRUE(run_.io().MakeDirectory(run_.settings.folder).ok());
  const absl::StatusOr<RunLock> lock = RunLock::Acquire(run_.io(), run_.settings.folder);
  ASSERT_TRUE(lock.ok()) << lock.status();
  run_.settings.resume = "auto";
  ExpectRefused(absl::StatusCode::kFailedPrecondition, run_.settings.folder);
}

TEST_F(PrepareTrainingTest, AFolderWithFilesNeedsAWordAboutResuming) {
  ASSERT_TRUE(run_.io().MakeDirectory(run_.settings.folder).ok());
  WriteBytes(run_.io(), run_.settings.folder + "/notes.txt", "mine");
  ExpectRefused(absl::StatusCode::kInvalidArgument, "is not empty");
}

TEST_F(PrepareTrainingTest, APathWithoutACheckpointIsNotFound) {
  run_.settings.resume = run_.Path("elsewhere");
  ExpectRefused(absl::StatusCode::kNotFound, "elsewhere");
}

TEST_F(PrepareTrainingTest, AModelWithoutWeightsNeedsRandomOnes) {
  run_.settings.initial_weights = FolderWeights{.folder = run_.settings.job.model};
  ExpectRefused(absl::StatusCode::kInvalidArgument, "--init random");
}

TEST_F(PrepareTrainingTest, DataThatIsNotThereIsNotFound) {
  run_.settings.job.data = run_.Path("none.jsonl");
  ExpectRefused(absl::StatusCode::kNotFound, "none.jsonl");
}

TEST_F(PrepareTrainingTest, ADeviceThatIsTooSmallSaysWhatWouldFit) {
  run_.settings.plan.device_memory = 64_KiB;
  ExpectRefused(absl::StatusCode::kFailedPrecondition, "what would make it fit", 1);
}

TEST_F(PrepareTrainingTest, ErrorsOfTheMachineArePassedOn) {
  TrainingContext context = run_.Context();
  context.machine = []() -> absl::StatusOr<HardwareProfile> {
    return absl::UnavailableError("no machine");
  };
  EXPECT_EQ(PrepareTraining(context, run_.settings, run_.model()).status(),
            absl::UnavailableError("no machine"));
}

TEST_F(PrepareTrainingTest, AnotherJobThanTheCheckpointsIsRefused) {
  ASSERT_TRUE(run_.Train().status.ok());
  run_.machine_requests = 0;
  run_.settings.resume = "auto";
  run_.settings.job.learning_rate *= 2;
  ExpectRefused(absl::StatusCode::kInvalidArgument, "learning_rate");
}

// Samples of 8, 8 and 15 tokens share a row of 32 with one token of padding.
TEST_F(PrepareTrainingTest, TheLengthsOfThePackedSamplesAreInThePlanAndTheRun) {
  std::string lines;
  for (int row = 0; row < 4; ++row) {
    for (const int length : {8, 8, 15}) {
      lines += "{\"input_ids\": [1";
      for (int i = 1; i < length; ++i) lines += ",2";
      lines += "]}\n";
    }
  }
  WriteBytes(run_.io(), run_.Path("data.jsonl"), lines);
  const std::vector<SampleLength> lengths = {{1, 3}, {8, 6}, {15, 3}};
  const PreparedTraining prepared = run_.Prepare();
  EXPECT_EQ(prepared.job.sample_lengths, lengths);
  EXPECT_EQ(prepared.planned->schedule.job.sample_lengths, lengths);
  EXPECT_THAT(run_.LogText(), HasSubstr("micro-batch 1 x 32 tokens in samples of 8, "));

  // The run keeps them, its checkpoint does not, and it goes on whatever they are.
  ASSERT_TRUE(run_.Train().status.ok());
  const absl::StatusOr<TrainingJob> job = LoadJob(run_.io(), run_.settings.folder + "/job.json");
  ASSERT_TRUE(job.ok()) << job.status();
  EXPECT_EQ(job->sample_lengths, lengths);
  run_.settings.resume = "auto";
  run_.settings.job.steps = 4;
  const PreparedTraining resumed = run_.Prepare();
  ASSERT_TRUE(resumed.resume.has_value());
  EXPECT_TRUE(resumed.resume->manifest().facts.job.sample_lengths.empty());
  EXPECT_EQ(resumed.job.sample_lengths, (std::vector<SampleLength>{{1, 4}, {8, 8}, {15, 4}}));
}

// Rows that are one sample each, and rows without packing.
TEST_F(PrepareTrainingTest, FullRowsNeedNoLengthsAndPaddedOnesHaveTheirPadding) {
  EXPECT_TRUE(run_.Prepare().job.sample_lengths.empty());
  run_.settings.data.packing = false;
  EXPECT_TRUE(run_.Prepare().job.sample_lengths.empty());
  WriteBytes(run_.io(), run_.Path("data.jsonl"), "{\"input_ids\": [1, 2, 3, 4, 5]}\n");
  EXPECT_EQ(run_.Prepare().job.sample_lengths, (std::vector<SampleLength>{{5, 1}, {27, 1}}));
}

TEST_F(PrepareTrainingTest, ARunWhoseStepsAreDoneIsCompleteAndNeedsNoMachine) {
  ASSERT_TRUE(run_.Train().status.ok());
  run_.machine_requests = 0;
  run_.settings.resume = "auto";
  const PreparedTraining prepared = run_.Prepare();
  EXPECT_TRUE(prepared.complete());
  EXPECT_TRUE(prepared.lock.has_value());
  EXPECT_EQ(run_.machine_requests, 0);
}

}  // namespace
}  // namespace horizon

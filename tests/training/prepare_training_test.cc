#include "training/prepare_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "runtime/checkpoint/run_lock.h"
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

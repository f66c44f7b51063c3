// Finished runs that go on: with more steps, more epochs, or a new learning-rate schedule.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "runtime/execution/learning_rate.h"
#include "tests/model/test_files.h"
#include "tests/training/small_run.h"

namespace horizon {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class ExtendTest : public testing::Test {
 protected:
  ExtendTest() {
    run_.settings.save.every = 1;
    run_.settings.save.keep = 100;
    job().steps = 3;
  }
  TrainingJob& job() { return run_.settings.job; }

  std::string Checkpoint(const std::string& folder, int64_t step) {
    return StrCat(run_.Path(folder), "/checkpoints/step-0000000", step);
  }
  // Masters and moments after a step.
  std::string State(const std::string& folder, int64_t step) {
    const std::string path = Checkpoint(folder, step);
    return ReadBytes(run_.io(), path + "/model.safetensors") +
           ReadBytes(run_.io(), path + "/low.safetensors") +
           ReadBytes(run_.io(), path + "/moments.safetensors");
  }
  void Train(const std::string& folder, std::optional<std::string> resume = std::nullopt) {
    run_.settings.folder = run_.Path(folder);
    run_.settings.resume = std::move(resume);
    const FinishedTraining finished = run_.Train();
    ASSERT_TRUE(finished.status.ok()) << finished.status;
  }
  std::vector<double> LearningRates(const std::string& folder) {
    std::vector<double> rates;
    const std::string text = ReadBytes(run_.io(), run_.Path(folder) + "/metrics.jsonl");
    for (size_t begin = 0; begin < text.size(); begin = text.find('\n', begin) + 1) {
      const absl::StatusOr<Document> line =
          ParseJson("metrics", text.substr(begin, text.find('\n', begin) - begin));
      EXPECT_TRUE(line.ok()) << line.status();
      const Value& rate = *line->root.Find("learning_rate");
      rates.push_back(rate.As<double>() != nullptr ? *rate.As<double>()
                                                   : static_cast<double>(*rate.As<int64_t>()));
    }
    return rates;
  }
  std::string Refusal() {
    const absl::Status status =
        PrepareTraining(run_.Context(), run_.settings, run_.model()).status();
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  }
  std::string AnswerOfComplete() {
    run_.settings.resume = "auto";
    const absl::StatusOr<TrainingAnswer> answer =
        FinishComplete(run_.Context(), run_.settings, run_.model(), run_.Prepare());
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() ? answer->text : "";
  }

  SmallRun run_;
};

TEST_F(ExtendTest, WithAConstantRateMoreStepsGiveTheLongerRun) {
  job().warmup_steps = 2;
  Train("run");
  EXPECT_THAT(AnswerOfComplete(), AllOf(HasSubstr("raise --steps to"), Not(HasSubstr("restart"))));
  job().steps = 6;
  Train("run", "auto");
  Train("whole");
  EXPECT_EQ(State("run", 6), State("whole", 6));
  EXPECT_EQ(LearningRates("run"), LearningRates("whole"));
}

// Killed between the last save of the longer run and its export.
TEST_F(ExtendTest, TheModelOfTheShorterRunIsNotTakenForThatOfTheLongerOne) {
  Train("run");
  const std::string weights = run_.Path("run/model/model.safetensors");
  const std::string shorter = ReadBytes(run_.io(), weights);
  job().steps = 6;
  Train("run", "auto");
  const std::string longer = ReadBytes(run_.io(), weights);
  ASSERT_NE(longer, shorter);
  AnswerOfComplete();
  EXPECT_EQ(ReadBytes(run_.io(), weights), longer);
  WriteBytes(run_.io(), weights, shorter);
  ASSERT_TRUE(run_.io().Unlink(run_.Path("run/run.json")).ok());
  AnswerOfComplete();
  EXPECT_EQ(ReadBytes(run_.io(), weights), longer);
}

// Nothing but the rates changes: where they do not, the bits are those of the longer run.
TEST_F(ExtendTest, ANewScheduleKeepsWeightsAndMoments) {
  Train("run");
  job().steps = 6;
  run_.settings.restart_schedule = true;
  Train("run", "auto");
  run_.settings.restart_schedule = false;
  Train("whole");
  EXPECT_EQ(State("run", 6), State("whole", 6));
}

TEST_F(ExtendTest, ACurveOfRatesNeedsANewScheduleOverTheAddedSteps) {
  for (const LearningRateSchedule kind :
       {LearningRateSchedule::kCosine, LearningRateSchedule::kLinear}) {
    SCOPED_TRACE(std::string(ToString(kind)));
    const std::string name(ToString(kind));
    job().learning_rate_schedule = kind;
    job().warmup_steps = 1;
    job().steps = 3;
    run_.settings.restart_schedule = false;
    Train(name);
    EXPECT_THAT(AnswerOfComplete(), HasSubstr("raise --steps and give --restart-schedule"));
    job().steps = 8;
    EXPECT_THAT(Refusal(),
                AllOf(HasSubstr("steps: saved 3, asked 8"), HasSubstr("--restart-schedule")));
    run_.settings.restart_schedule = true;
    Train(name, "auto");
    std::vector<double> wanted;
    TrainingJob leg = job();
    for (const int64_t steps : {3, 5}) {
      leg.steps = steps;
      for (int64_t step = 1; step <= steps; ++step) wanted.push_back(LearningRateAt(leg, step));
    }
    EXPECT_EQ(LearningRates(name), wanted);
  }
}

TEST_F(ExtendTest, AnExtendedRunThatIsKilledGoesOnExactly) {
  job().learning_rate_schedule = LearningRateSchedule::kCosine;
  Train("run");
  job().steps = 7;
  job().learning_rate *= 0.5;
  run_.settings.restart_schedule = true;
  Train("whole", Checkpoint("run", 3));
  const std::string state = State("whole", 7);
  // Killed before the first save: only the folder's job.json knows that it was extended.
  run_.settings.folder = run_.Path("run");
  run_.settings.resume = "auto";
  { const BegunTraining begun = run_.Begin(); }
  run_.settings.restart_schedule = false;
  Train("run", "auto");
  EXPECT_EQ(State("run", 7), state);
  // Killed after a save, by whoever starts it again, with or without the flag.
  for (const bool flag : {false, true}) {
    for (int64_t step = 4; step < 7; ++step) {
      run_.settings.restart_schedule = flag;
      const std::string folder = StrCat("from", step, flag ? "flag" : "");
      Train(folder, Checkpoint("whole", step));
      EXPECT_EQ(State(folder, 7), state) << step;
    }
  }
  // A third part begins at the end of the second.
  run_.settings.restart_schedule = false;
  run_.settings.folder = run_.Path("run");
  run_.settings.resume = "auto";
  job().steps = 9;
  EXPECT_THAT(Refusal(), HasSubstr("steps: saved 7, asked 9"));
  run_.settings.restart_schedule = true;
  EXPECT_EQ(run_.Prepare().job.schedule_start, 7);
}

// A folder whose extension was begun with other settings does not excuse these.
TEST_F(ExtendTest, AnExtensionThatWasBegunWithOtherSettingsIsNotTakenUp) {
  job().learning_rate_schedule = LearningRateSchedule::kLinear;
  Train("run");
  job().steps = 7;
  run_.settings.restart_schedule = true;
  run_.settings.resume = "auto";
  { const BegunTraining begun = run_.Begin(); }
  run_.settings.restart_schedule = false;
  job().steps = 8;
  EXPECT_THAT(Refusal(), HasSubstr("steps: saved 3, asked 8"));
  job().steps = 7;
  EXPECT_EQ(run_.Prepare().job.schedule_start, 3);
}

TEST_F(ExtendTest, EpochsAreExtendedLikeSteps) {
  job().learning_rate_schedule = LearningRateSchedule::kCosine;
  job().micro_batch = 2;
  job().accumulation = 4;  // 12 rows an epoch: a step of 8 and one of 4
  job().epochs = 1;
  Train("run");
  EXPECT_THAT(AnswerOfComplete(), HasSubstr("raise --epochs and give --restart-schedule"));
  job().epochs = 2;
  EXPECT_THAT(Refusal(), HasSubstr("steps: saved 2, asked 4"));
  run_.settings.restart_schedule = true;
  Train("run", "auto");
  EXPECT_EQ(LearningRates("run").size(), 4u);
  run_.settings.restart_schedule = false;
  Train("again", Checkpoint("run", 3));
  EXPECT_EQ(State("again", 4), State("run", 4));
}

TEST_F(ExtendTest, ANewScheduleIsForARunThatGoesOn) {
  run_.settings.restart_schedule = true;
  EXPECT_THAT(Refusal(), HasSubstr("has no checkpoint"));
}

TEST_F(ExtendTest, AWarmUpThatIsLongerThanTheAddedStepsIsRefused) {
  Train("run");
  job().steps = 5;
  job().warmup_steps = 3;
  run_.settings.restart_schedule = true;
  run_.settings.resume = "auto";
  EXPECT_THAT(Refusal(), HasSubstr("warmup_steps 3 is more than the added steps 2"));
}

}  // namespace
}  // namespace horizon

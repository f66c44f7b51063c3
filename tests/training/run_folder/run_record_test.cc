#include "training/run_folder/run_record.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>

#include "common/files/faulting_io.h"
#include "tests/model/test_files.h"
#include "tests/report/made_run.h"

namespace horizon {
namespace {

using ::testing::ElementsAre;

class RunRecordTest : public ::testing::Test {
 protected:
  RunRecordTest() {
    planned_.profile = view_.machine;
    planned_.plan = view_.plan;
    planned_.prediction = view_.prediction.prediction;
    planned_.software = view_.prediction.software;
    planned_.arena_bytes = view_.prediction.arena_bytes;
    planned_.timelines = *view_.timelines;
    planned_.timelines.step = 0;
    planned_.timelines.measured = {};
    planned_.timelines.mean_ns.clear();
  }

  MeasuredStep Measured(int64_t step, bool last = false) {
    StepDurations durations(view_.schedule.steady.operations.size(), step);
    medians_ = MeanDurations(1);
    medians_.Add(std::move(durations));
    return {.step = step, .timeline = timeline_, .durations = medians_, .last = last};
  }
  int64_t KeptStep() {
    const absl::StatusOr<StepTimelines> kept = LoadTimelines(*io_, folder_ + "/timelines.json");
    EXPECT_TRUE(kept.ok()) << kept.status();
    return kept.ok() ? kept->step : -1;
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  const std::string folder_ = MakeTestFolder(*io_);
  const RunView view_ = MadeView();
  const Timeline timeline_ = TimelineOf(view_.schedule, view_.timelines->measured);
  MeanDurations medians_{1};
  TrainingPlan planned_;
  VirtualClock clock_{VirtualClock::Mode::kSleepAdvances};
  Log log_{stderr, LogLevel::kError, LogStyle::kPlain};
};

TEST_F(RunRecordTest, WritesThePredictionAndRemovesWhatAnEarlierRunLeft) {
  WriteBytes(*io_, folder_ + "/run.json", "{}");
  WriteBytes(*io_, folder_ + "/timelines.json", "{}");
  ASSERT_TRUE(WriteRunRecord(*io_, folder_, view_.spec, planned_).ok());
  EXPECT_THAT(*io_->List(folder_),
              ElementsAre("machine.json", "plan.json", "prediction.json", "timelines.json"));
  EXPECT_EQ(KeptStep(), 0);
  const absl::StatusOr<HardwareProfile> machine = LoadProfile(*io_, folder_ + "/machine.json");
  ASSERT_TRUE(machine.ok()) << machine.status();
  EXPECT_EQ(WriteProfile(*machine), WriteProfile(view_.machine));
}

// Every call that can fail fails once: prediction.json is there only when all else is.
TEST_F(RunRecordTest, APredictionStandsOnlyBesideAWholeRecord) {
  int failures = 0;
  for (uint64_t call = 1;; ++call) {
    const std::string folder = folder_ + "/" + std::to_string(call);
    ASSERT_TRUE(io_->MakeDirectory(folder).ok());
    WriteBytes(*io_, folder + "/prediction.json", "old");
    FaultingIo io(*io_, {.at_call = call});
    const absl::Status written = WriteRunRecord(io, folder, view_.spec, planned_);
    if (written.ok()) break;
    ++failures;
    const absl::StatusOr<std::string> kept = ReadTextFile(*io_, folder + "/prediction.json");
    if (!kept.ok() || *kept == "old") continue;
    EXPECT_TRUE(LoadTimelines(*io_, folder + "/timelines.json").ok()) << call;
    EXPECT_TRUE(LoadProfile(*io_, folder + "/machine.json").ok()) << call;
  }
  EXPECT_GT(failures, 10);
}

TEST_F(RunRecordTest, TimelinesAreKeptAtOnceThenNowAndThenAndAtTheEnd) {
  TimelineRecorder recorder(*io_, clock_, log_, folder_, view_.schedule, planned_.timelines);
  recorder.Record(Measured(2));
  EXPECT_EQ(KeptStep(), 2);
  clock_.Advance(std::chrono::milliseconds(4999));
  recorder.Record(Measured(3));
  EXPECT_EQ(KeptStep(), 2);
  clock_.Advance(std::chrono::milliseconds(1));
  recorder.Record(Measured(4));
  EXPECT_EQ(KeptStep(), 4);
  recorder.Record(Measured(5));
  EXPECT_EQ(KeptStep(), 4);
  recorder.Record(Measured(5, true));
  EXPECT_EQ(KeptStep(), 5);
  const absl::StatusOr<StepTimelines> kept = LoadTimelines(*io_, folder_ + "/timelines.json");
  EXPECT_EQ(kept->measured, view_.timelines->measured);
  EXPECT_EQ(kept->mean_ns[0], 5);
}

TEST_F(RunRecordTest, OnASlowDiskTimelinesTakeNoMoreThanAHundredthOfTheTime) {
  FaultingIo slow(*io_,
                  {.kind = FaultPlan::Kind::kDelay, .at_call = 2, .delay = std::chrono::seconds(1)},
                  &clock_);
  TimelineRecorder recorder(slow, clock_, log_, folder_, view_.schedule, planned_.timelines);
  recorder.Record(Measured(2));
  clock_.Advance(std::chrono::seconds(99));
  recorder.Record(Measured(3));
  EXPECT_EQ(KeptStep(), 2);
  clock_.Advance(std::chrono::seconds(1));
  recorder.Record(Measured(4));
  EXPECT_EQ(KeptStep(), 4);
}

TEST_F(RunRecordTest, AFileThatCannotBeWrittenDoesNotEndTheRun) {
  TimelineRecorder recorder(*io_, clock_, log_, folder_ + "/none", view_.schedule,
                            planned_.timelines);
  recorder.Record(Measured(2));
  recorder.Record(Measured(2, true));
  EXPECT_FALSE(io_->Info(folder_ + "/none").ok());
}

}  // namespace
}  // namespace horizon

#include "runtime/loop/tensorboard_sink.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cerrno>
#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "common/files/faulting_io.h"
#include "tests/model/test_files.h"
#include "tests/runtime/loop/event_file_reader.h"

namespace horizon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::StartsWith;

StepMetrics Step(int64_t step, double loss) {
  return {.step = step, .loss = loss, .gradient_norm = 0.5, .learning_rate = 0.001};
}

class TensorboardSinkTest : public testing::Test {
 protected:
  // A process that writes from this step on.
  std::unique_ptr<MetricsSink> Begin(int64_t first_step, Io* io = nullptr) {
    std::unique_ptr<MetricsSink> sink =
        MakeTensorboardSink({.io = io == nullptr ? *io_ : *io,
                             .clock = clock_,
                             .folder = folder_,
                             .first_step = first_step,
                             .warn = [this](const auto& text) { warnings_.push_back(text); }});
    EXPECT_TRUE(sink->Open().ok());
    return sink;
  }
  std::vector<std::string> Names() { return *io_->List(folder_); }
  std::vector<std::string> Files() {
    std::vector<std::string> files;
    for (const std::string& name : Names()) {
      files.push_back(ReadBytes(*io_, JoinPath(folder_, name)));
    }
    return files;
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  VirtualClock clock_;
  const std::string folder_ = MakeTestFolder(*io_);
  std::vector<std::string> warnings_;
};

TEST_F(TensorboardSinkTest, AFileBeginsWithItsVersionAndTheStepFromWhichItCounts) {
  clock_.Advance(std::chrono::milliseconds(1'700'000'000'000));
  const std::unique_ptr<MetricsSink> sink = Begin(3);
  EXPECT_THAT(Names(), ElementsAre());  // until there is a figure
  clock_.Advance(std::chrono::milliseconds(1500));
  sink->AddStep(Step(3, 2.5));
  sink->AddStep(Step(4, std::numeric_limits<double>::quiet_NaN()));
  sink->AddEvaluation({.step = 4, .loss = 3.25});
  StepMetrics with_epoch = Step(5, 2.0);
  with_epoch.epoch = 1.25;
  sink->AddStep(with_epoch);
  EXPECT_THAT(Names(), ElementsAre(StartsWith("events.out.tfevents.1700000000.")));
  const std::vector<ReadEvent> events = ReadEvents(Files().at(0));
  ASSERT_EQ(events.size(), 6u);
  EXPECT_EQ(events[0].file_version, "brain.Event:2");
  EXPECT_EQ(events[0].unix_seconds, 1.7e9);
  EXPECT_TRUE(events[1].session_start);
  EXPECT_EQ(events[1].step, 3);
  EXPECT_EQ(events[2].unix_seconds, 1.7e9 + 1.5);
  ASSERT_EQ(events[2].values.size(), 3u);
  EXPECT_EQ(events[2].values[0].tag, "train/loss");
  EXPECT_EQ(events[2].values[0].number, 2.5f);
  EXPECT_EQ(events[2].values[0].plugin, "scalars");
  EXPECT_EQ(events[2].values[1].tag, "train/grad_norm");
  EXPECT_EQ(events[2].values[1].number, 0.5f);
  EXPECT_EQ(events[2].values[2].tag, "train/learning_rate");
  EXPECT_EQ(events[2].values[2].number, 0.001f);
  EXPECT_TRUE(std::isnan(events[3].values[0].number));
  EXPECT_EQ(events[3].values[0].plugin, "");  // only where a tag begins
  ASSERT_EQ(events[4].values.size(), 1u);
  EXPECT_EQ(events[4].step, 4);
  EXPECT_EQ(events[4].values[0].tag, "eval/loss");
  EXPECT_EQ(events[4].values[0].plugin, "scalars");
  ASSERT_EQ(events[5].values.size(), 4u);
  EXPECT_EQ(events[5].values[3].tag, "train/epoch");
  EXPECT_EQ(events[5].values[3].number, 1.25f);
  EXPECT_EQ(events[5].values[3].plugin, "scalars");
}

TEST_F(TensorboardSinkTest, AStepOfExpertsAddsHowTheyWereChosen) {
  const std::unique_ptr<MetricsSink> sink = Begin(1);
  StepMetrics step = Step(1, 2.5);
  step.routing = {.aux_loss = 2.25, .busiest = 0.75, .idlest = 0.125};
  sink->AddStep(step);
  sink->AddRouting({.step = 1, .first_step = 1});  // of which there is no curve
  const std::vector<ReadEvent> events = ReadEvents(Files().at(0));
  ASSERT_EQ(events.size(), 3u);
  ASSERT_EQ(events[2].values.size(), 6u);
  EXPECT_EQ(events[2].values[3].tag, "train/router_aux_loss");
  EXPECT_EQ(events[2].values[3].number, 2.25f);
  EXPECT_EQ(events[2].values[4].tag, "train/busiest_expert");
  EXPECT_EQ(events[2].values[4].number, 0.75f);
  EXPECT_EQ(events[2].values[5].tag, "train/idlest_expert");
  EXPECT_EQ(events[2].values[5].number, 0.125f);
  EXPECT_EQ(events[2].values[5].plugin, "scalars");
}

TEST_F(TensorboardSinkTest, ARunThatGoesOnShowsEveryStepOnceAlsoWhenTheClockWasSetBack) {
  clock_.Advance(std::chrono::seconds(1'000'000));
  std::unique_ptr<MetricsSink> sink = Begin(1);
  for (int64_t step = 1; step <= 5; ++step) sink->AddStep(Step(step, 1.0));
  sink.reset();
  // Within the same second, and then in a file that the clock says is older than both.
  sink = Begin(3);
  for (int64_t step = 3; step <= 6; ++step) sink->AddStep(Step(step, 2.0));
  sink.reset();
  VirtualClock earlier;
  earlier.Advance(std::chrono::seconds(1000));
  sink = MakeTensorboardSink(
      {.io = *io_, .clock = earlier, .folder = folder_, .first_step = 5, .warn = [](const auto&) {
       }});
  ASSERT_TRUE(sink->Open().ok());
  for (int64_t step = 5; step <= 7; ++step) sink->AddStep(Step(step, 3.0));
  sink.reset();
  EXPECT_EQ(Names().size(), 3u);
  EXPECT_THAT(ShownScalars(Files())["train/loss"],
              ElementsAre(Pair(1, 1.f), Pair(2, 1.f), Pair(3, 2.f), Pair(4, 2.f), Pair(5, 3.f),
                          Pair(6, 3.f), Pair(7, 3.f)));
}

TEST_F(TensorboardSinkTest, WhicheverCallFailsAFileHasWholeRecordsAndNoStepIsLost) {
  for (const FaultPlan::Kind kind : {FaultPlan::Kind::kFail, FaultPlan::Kind::kShort}) {
    int complete = 0;
    const auto run = [&](FaultingIo& io) {
      for (const std::string& name : Names()) (void)io_->Unlink(JoinPath(folder_, name));
      warnings_.clear();
      const std::unique_ptr<MetricsSink> sink = MakeTensorboardSink(
          {.io = io, .clock = clock_, .folder = folder_, .warn = [this](const auto& text) {
             warnings_.push_back(text);
           }});
      if (!sink->Open().ok()) return;  // the folder could not be listed
      for (int64_t step = 1; step <= 4; ++step) {
        sink->AddStep(Step(step, 1.0));
        if (Names().empty()) continue;
        const std::vector<ReadEvent> events = ReadEvents(Files().at(0));
        EXPECT_TRUE(events.empty() || events[0].file_version == "brain.Event:2");
      }
      sink->Close();
      EXPECT_LE(warnings_.size(), 2u);
      // A disk that never takes anything again loses records and says so.
      const bool lost = !warnings_.empty() && warnings_.back().ends_with(": lost");
      EXPECT_EQ(ShownScalars(Files())["train/loss"].size() == 4, !lost);
      complete += lost ? 0 : 1;
    };
    EXPECT_GT(ForEachFault(*io_, {.kind = kind, .error_number = ENOSPC}, run), 5u);
    EXPECT_GT(complete, 5);
  }
}

TEST_F(TensorboardSinkTest, AFullDiskIsSaidInWordsAboutRecords) {
  FaultingIo io(*io_, {.extent = FaultPlan::Extent::kFromThereOn, .at_call = 6});
  const std::unique_ptr<MetricsSink> sink = Begin(1, &io);
  for (int64_t step = 1; step <= 9; ++step) sink->AddStep(Step(step, 1.0));
  sink->Close();
  ASSERT_EQ(warnings_.size(), 2u);
  EXPECT_THAT(warnings_[0], HasSubstr("Training goes on; the records of "));
  EXPECT_THAT(warnings_[1], HasSubstr("could not be written: lost"));
}

TEST_F(TensorboardSinkTest, WithoutItsFormatThereAreLinesOnly) {
  const auto names_with = [&](const std::vector<MetricsFormat>& formats) {
    const std::unique_ptr<MetricsSink> sink = MakeMetricsSink(
        {.io = *io_, .clock = clock_, .folder = folder_, .warn = [](const auto&) {}}, formats);
    EXPECT_TRUE(sink->Open().ok());
    sink->AddStep(Step(1, 1.0));
    sink->AddEvaluation({.step = 1, .loss = 2.0});
    sink->Close();
    return Names();
  };
  EXPECT_THAT(names_with({}), ElementsAre("eval.jsonl", "metrics.jsonl"));
  EXPECT_THAT(names_with({MetricsFormat::kJsonl}), ElementsAre("eval.jsonl", "metrics.jsonl"));
  EXPECT_THAT(names_with({MetricsFormat::kTensorboard}),
              ElementsAre("eval.jsonl", StartsWith(kEventFilePrefix), "metrics.jsonl"));
}

}  // namespace
}  // namespace horizon

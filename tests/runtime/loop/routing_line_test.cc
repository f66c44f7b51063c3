#include "runtime/loop/routing_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/files/faulting_io.h"
#include "runtime/loop/metrics.h"
#include "runtime/loop/metrics_sink.h"
#include "tests/model/test_files.h"

namespace horizon {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// What 4 tokens of one step chose: 2 of 3 experts each, in 2 layers.
RoutingLine OfStep(int64_t step) {
  return {.step = step,
          .first_step = step,
          .experts = 3,
          .experts_per_token = 2,
          .layers = {1, 3},
          .tokens = 4,
          .counts = {4, 3, 1, 2, 2, 4}};
}

TEST(RoutingLine, StepsAreAddedUp) {
  RoutingLine sum;
  AddSteps(OfStep(7), sum);
  EXPECT_EQ(sum, OfStep(7));
  RoutingLine other = OfStep(8);
  other.tokens = 1;
  other.counts = {1, 0, 1, 0, 1, 1};
  AddSteps(other, sum);
  EXPECT_EQ(sum, (RoutingLine{.step = 8,
                              .first_step = 7,
                              .experts = 3,
                              .experts_per_token = 2,
                              .layers = {1, 3},
                              .tokens = 5,
                              .counts = {5, 3, 2, 2, 3, 5}}));
}

TEST(RoutingLine, IsOneLineWithARowOfCountsForEachLayer) {
  EXPECT_EQ(RoutingText(OfStep(7)),
            R"({"step": 7, "first_step": 7, "experts": 3, "experts_per_token": 2, )"
            R"("layers": [1, 3], "tokens": 4, "counts": [[4, 3, 1], [2, 2, 4]]})");
}

TEST(RoutingLine, ExtremesAreOverAllLayersAndTheFirstIfSeveralAreAlike) {
  const std::optional<RoutingExtremes> found = ExtremesOf(OfStep(7));
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->busiest.layer, 1);
  EXPECT_EQ(found->busiest.expert, 0);
  EXPECT_EQ(found->busiest.share, 1.0);
  EXPECT_EQ(found->idlest.layer, 1);
  EXPECT_EQ(found->idlest.expert, 2);
  EXPECT_EQ(found->idlest.share, 0.25);
  RoutingLine other = OfStep(7);
  other.counts = {3, 3, 2, 0, 4, 4};
  EXPECT_EQ(ExtremesOf(other)->busiest.layer, 3);
  EXPECT_EQ(ExtremesOf(other)->busiest.expert, 1);
  EXPECT_EQ(ExtremesOf(other)->idlest.layer, 3);
  EXPECT_EQ(ExtremesOf(other)->idlest.expert, 0);
}

TEST(RoutingLine, WithoutTokensThereAreNoExtremes) {
  EXPECT_FALSE(ExtremesOf({}).has_value());
  RoutingLine padding = OfStep(7);
  padding.tokens = 0;
  padding.counts.assign(6, 0);
  EXPECT_FALSE(ExtremesOf(padding).has_value());
}

class RoutingFileTest : public testing::Test {
 protected:
  std::unique_ptr<MetricsSink> Begin(Io& io) {
    std::unique_ptr<MetricsSink> sink =
        MakeMetricsSink({.io = io,
                         .clock = clock_,
                         .folder = folder_,
                         .warn = [this](const auto& text) { warnings_.push_back(text); }},
                        {MetricsFormat::kTensorboard});
    EXPECT_TRUE(sink->Open().ok());
    return sink;
  }
  std::string Text() { return ReadBytes(*io_, JoinPath(folder_, "routing.jsonl")); }
  static std::string Lines(int64_t count) {
    std::string text;
    for (int64_t step = 1; step <= count; ++step) text += RoutingText(OfStep(step)) + "\n";
    return text;
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
  VirtualClock clock_;
  const std::string folder_ = MakeTestFolder(*io_);
  std::vector<std::string> warnings_;
};

TEST_F(RoutingFileTest, IsWrittenLineByLineAndSyncedWithTheOtherFiles) {
  FaultingIo io(*io_, {});
  const std::unique_ptr<MetricsSink> sink = Begin(io);
  sink->AddRouting(OfStep(1));
  EXPECT_EQ(Text(), Lines(1));
  sink->AddRouting(OfStep(2));
  EXPECT_EQ(Text(), Lines(2));
  const auto synced = [&] {
    const std::vector<std::string> calls = io.history();
    return std::count(calls.begin(), calls.end(), "Sync " + JoinPath(folder_, "routing.jsonl"));
  };
  EXPECT_EQ(synced(), 0);
  sink->Sync();
  EXPECT_EQ(synced(), 1);
  sink->Close();
  EXPECT_EQ(Text(), Lines(2));
  EXPECT_THAT(warnings_, ElementsAre());
}

TEST_F(RoutingFileTest, ADenseModelHasNone) {
  const std::unique_ptr<MetricsSink> sink = Begin(*io_);
  sink->AddStep({.step = 1});
  sink->Sync();
  sink->Close();
  EXPECT_FALSE(FileExists(*io_, JoinPath(folder_, "routing.jsonl")));
}

TEST_F(RoutingFileTest, WhicheverCallFailsItHasWholeLinesAndNoneIsLost) {
  for (const FaultPlan::Kind kind : {FaultPlan::Kind::kFail, FaultPlan::Kind::kShort}) {
    int complete = 0;
    const auto run = [&](FaultingIo& io) {
      WriteBytes(*io_, JoinPath(folder_, "routing.jsonl"), "");
      warnings_.clear();
      const std::unique_ptr<MetricsSink> sink =
          MakeMetricsSink({.io = io,
                           .clock = clock_,
                           .folder = folder_,
                           .warn = [this](const auto& text) { warnings_.push_back(text); }},
                          {});
      if (!sink->Open().ok()) return;
      for (int64_t step = 1; step <= 4; ++step) sink->AddRouting(OfStep(step));
      sink->Close();
      // A disk that never takes anything again loses lines and says so.
      const bool lost = !warnings_.empty() && warnings_.back().ends_with(": lost");
      if (lost) {
        EXPECT_THAT(warnings_.back(), HasSubstr("routing.jsonl"));
        EXPECT_TRUE(Lines(4).starts_with(Text())) << Text();
      } else {
        EXPECT_EQ(Text(), Lines(4));
        ++complete;
      }
    };
    EXPECT_GT(ForEachFault(*io_, {.kind = kind, .error_number = ENOSPC}, run), 5u);
    EXPECT_GT(complete, 5);
  }
}

}  // namespace
}  // namespace horizon

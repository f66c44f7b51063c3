// Which plans are run and what is said of their order; their times are for `horizon validate`.
#include "experiments/measured/plan_ranks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>
#include <string>

#include "common/documents/json.h"
#include "planner/machines/machine_catalog.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

RankLimits TinyLimits() {
  RankLimits limits{.name = "tiny",
                    .spec = ModelOf({.layers = 3, .hidden = 64, .intermediate = 96, .vocab = 128})};
  limits.job.sequence = 16;
  return limits;
}

class Ranks : public testing::Test {
 protected:
  void SetUp() override { profile_ = *LoadMachine(*io_, "cpu-desktop"); }
  RankOptions Options() {
    return {.measured = {.io = *io_, .clock = clock_, .profile = profile_, .steps = 2},
            .best = 3,
            .other = 2,
            .rounds = 2};
  }
  const std::unique_ptr<Io> io_ = MakePosixIo();
  RealClock clock_;
  HardwareProfile profile_;
};

TEST_F(Ranks, TheBestPlansAndOthersAreRunAndRanked) {
  std::vector<std::string> announced;
  RankOptions options = Options();
  options.on_case = [&](const std::string& name) { announced.push_back(name); };
  const absl::StatusOr<PlanRanks> ranks = MeasurePlanRanks({TinyLimits()}, options);
  ASSERT_TRUE(ranks.ok()) << ranks.status();
  EXPECT_EQ(announced, std::vector<std::string>{"tiny"});
  const RankCase& tiny = ranks->cases.at(0);
  ASSERT_EQ(tiny.runs.size(), 5u);
  std::set<int64_t> measured;
  for (size_t i = 0; i < 5; ++i) {
    const RankedRun& run = tiny.runs[i];
    EXPECT_EQ(run.predicted_rank, static_cast<int64_t>(i) + 1);
    EXPECT_EQ(run.among_best, i < 3) << i;
    EXPECT_EQ(run.rounds.size(), 2u);
    EXPECT_GT(run.measured, 0);
    measured.insert(run.measured_rank);
    EXPECT_GE(run.predicted, i > 0 ? tiny.runs[i - 1].predicted : 0);
    for (size_t j = 0; j < i; ++j) EXPECT_NE(run.plan, tiny.runs[j].plan);
  }
  EXPECT_EQ(measured, (std::set<int64_t>{1, 2, 3, 4, 5}));
  EXPECT_GE(tiny.regret(), 0);
}

TEST_F(Ranks, ThePlanThatAnotherProfileFindsIsRunToo) {
  RankOptions options = Options();
  options.rounds = 1;
  options.more_rounds_of_choices = 2;
  // The same profile finds the same plan; one without a second core finds another.
  options.measured.other = &profile_;
  absl::StatusOr<PlanRanks> ranks = MeasurePlanRanks({TinyLimits()}, options);
  ASSERT_TRUE(ranks.ok()) << ranks.status();
  EXPECT_TRUE(ranks->cases[0].runs[0].chosen_by_other);
  EXPECT_EQ(ranks->cases[0].other_change(), 0);
  EXPECT_EQ(ranks->cases[0].runs[0].rounds.size(), 1u);
  EXPECT_THAT(ranks->Text(), HasSubstr("the same plan"));
  HardwareProfile small = profile_;
  small.host.cores = 1;
  options.measured.other = &small;
  ranks = MeasurePlanRanks({TinyLimits()}, options);
  ASSERT_TRUE(ranks.ok()) << ranks.status();
  const RankCase& tiny = ranks->cases[0];
  EXPECT_EQ(std::count_if(tiny.runs.begin(), tiny.runs.end(),
                          [](const RankedRun& run) { return run.chosen_by_other; }),
            1);
  EXPECT_FALSE(tiny.runs[0].chosen_by_other);
  // What both choose is run more often, and nothing else.
  for (size_t i = 0; i < tiny.runs.size(); ++i) {
    EXPECT_EQ(tiny.runs[i].rounds.size(), i == 0 || tiny.runs[i].chosen_by_other ? 3u : 1u) << i;
  }
  ASSERT_TRUE(tiny.other_change().has_value());
  EXPECT_GT(*tiny.other_change(), -1);
  EXPECT_THAT(ranks->Json(), HasSubstr("other_change"));
}

TEST_F(Ranks, AnArenaNoPlanFitsIsNamed) {
  RankLimits limits = TinyLimits();
  limits.arena_times = 0.5;
  const absl::Status status = MeasurePlanRanks({limits}, Options()).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()), HasSubstr("tiny: 0 plans fit an arena of "));
}

RankedRun Made(double predicted, double measured) {
  return {.among_best = predicted < 3, .predicted = predicted, .measured = measured};
}

// Predicted 1 2 3, measured 2 3 1: two of three pairs the other way round.
TEST(PlanRanks, TheAnswerHasRanksTauAndWhatAWrongChoiceCosts) {
  RankCase made{.name = "made", .arena = 3_MiB, .link = BytesPerSecond{1e9}};
  made.runs = {Made(3, 0.010), Made(1, 0.020), Made(2, 0.030)};
  RankRuns(made.runs);
  EXPECT_EQ(made.runs[0].predicted, 1);
  EXPECT_EQ(made.runs[0].measured_rank, 2);
  EXPECT_EQ(made.runs[2].measured_rank, 1);
  EXPECT_FALSE(made.best_was_best());
  EXPECT_NEAR(made.regret(), 1, 1e-12);
  EXPECT_NEAR(made.pairs().TauB(), -1.0 / 3, 1e-12);
  RankCase good = made;
  good.name = "good";
  for (RankedRun& run : good.runs) run.measured = run.predicted;
  RankRuns(good.runs);
  EXPECT_TRUE(good.best_was_best());
  const PlanRanks ranks{.cases = {made, good}};
  EXPECT_NEAR(ranks.pairs().TauB(), (4.0 - 2) / 6, 1e-12);
  EXPECT_THAT(ranks.Text(), HasSubstr("measured best in 1 of 2 cases"));
  EXPECT_THAT(ranks.Text(), HasSubstr("100.0 %"));
  EXPECT_THAT(ranks.Text(), HasSubstr("over all cases: 0.33"));
  const absl::StatusOr<Document> json = ParseJson("answer", ranks.Json());
  ASSERT_TRUE(json.ok()) << json.status();
  const Value& first = json->root.Find("cases")->As<Value::Array>()->at(0);
  EXPECT_FALSE(*first.Find("best_was_best")->As<bool>());
  EXPECT_EQ(first.Find("runs")->As<Value::Array>()->size(), 3u);
  EXPECT_NE(first.Find("runs")->As<Value::Array>()->at(0).Find("plan")->Find("buffer_depth"),
            nullptr);
}

// Plans predicted alike stay in the order in which they were found: being measured faster makes
// none of them the one that was chosen.
TEST(PlanRanks, OfPlansPredictedAlikeTheFirstStaysFirst) {
  RankCase made{.name = "made", .arena = 3_MiB, .link = BytesPerSecond{1e9}};
  made.runs = {Made(1, 0.030), Made(1, 0.020), Made(1, 0.010), Made(2, 0.040)};
  made.runs[0].chosen_by_other = true;
  RankRuns(made.runs);
  EXPECT_EQ(made.runs[0].measured, 0.030);
  EXPECT_EQ(made.runs[0].measured_rank, 3);
  EXPECT_FALSE(made.best_was_best());
  EXPECT_NEAR(made.regret(), 2, 1e-12);
  EXPECT_EQ(made.other_change(), 0);
}

// 1, 1.04 and 1.06: only the first and the last are more than 5 % apart, and they are the other way
// round.
TEST(PlanRanks, PairsThatArePredictedApartAreCountedByThemselves) {
  RankCase made{.name = "made", .arena = 3_MiB, .link = BytesPerSecond{1e9}};
  made.runs = {Made(1, 0.030), Made(1.04, 0.020), Made(1.06, 0.010)};
  RankRuns(made.runs);
  EXPECT_EQ(made.pairs().discordant, 3);
  EXPECT_EQ(made.pairs(0.05).discordant, 1);
  EXPECT_EQ(made.pairs(0.05).concordant, 0);
  const PlanRanks ranks{.cases = {made}};
  EXPECT_THAT(ranks.Text(), HasSubstr("of 1 pairs predicted more than 5 % apart 1 were measured"));
  EXPECT_THAT(ranks.Json(), HasSubstr("\"least_apart\""));
}

TEST(PlanRanks, APlanIsSaidInOneLine) {
  StreamPlan plan{.chunk_bytes = 2_MiB, .buffer_depth = 3, .resident_chunks = 4};
  plan.anchor_home = AnchorHome::kHost;
  EXPECT_EQ(ShortPlan(plan),
            "chunk 2 MiB, depth 3, resident 4, K 1, anchors host, slabs 2, threads 1/1/1");
  plan.recompute = false;
  EXPECT_THAT(ShortPlan(plan), HasSubstr("activations kept"));
}

TEST(RankCases, AreThreeModelsUnderFourLimits) {
  const std::vector<RankLimits> all = RankCases(RankSize::kFull);
  EXPECT_EQ(all.size(), 12u);
  std::set<std::string> names;
  for (const RankLimits& limits : all) names.insert(limits.name);
  EXPECT_EQ(names.size(), 12u);
  EXPECT_EQ(RankCases(RankSize::kQuick).size(), 2u);
}

}  // namespace
}  // namespace horizon

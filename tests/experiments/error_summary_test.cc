#include "experiments/error_summary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/experiments/made_runs.h"

namespace horizon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

ExperimentSummary Of(std::vector<ComparedRow> rows, ErrorBounds bounds = {}) {
  return Summarize(bounds, rows);
}

TEST(ErrorSummary, MeanAndWorstAreOfAbsoluteErrors) {
  const ExperimentSummary summary =
      Of({MakeRow({.id = "a", .simulated = 90}), MakeRow({.id = "b", .simulated = 130}),
          MakeRow({.id = "c", .simulated = 80})});
  EXPECT_EQ(summary.sound.rows, 3);
  EXPECT_NEAR(summary.sound.mean, 0.2, 1e-12);
  EXPECT_NEAR(summary.sound.worst, 0.3, 1e-12);
  EXPECT_EQ(summary.sound.worst_row, "b, megatrain");
}

TEST(ErrorSummary, RowsAreCountedByWhatTheyAreUsedFor) {
  const ExperimentSummary summary =
      Of({MakeRow({.simulated = 101}), MakeRow({.metric = Metric::kHostGib, .simulated = 102}),
          MakeRow({.simulated = 103, .tier = Tier::kB}),
          MakeRow({.metric = Metric::kHostGib, .simulated = 104, .tier = Tier::kB}),
          MakeRow({.simulated = 105, .use = RowUse::kFitted}),
          MakeRow({.simulated = 900, .tier = Tier::kC, .use = RowUse::kIgnored}),
          MakeRow({.metric = Metric::kStatus, .published = std::nullopt})});
  EXPECT_EQ(summary.sound.rows, 1);
  EXPECT_NEAR(summary.sound.worst, 0.01, 1e-12);
  EXPECT_EQ(summary.host.rows, 1);
  EXPECT_NEAR(summary.host.worst, 0.02, 1e-12);
  EXPECT_EQ(summary.other.rows, 2);
  EXPECT_NEAR(summary.other.mean, 0.035, 1e-12);
  EXPECT_EQ(summary.fitted.rows, 1);
  EXPECT_NEAR(summary.fitted.worst, 0.05, 1e-12);
}

TEST(ErrorSummary, MoreThanALowerBoundIsNoError) {
  EXPECT_EQ(ErrorOf(MakeRow({.simulated = 140, .lower_bound = true}).result), 0.0);
  EXPECT_EQ(ErrorOf(MakeRow({.simulated = 100, .lower_bound = true}).result), 0.0);
  EXPECT_NEAR(*ErrorOf(MakeRow({.simulated = 90, .lower_bound = true}).result), -0.1, 1e-12);
  EXPECT_NEAR(*ErrorOf(MakeRow({.simulated = 140}).result), 0.4, 1e-12);
  EXPECT_EQ(ErrorOf(MakeRow({.published = std::nullopt, .lower_bound = true}).result),
            std::nullopt);
}

TEST(ErrorSummary, NoRowsHaveNoErrorAndViolateNothing) {
  const ExperimentSummary summary =
      Of({}, {.mean = 0, .worst = 0, .worst_other = 0, .host_worst = 0});
  EXPECT_EQ(summary.sound.rows, 0);
  EXPECT_EQ(summary.sound.mean, 0);
  EXPECT_THAT(summary.violations, IsEmpty());
}

TEST(ErrorSummary, AWrongEndIsListedOncePerRun) {
  const ExperimentSummary summary =
      Of({MakeRow({.id = "a", .system = "gemini", .fits = false}),
          MakeRow({.id = "a", .system = "gemini", .metric = Metric::kHostGib, .fits = false}),
          MakeRow({.id = "b", .system = "gemini", .status = RunStatus::kOutOfMemory}),
          MakeRow({.id = "c", .system = "gemini", .fits = false, .status = RunStatus::kUnknown}),
          MakeRow({.id = "d", .system = "gemini", .fits = false, .use = RowUse::kIgnored}),
          MakeRow({.id = "e", .system = "gemini", .fits = false, .tier = Tier::kB})});
  EXPECT_EQ(summary.agreement(), Agreement::kMisses);
  EXPECT_THAT(summary.wrong_status, ElementsAre("a, gemini: ran in print, does not fit here",
                                                "b, gemini: ran out of memory in print, fits here",
                                                "e, gemini: ran in print, does not fit here"));
  ASSERT_EQ(summary.violations.size(), 1);
  EXPECT_THAT(summary.violations[0], HasSubstr("3 runs end otherwise than published"));
}

TEST(ErrorSummary, AsManyWrongEndsAsTheBoundAllowsAndNotOneMore) {
  const std::vector<ComparedRow> rows = {MakeRow({.id = "a", .system = "gemini", .fits = false}),
                                         MakeRow({.id = "b", .system = "gemini", .fits = false})};
  EXPECT_THAT(Of(rows, {.wrong_status = 2}).violations, IsEmpty());
  EXPECT_EQ(Of(rows, {.wrong_status = 1}).violations.size(), 1);
  EXPECT_EQ(Of({rows[0]}).violations.size(), 1);
}

TEST(ErrorSummary, ThePublishedSystemOverOurMemoryIsARemarkOnly) {
  const ExperimentSummary over = Of({MakeRow({.id = "180 layers", .fits = false})});
  EXPECT_THAT(over.wrong_status, IsEmpty());
  EXPECT_THAT(over.over_memory, ElementsAre("180 layers, megatrain"));
  const ExperimentSummary ran = Of({MakeRow({.status = RunStatus::kOutOfMemory})});
  EXPECT_EQ(ran.wrong_status.size(), 1);
}

TEST(ErrorSummary, EveryViolatedBoundIsNamedWithItsRowAndNumbers) {
  const std::vector<ComparedRow> rows = {
      MakeRow({.id = "a", .simulated = 110}), MakeRow({.id = "b", .simulated = 115}),
      MakeRow({.id = "h", .metric = Metric::kHostGib, .simulated = 96}),
      MakeRow({.id = "t", .simulated = 120, .tier = Tier::kB})};
  EXPECT_THAT(
      Of(rows, {.mean = 12.6, .worst = 15.1, .worst_other = 20, .host_worst = 4.1}).violations,
      IsEmpty());
  EXPECT_THAT(
      Of(rows, {.mean = 12, .worst = 14.5, .worst_other = 19, .host_worst = 3}).violations,
      ElementsAre("mean error of sound rows is 12.5 %, the bound is 12 %",
                  "worst error of a sound row is 15.0 %, the bound is 14.5 % (b, megatrain)",
                  "worst error of a row of tier B is 20.0 %, the bound is 19 % (t, megatrain)",
                  "worst error in host memory is 4.0 %, the bound is 3 % (h, megatrain)"));
}

TEST(ErrorSummary, ThePublishedSystemIsAlsoJudgedApart) {
  const std::vector<ComparedRow> rows = {
      MakeRow({.id = "a", .simulated = 110}), MakeRow({.id = "b", .simulated = 98}),
      MakeRow({.id = "c", .system = "gemini", .simulated = 85}),
      MakeRow({.id = "h", .metric = Metric::kHostGib, .simulated = 115}),
      MakeRow({.id = "t", .simulated = 115, .tier = Tier::kB})};
  const ExperimentSummary summary = Of(rows, {.system_mean = 5.9, .system_worst = 9.9});
  EXPECT_EQ(summary.sound.rows, 3);
  EXPECT_EQ(summary.system.rows, 2);
  EXPECT_NEAR(summary.system.mean, 0.06, 1e-12);
  EXPECT_THAT(summary.violations,
              ElementsAre("mean error of the published system is 6.0 %, the bound is 5.9 %",
                          "worst error of the published system is 10.0 %, the bound is 9.9 % (a, "
                          "megatrain)"));
}

TEST(ErrorSummary, AnErrorThatIsNotANumberIsAViolation) {
  const ExperimentSummary summary =
      Of({MakeRow({.simulated = std::nan("")}), MakeRow({})}, {.mean = 100});
  // Past the bound, and a miss that nobody explained.
  EXPECT_EQ(summary.violations.size(), 2);
  EXPECT_EQ(summary.missed.size(), 1);
}

TEST(ErrorSummary, RowsHoldAreCloseOrMissWhateverTheBoundsAllow) {
  const ExperimentSummary summary =
      Of({MakeRow({.id = "a", .simulated = 108}), MakeRow({.id = "b", .simulated = 85}),
          MakeRow({.id = "c", .simulated = 10}),
          MakeRow({.id = "d", .metric = Metric::kHostGib, .simulated = 148}),
          MakeRow({.id = "e", .simulated = 240, .tier = Tier::kB}),
          MakeRow({.id = "f", .simulated = 500, .use = RowUse::kFitted}),
          MakeRow({.id = "g", .simulated = 500, .tier = Tier::kC, .use = RowUse::kIgnored})},
         {.mean = 1000, .worst = 1000, .worst_other = 1000, .host_worst = 1000});
  EXPECT_EQ(summary.holding, 1);
  EXPECT_EQ(summary.close, 1);
  ASSERT_EQ(summary.missed.size(), 3);
  EXPECT_EQ(summary.judged(), 5);
  EXPECT_EQ(summary.missed[0].row, 2);
  EXPECT_NEAR(summary.missed[0].error, -0.9, 1e-12);
  EXPECT_EQ(summary.missed[2].row, 4);
  EXPECT_EQ(summary.agreement(), Agreement::kMisses);
  EXPECT_EQ(Of({MakeRow({.simulated = 85})}).agreement(), Agreement::kClose);
  EXPECT_EQ(Of({MakeRow({.simulated = 95})}).agreement(), Agreement::kHolds);
}

TEST(ErrorSummary, AMissNeedsAReasonInTheConfig) {
  const std::vector<ComparedRow> rows = {MakeRow({.id = "a", .simulated = 10}),
                                         MakeRow({.id = "b", .simulated = 98})};
  EXPECT_THAT(Of(rows).violations,
              ElementsAre("a, megatrain is 90.0 % off and is not listed under 'misses' with a "
                          "reason"));
  const ErrorBounds known = {
      .worst = 3, .misses = {{.rows = {"a, megatrain"}, .worst = 91, .reason = "It is odd."}}};
  const ExperimentSummary summary = Of(rows, known);
  EXPECT_THAT(summary.violations, IsEmpty()) << "the bound is of the other row";
  ASSERT_EQ(summary.missed.size(), 1);
  EXPECT_EQ(summary.missed[0].reason, "It is odd.");
  // What is shown is of all rows.
  EXPECT_NEAR(summary.sound.worst, 0.9, 1e-12);
  EXPECT_NEAR(summary.sound.mean, 0.46, 1e-12);
  EXPECT_EQ(summary.agreement(), Agreement::kMisses);
}

TEST(ErrorSummary, AKnownMissMayNotGrowAndMayNotBeOne) {
  const auto with = [](double worst) {
    return ErrorBounds{
        .misses = {{.rows = {"a, megatrain", "b, megatrain"}, .worst = worst, .reason = "Odd."}}};
  };
  const std::vector<ComparedRow> rows = {MakeRow({.id = "a", .simulated = 10}),
                                         MakeRow({.id = "b", .simulated = 30})};
  EXPECT_THAT(Of(rows, with(91)).violations, IsEmpty());
  EXPECT_THAT(Of(rows, with(89)).violations,
              ElementsAre("a, megatrain is 90.0 % off, the bound of this known miss is 89 %"));
  EXPECT_THAT(
      Of({rows[0], MakeRow({.id = "b", .simulated = 90})}, with(91)).violations,
      ElementsAre("b, megatrain is listed under 'misses', but no row of that name misses: remove "
                  "it"));
}

TEST(ErrorSummary, SystemsThatAreNotSimulatedCountNowhere) {
  ComparedRow row = MakeRow({.system = "ratel_ssd"});
  row.is_simulated = false;
  row.result.error.reset();
  row.result.fits = false;
  row.result.status_agrees = false;
  const ExperimentSummary summary = Of({row});
  EXPECT_EQ(summary.sound.rows, 0);
  EXPECT_THAT(summary.wrong_status, IsEmpty());
  EXPECT_THAT(summary.over_memory, IsEmpty());
}

}  // namespace
}  // namespace horizon

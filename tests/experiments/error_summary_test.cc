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
      MakeRow({.id = "a", .simulated = 110}), MakeRow({.id = "b", .simulated = 125}),
      MakeRow({.id = "h", .metric = Metric::kHostGib, .simulated = 96}),
      MakeRow({.id = "t", .simulated = 150, .tier = Tier::kB})};
  EXPECT_THAT(
      Of(rows, {.mean = 17.6, .worst = 25.1, .worst_other = 50, .host_worst = 4.1}).violations,
      IsEmpty());
  EXPECT_THAT(
      Of(rows, {.mean = 17, .worst = 24.5, .worst_other = 49, .host_worst = 3}).violations,
      ElementsAre("mean error of sound rows is 17.5 %, the bound is 17 %",
                  "worst error of a sound row is 25.0 %, the bound is 24.5 % (b, megatrain)",
                  "worst error of a row of tier B is 50.0 %, the bound is 49 % (t, megatrain)",
                  "worst error in host memory is 4.0 %, the bound is 3 % (h, megatrain)"));
}

TEST(ErrorSummary, ThePublishedSystemIsAlsoJudgedApart) {
  const std::vector<ComparedRow> rows = {
      MakeRow({.id = "a", .simulated = 110}), MakeRow({.id = "b", .simulated = 98}),
      MakeRow({.id = "c", .system = "gemini", .simulated = 10}),
      MakeRow({.id = "h", .metric = Metric::kHostGib, .simulated = 150}),
      MakeRow({.id = "t", .simulated = 150, .tier = Tier::kB})};
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
  EXPECT_EQ(summary.violations.size(), 1);
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

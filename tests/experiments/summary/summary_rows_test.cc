#include "experiments/summary/summary_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "tests/experiments/made_runs.h"

namespace horizon {
namespace {

using ::testing::IsEmpty;

// An experiment that holds, one that misses and is past both of its bounds, and one without
// figures.
std::vector<ExperimentRun> ThreeRuns() {
  return {MakeRun("good", {MakeRow({.simulated = 104})}, {.mean = 5}),
          MakeRun("bad", {MakeRow({.simulated = 150, .tier = Tier::kA})}, {.mean = 1, .worst = 2}),
          MakeRun("free", {MakeRow({.metric = Metric::kStatus, .published = std::nullopt})})};
}

TEST(SummaryRows, HaveAVerdictForEachExperimentAndForAll) {
  const std::vector<SummaryRow> rows = SummaryRows(ThreeRuns());
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].experiment, "good");
  EXPECT_EQ(rows[0].verdict, "holds");
  EXPECT_EQ(rows[0].violations, 0);
  EXPECT_NEAR(rows[0].summary.sound.mean, 0.04, 1e-12);
  EXPECT_EQ(rows[1].verdict, "misses 1 of 1 rows by up to 50.0 %");
  EXPECT_EQ(rows[1].violations, 3);
  EXPECT_EQ(rows[2].verdict, "runs as published");
  EXPECT_EQ(rows[3].experiment, "all");
  EXPECT_EQ(rows[3].verdict, "misses 1 of 2 rows by up to 50.0 %");
  EXPECT_EQ(rows[3].violations, 3);
  EXPECT_EQ(rows[3].summary.sound.rows, 2);
}

// However wide a bound is, and whether or not the miss is known: 90 % off is a miss.
TEST(SummaryRows, NinetyPercentOffIsNeverSaidToHold) {
  for (const ErrorBounds& bounds :
       {ErrorBounds{.mean = 1000, .worst = 1000},
        ErrorBounds{.misses = {{.rows = {"row, megatrain"}, .worst = 91, .reason = "Odd."}}}}) {
    for (const double simulated : {10.0, 190.0}) {
      const SummaryRow row =
          SummaryRows(
              std::vector{MakeRun(
                  "far", {MakeRow({.simulated = simulated}), MakeRow({.id = "near"})}, bounds)})
              .front();
      EXPECT_EQ(row.verdict, "misses 1 of 2 rows by up to 90.0 %");
    }
  }
}

TEST(SummaryRows, CloseRowsAndOtherEndsAreSaid) {
  const auto verdict = [](std::vector<ComparedRow> rows) {
    return SummaryRows(std::vector{MakeRun("one", std::move(rows))}).front().verdict;
  };
  EXPECT_EQ(verdict({MakeRow({.simulated = 112}), MakeRow({})}),
            "close, 1 of 2 rows off by up to 12.0 %");
  EXPECT_EQ(verdict({MakeRow({.system = "gemini", .fits = false})}),
            "holds; 1 run ends otherwise than published");
}

TEST(SummaryRows, OfOneExperimentHaveNoRowForAll) {
  const std::vector<ExperimentRun> runs = ThreeRuns();
  EXPECT_EQ(SummaryRows(std::span(runs).first(1)).size(), 1u);
  EXPECT_THAT(SummaryRows({}), IsEmpty());
}

TEST(SummaryRows, AsATableForATerminal) {
  const std::vector<ExperimentRun> runs = ThreeRuns();
  EXPECT_EQ(SummaryText(std::span(runs).last(2)),
            "experiment  judged  hold  close  miss    mean   worst                             "
            "verdict\n"
            "----------------------------------------------------------------------------------"
            "-------\n"
            "bad              1     0      0     1  50.0 %  50.0 %  misses 1 of 1 rows by up to "
            "50.0 %\n"
            "free                                                                    runs as "
            "published\n"
            "all              1     0      0     1  50.0 %  50.0 %  misses 1 of 1 rows by up to "
            "50.0 %\n");
}

TEST(SummaryRows, ANarrowTerminalShowsTheVerdict) {
  const std::vector<ExperimentRun> runs = ThreeRuns();
  EXPECT_EQ(SummaryText(std::span(runs).last(2), 62),
            "experiment  close    mean                             verdict\n"
            "-------------------------------------------------------------\n"
            "bad             0  50.0 %  misses 1 of 1 rows by up to 50.0 %\n"
            "free                                        runs as published\n"
            "all             0  50.0 %  misses 1 of 1 rows by up to 50.0 %\n");
  EXPECT_EQ(SummaryText(std::span(runs).last(2), 89), SummaryText(std::span(runs).last(2)));
}

TEST(SummaryRows, ClaimsAreATableOfWhatIsClaimedAndSimulated) {
  const std::vector<Claim> claims = {{.what = "speed over ZeRO-3",
                                      .source = "rows",
                                      .claimed = "12.2x",
                                      .simulated = "12.8x",
                                      .error_text = "+4.9 %",
                                      .agreement = Agreement::kHolds,
                                      .note = "a note"},
                                     {.what = "slope", .simulated = "2.00"}};
  EXPECT_EQ(ClaimsText(claims),
            "claim              paper  simulated  verdict\n"
            "--------------------------------------------\n"
            "speed over ZeRO-3  12.2x      12.8x    holds\n"
            "slope                  -       2.00\n");
}

}  // namespace
}  // namespace horizon

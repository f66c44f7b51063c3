#include "experiments/summary/summary_rows.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/experiments/made_runs.h"

namespace horizon {
namespace {

using ::testing::IsEmpty;

// An experiment within its bound, one past both of its bounds, and one that has none.
std::vector<ExperimentRun> ThreeRuns() {
  return {MakeRun("good", {MakeRow({.simulated = 104})}, {.mean = 5}),
          MakeRun("bad", {MakeRow({.simulated = 150, .tier = Tier::kA})}, {.mean = 1, .worst = 2}),
          MakeRun("free", {MakeRow({.metric = Metric::kStatus, .published = std::nullopt})})};
}

TEST(SummaryRows, HaveAVerdictForEachExperimentAndForAll) {
  const std::vector<SummaryRow> rows = SummaryRows(ThreeRuns());
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].experiment, "good");
  EXPECT_EQ(rows[0].verdict, "within bounds");
  EXPECT_TRUE(rows[0].holds);
  EXPECT_NEAR(rows[0].summary.sound.mean, 0.04, 1e-12);
  EXPECT_EQ(rows[1].verdict, "2 bounds violated");
  EXPECT_FALSE(rows[1].holds);
  EXPECT_EQ(rows[2].verdict, "status as published");
  EXPECT_TRUE(rows[2].holds);
  EXPECT_EQ(rows[3].experiment, "all");
  EXPECT_EQ(rows[3].verdict, "2 violated");
  EXPECT_FALSE(rows[3].holds);
  EXPECT_EQ(rows[3].summary.sound.rows, 2);
}

TEST(SummaryRows, OfOneExperimentHaveNoRowForAll) {
  const std::vector<ExperimentRun> runs = ThreeRuns();
  EXPECT_EQ(SummaryRows(std::span(runs).first(1)).size(), 1u);
  EXPECT_THAT(SummaryRows({}), IsEmpty());
}

TEST(SummaryRows, AsATableForATerminal) {
  const std::vector<ExperimentRun> runs = ThreeRuns();
  EXPECT_EQ(SummaryText(std::span(runs).last(2)),
            "experiment  rows    mean   worst  megatrain   worst  host    ran or not              "
            "verdict\n"
            "--------------------------------------------------------------------------------------"
            "------\n"
            "bad            1  50.0 %  50.0 %     50.0 %  50.0 %        as published    2 bounds "
            "violated\n"
            "free           0                                           as published  status as "
            "published\n"
            "all            1  50.0 %  50.0 %     50.0 %  50.0 %        as published           2 "
            "violated\n");
}

TEST(SummaryRows, ClaimsAreATableOfWhatIsClaimedAndSimulated) {
  const std::vector<Claim> claims = {{.what = "speed over ZeRO-3",
                                      .source = "rows",
                                      .claimed = "12.2x",
                                      .simulated = "12.8x",
                                      .error_text = "+4.9 %",
                                      .note = "fitted"},
                                     {.what = "slope", .simulated = "2.00"}};
  EXPECT_EQ(ClaimsText(claims),
            "claim              claimed  simulated   error\n"
            "---------------------------------------------\n"
            "speed over ZeRO-3    12.2x      12.8x  +4.9 %\n"
            "slope                    -       2.00\n");
}

}  // namespace
}  // namespace horizon

#include "experiments/run_experiments.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "absl/strings/str_join.h"
#include "planner/machines/machine_catalog.h"
#include "tests/experiments/made_runs.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<ExperimentRun> RunNamed(const std::vector<std::string>& names) {
  const std::unique_ptr<Io> io = MakePosixIo();
  absl::StatusOr<std::vector<ExperimentRun>> runs =
      RunExperiments(*io, names, BuiltInCalibration());
  EXPECT_TRUE(runs.ok()) << runs.status();
  return *std::move(runs);
}

// The check of the project's word on its errors: all rows of all experiments.
TEST(RunExperiments, AllStayWithinTheBoundsOfTheirConfigs) {
  const std::vector<ExperimentRun> runs = RunNamed({});
  EXPECT_EQ(runs.size(), ExperimentNames().size());
  EXPECT_THAT(ViolationsOf(runs), IsEmpty()) << absl::StrJoin(ViolationsOf(runs), "\n");
  size_t machines = 0;
  for (const ExperimentRun& run : runs) {
    EXPECT_EQ(run.rows.size(), run.experiment.rows.size()) << run.experiment.name;
    const ErrorBounds& bounds = run.experiment.bounds;
    // A bound that is not written down would let any error pass.
    EXPECT_EQ(run.summary.sound.rows > 0, bounds.mean && bounds.worst) << run.experiment.name;
    EXPECT_EQ(run.summary.host.rows > 0, bounds.host_worst.has_value()) << run.experiment.name;
    EXPECT_EQ(run.summary.other.rows > 0, bounds.worst_other.has_value()) << run.experiment.name;
    for (const MissedRow& missed : run.summary.missed) {
      EXPECT_NE(missed.reason, "") << NameOf(run.rows[missed.row].result.row);
    }
    machines += run.largest.size();
  }
  EXPECT_EQ(machines, MachineNames().size());
}

TEST(RunExperiments, NamedOnesRunOnceInTheReportsOrder) {
  const std::vector<ExperimentRun> runs = RunNamed({"ablation", "throughput_a100", "ablation"});
  ASSERT_EQ(runs.size(), 2);
  EXPECT_EQ(runs[0].experiment.name, "throughput_a100");
  EXPECT_EQ(runs[1].experiment.name, "ablation");
}

TEST(RunExperiments, AnUnknownNameIsNotFoundWithTheNearest) {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::vector<std::string> names = {"ablation", "depht_scaling"};
  const absl::Status status = RunExperiments(*io, names, BuiltInCalibration()).status();
  EXPECT_TRUE(absl::IsNotFound(status)) << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("\"depht_scaling\""), HasSubstr("did you mean 'depth_scaling'?"),
                    HasSubstr("long_context")));
}

TEST(RunExperiments, HorizonRunsWhereThePublishedSystemDoes) {
  for (const ExperimentRun& run : RunNamed({"ablation", "throughput_gh200", "host_memory"})) {
    for (const ComparedRow& compared : run.rows) {
      const PublishedRow& row = compared.result.row;
      EXPECT_EQ(compared.is_simulated, row.system != "ratel_ssd") << NameOf(row);
      if (row.system != "megatrain") {
        EXPECT_THAT(compared.horizon, IsEmpty()) << NameOf(row);
        continue;
      }
      ASSERT_EQ(compared.horizon.size(), row.metric == Metric::kStatus ? 4 : 1) << NameOf(row);
      const HorizonRun& first = compared.horizon.front();
      EXPECT_EQ(first.state_format, StateFormat::kBf16Weights);
      EXPECT_EQ(first.fits, first.shortages.empty());
      EXPECT_EQ(HorizonValue(compared).has_value(), first.fits && row.metric != Metric::kStatus);
      if (first.fits) {
        EXPECT_DOUBLE_EQ(first.prediction.tokens_per_second * first.prediction.step_seconds,
                         static_cast<double>(compared.result.batch * row.sequence))
            << NameOf(row);
      }
    }
  }
}

// Rows that differ only in what the reference does share one run; the batch of 64 is another.
TEST(RunExperiments, TheAblationsRowsShareARunOfHorizon) {
  const std::vector<ExperimentRun> runs = RunNamed({"ablation"});
  const std::vector<ComparedRow>& rows = runs.at(0).rows;
  ASSERT_EQ(rows.size(), 4);
  const auto seconds = [&](size_t i) { return rows[i].horizon.at(0).prediction.step_seconds; };
  EXPECT_EQ(seconds(0), seconds(1));
  EXPECT_EQ(seconds(0), seconds(2));
  EXPECT_NE(seconds(0), seconds(3));
}

TEST(RunExperiments, ViolationsAreNamedByExperiment) {
  const std::vector<ExperimentRun> runs = {
      MakeRun("good", {MakeRow({})}, {.worst = 1}),
      MakeRun("bad", {MakeRow({.id = "a", .simulated = 118})}, {.mean = 10, .worst = 15})};
  EXPECT_THAT(
      ViolationsOf(runs),
      ElementsAre("bad: mean error of sound rows is 18.0 %, the bound is 10 %",
                  "bad: worst error of a sound row is 18.0 %, the bound is 15 % (a, megatrain)"));
}

TEST(RunExperiments, AllTogetherAreSummarizedByRowAndWithoutBounds) {
  const std::vector<ExperimentRun> runs = {
      MakeRun("one", {MakeRow({.simulated = 110}), MakeRow({.simulated = 110})}),
      MakeRun("two", {MakeRow({.simulated = 140}),
                      MakeRow({.system = "gemini", .fits = false, .use = RowUse::kFitted})})};
  const ExperimentSummary all = SummarizeAll(runs);
  EXPECT_EQ(all.sound.rows, 3);
  EXPECT_NEAR(all.sound.mean, 0.2, 1e-12);
  EXPECT_EQ(all.wrong_status.size(), 1);
  EXPECT_EQ(all.holding, 2);
  EXPECT_EQ(all.missed.size(), 1);
  EXPECT_THAT(all.violations, IsEmpty());
}

}  // namespace
}  // namespace horizon

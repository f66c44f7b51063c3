// Runs beside their predictions: what noise cannot move. Times are for `horizon validate`.
#include "experiments/measured/validation.h"

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <set>
#include <string>

#include "common/documents/json.h"
#include "planner/machines/machine_catalog.h"

namespace horizon {
namespace {

class MeasuredRuns : public testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<HardwareProfile> profile = LoadMachine(*io_, "cpu-desktop");
    ASSERT_TRUE(profile.ok()) << profile.status();
    profile_ = *std::move(profile);
  }
  MeasuredOptions Options() {
    return {.io = *io_, .clock = clock_, .profile = profile_, .steps = 3};
  }
  static MeasuredCase Case(std::string name, int64_t layers, int64_t depth) {
    MeasuredCase made{.name = std::move(name), .spec = ModelOf({.layers = layers})};
    made.job.sequence = 64;
    made.plan.buffer_depth = depth;
    made.plan.compute_threads = 2;
    return made;
  }

  const std::unique_ptr<Io> io_ = MakePosixIo();
  RealClock clock_;
  HardwareProfile profile_;
};

TEST_F(MeasuredRuns, MemoryIsAsPredictedAndEveryOperationIsCompared) {
  const MeasuredCase wanted = Case("one", 3, 2);
  const absl::StatusOr<MeasuredRun> run = RunMeasured(wanted, Options());
  ASSERT_TRUE(run.ok()) << run.status();
  EXPECT_EQ(run->device_peak_bytes, run->arena_bytes);
  EXPECT_LE(run->host_peak_bytes, run->predicted_host_bytes);
  EXPECT_LE(run->predicted_host_bytes - run->host_peak_bytes,
            64_MiB + run->predicted_host_bytes * 3 / 100);
  EXPECT_EQ(run->losses.size(), 3u);
  // Random tokens of 4,096: about log(4096) to begin with.
  EXPECT_NEAR(run->losses[0], std::log(4096), 0.5);
  int64_t operations = 0;
  for (const LaneComparison& lane : run->operations.lanes) {
    operations += lane.operations;
    EXPECT_GT(lane.busy.measured, 0);
  }
  EXPECT_EQ(operations, run->prediction.operations);
  EXPECT_GT(run->step_seconds(), 0);
}

// Frozen tensors have neither gradients nor moments, in the prediction and in the process.
TEST_F(MeasuredRuns, MemoryIsAsPredictedWhereAPartIsTrained) {
  MeasuredCase wanted = Case("all", 8, 2);
  const absl::StatusOr<MeasuredRun> all = RunMeasured(wanted, Options());
  ASSERT_TRUE(all.ok()) << all.status();
  for (const char* trained : {"model.layers.7.*", "*norm*", "model.embed_tokens.weight",
                              "lm_head.weight", "model.layers.0.*"}) {
    SCOPED_TRACE(trained);
    wanted.job.train = {trained};
    const absl::StatusOr<MeasuredRun> part = RunMeasured(wanted, Options());
    ASSERT_TRUE(part.ok()) << part.status();
    EXPECT_EQ(part->device_peak_bytes, part->arena_bytes);
    EXPECT_LE(part->host_peak_bytes, part->predicted_host_bytes);
    EXPECT_LE(part->predicted_host_bytes - part->host_peak_bytes,
              64_MiB + part->predicted_host_bytes * 3 / 100);
    EXPECT_LT(part->arena_bytes, all->arena_bytes);
    EXPECT_LT(part->predicted_host_bytes, all->predicted_host_bytes);
    EXPECT_LT(part->d2h_bytes, all->d2h_bytes);
    // Nothing has been updated before the first step.
    EXPECT_EQ(part->losses[0], all->losses[0]);
  }
}

// Eleven steps are a burst of five and one of six: what makes no whole burst goes with the last.
TEST_F(MeasuredRuns, StepsAreMadeInBurstsThatChangeNoLoss) {
  const MeasuredCase wanted = Case("one", 2, 2);
  MeasuredOptions options = Options();
  options.steps = 11;
  const absl::StatusOr<MeasuredRun> run = RunMeasured(wanted, options);
  ASSERT_TRUE(run.ok()) << run.status();
  ASSERT_EQ(run->bursts.size(), 2u);
  EXPECT_EQ(run->losses.size(), 11u);
  options.steps = 4;
  const absl::StatusOr<MeasuredRun> whole = RunMeasured(wanted, options);
  ASSERT_TRUE(whole.ok()) << whole.status();
  ASSERT_EQ(whole->bursts.size(), 1u);
  EXPECT_EQ(whole->losses, std::vector<double>(run->losses.begin(), run->losses.begin() + 4));
  // The machine of a catalog has no yardsticks: its speed is always the profile's.
  for (const MeasuredBurst& burst : run->bursts) {
    EXPECT_EQ(burst.predicted, run->usual_step_seconds);
    EXPECT_EQ(burst.predicted_during, run->usual_step_seconds);
    EXPECT_GT(burst.measured, 0);
  }
}

TEST(MeasuredRun, IsJudgedByTheMedianOfItsBursts) {
  MeasuredRun run{.usual_step_seconds = 4};
  run.bursts = {{.before = {.gemm = 1},
                 .after = {.gemm = 0.8},
                 .predicted = 2,
                 .predicted_during = 2.2,
                 .predicted_by_other = 1,
                 .measured = 2.2},
                {.before = {.gemm = 0.8},
                 .after = {.gemm = 1},
                 .predicted = 3,
                 .predicted_during = 2.5,
                 .predicted_by_other = 2,
                 .measured = 2.5},
                {.before = {.gemm = 1},
                 .after = {.gemm = 1},
                 .predicted = 2,
                 .predicted_during = 2,
                 .predicted_by_other = 4,
                 .measured = 2.5}};
  EXPECT_EQ(run.predicted_seconds(), 2);
  EXPECT_EQ(run.step_seconds(), 2.5);
  EXPECT_NEAR(run.step_error(), 0.1, 1e-12);
  EXPECT_NEAR(run.error_during(), 0, 1e-12);
  EXPECT_NEAR(run.other_error(), 0.25, 1e-12);
  EXPECT_NEAR(run.step_at_usual_speed(), 4, 1e-12);
  EXPECT_NEAR(run.drift(), 0.25, 1e-12);
}

TEST_F(MeasuredRuns, AnotherProfileIsPredictedFromBesideThis) {
  HardwareProfile twice = profile_;
  twice.device.gemm_fp32 = Scaled(twice.device.gemm_fp32, 1e-3);
  MeasuredOptions options = Options();
  options.other = &twice;
  absl::StatusOr<Validation> made = Validate({Case("a", 2, 2)}, options, nullptr);
  ASSERT_TRUE(made.ok()) << made.status();
  const MeasuredBurst& burst = made->rows[0].run.bursts[0];
  EXPECT_GT(burst.predicted_by_other, 10 * burst.predicted);
  EXPECT_EQ(made->Text().find("the other's error"), std::string::npos);
  made->other = "slow.json";
  EXPECT_NE(made->Text().find("the other's error"), std::string::npos) << made->Text();
  EXPECT_NE(made->Text().find("slow.json: off by"), std::string::npos) << made->Text();
  const absl::StatusOr<Document> json = ParseJson("answer", made->Json());
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_NE(json->root.Find("other_median_error"), nullptr);
}

TEST_F(MeasuredRuns, TheSamePlanUnderALinkLimitGivesTheSameLosses) {
  MeasuredCase wanted = Case("one", 2, 2);
  const absl::StatusOr<MeasuredRun> quick = RunMeasured(wanted, Options());
  ASSERT_TRUE(quick.ok()) << quick.status();
  wanted.link = BytesPerSecond{0.5e9};
  const absl::StatusOr<MeasuredRun> slow = RunMeasured(wanted, Options());
  ASSERT_TRUE(slow.ok()) << slow.status();
  EXPECT_EQ(slow->losses, quick->losses);
  EXPECT_GT(slow->prediction.step_seconds, quick->prediction.step_seconds);
}

TEST_F(MeasuredRuns, AValidationCountsWhatItFinds) {
  const absl::StatusOr<Validation> made =
      Validate({Case("a", 2, 2), Case("b", 4, 1)}, Options(), nullptr);
  ASSERT_TRUE(made.ok()) << made.status();
  ASSERT_EQ(made->rows.size(), 2u);
  EXPECT_EQ(made->memory_misses(), std::vector<std::string>{});
  Validation changed = *made;
  MeasuredRun& a = changed.rows[0].run;
  MeasuredRun& b = changed.rows[1].run;
  a.bursts = {{.predicted = 1.0, .predicted_during = 1.1, .measured = 1.1}};
  b.bursts = {{.predicted = 2.0, .predicted_during = 1.25, .measured = 1.0}};
  EXPECT_NEAR(changed.errors(&MeasuredRun::step_error).median, (0.1 + 0.5) / 2, 1e-12);
  EXPECT_NEAR(changed.errors(&MeasuredRun::step_error).worst, 0.5, 1e-12);
  EXPECT_NEAR(changed.errors(&MeasuredRun::error_during).worst, 0.2, 1e-12);
  EXPECT_EQ(changed.order(0.15).pairs, 1);
  EXPECT_EQ(changed.order(0.15).wrong, 1);
  EXPECT_EQ(changed.order(1.5).pairs, 0);
  a.host_peak_bytes = a.predicted_host_bytes + 1_B;
  b.device_peak_bytes -= 1_B;
  ASSERT_EQ(changed.memory_misses().size(), 2u);
  EXPECT_NE(changed.memory_misses()[0].find("a: host memory reached"), std::string::npos);
  EXPECT_NE(changed.memory_misses()[1].find("b: the arena has"), std::string::npos);
  const absl::StatusOr<Document> json = ParseJson("answer", changed.Json());
  ASSERT_TRUE(json.ok()) << json.status();
  EXPECT_EQ(json->root.Find("runs")->As<Value::Array>()->size(), 2u);
  EXPECT_NE(changed.Text().find("1 pairs predicted more than 15 % apart 1 were measured"),
            std::string::npos)
      << changed.Text();
}

TEST_F(MeasuredRuns, ACaseThatCannotRunIsNamed) {
  MeasuredCase wanted = Case("simulated", 2, 2);
  wanted.plan.strategy = Strategy::kGemini;
  const absl::StatusOr<Validation> made = Validate({wanted}, Options(), nullptr);
  EXPECT_FALSE(made.ok());
  EXPECT_NE(std::string(made.status().message()).find("simulated: "), std::string::npos)
      << made.status();
}

TEST(ValidationCases, AreTwelveOrMoreOfDifferentKind) {
  const std::vector<MeasuredCase> all = ValidationCases(ValidationSize::kFull, 2);
  EXPECT_GE(all.size(), 12u);
  EXPECT_LE(ValidationCases(ValidationSize::kQuick, 2).size(), 4u);
  std::set<std::string> names;
  std::set<int64_t> depths, intervals, sequences;
  int limited = 0;
  for (const MeasuredCase& each : all) {
    names.insert(each.name);
    depths.insert(each.plan.buffer_depth);
    intervals.insert(each.plan.anchor_interval);
    sequences.insert(each.job.sequence);
    limited += each.link.has_value() ? 1 : 0;
  }
  EXPECT_EQ(names.size(), all.size());
  EXPECT_GE(depths.size(), 3u);
  EXPECT_GE(intervals.size(), 3u);
  EXPECT_GE(sequences.size(), 3u);
  EXPECT_GE(limited, 2);
}

}  // namespace
}  // namespace horizon

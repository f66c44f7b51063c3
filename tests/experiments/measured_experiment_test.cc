// The measured half with tiny models: what noise cannot move, and what the report says of it.
#include "experiments/measured/measured_experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "experiments/experiment.h"
#include "experiments/measured/measured_charts.h"
#include "experiments/measured/measured_json.h"
#include "experiments/measured/measured_tables.h"
#include "experiments/summary/write_report.h"
#include "planner/machines/machine_catalog.h"
#include "planner/profile/calibration.h"
#include "presentation/csv.h"
#include "tests/presentation/xml_check.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

class Measured : public testing::Test {
 protected:
  void SetUp() override {
    profile_ = WithOverrides(*LoadMachine(*io_, "cpu-desktop"), {.cores = 2});
  }

  MeasuredSetting Setting() { return {.io = *io_, .clock = clock_, .profile = profile_}; }

  // The quick config of the program, in one round.
  static MeasuredConfig Quick(const std::string& name) {
    const std::vector<std::string> names = {name};
    absl::StatusOr<std::vector<MeasuredConfig>> configs =
        LoadMeasuredConfigs(names, MeasuredSize::kQuick);
    EXPECT_TRUE(configs.ok()) << configs.status();
    MeasuredConfig config = configs->front();
    config.rounds = 1;
    config.steps = std::min<int64_t>(config.steps, 3);
    return config;
  }
  MeasuredExperiment Run(const MeasuredConfig& config) {
    std::vector<PublishedRow> published;
    const absl::StatusOr<std::vector<Experiment>> experiments = LoadExperiments();
    EXPECT_TRUE(experiments.ok()) << experiments.status();
    for (const Experiment& each : *experiments) {
      if (each.name == config.name) published = each.rows;
    }
    absl::StatusOr<MeasuredExperiment> experiment =
        RunMeasuredExperiment(config, std::move(published), Setting());
    EXPECT_TRUE(experiment.ok()) << experiment.status();
    return *std::move(experiment);
  }
  static void ExpectSound(const MeasuredExperiment& experiment) {
    EXPECT_EQ(experiment.Violations(), std::vector<std::string>{});
    for (const MeasuredRow& row : experiment.rows) {
      EXPECT_GT(row.seconds, 0);
      EXPECT_GT(row.simulated_seconds, 0);
      EXPECT_EQ(row.device_bytes, row.arena_bytes) << row.config.name;
      EXPECT_LE(row.host_bytes, row.simulated_host_bytes) << row.config.name;
      EXPECT_LE(row.simulated_host_bytes - row.host_bytes, Bytes(uint64_t{72} << 20))
          << row.config.name;
      EXPECT_GT(row.operations, 0);
      ASSERT_EQ(row.losses.size(), static_cast<size_t>(experiment.config.steps));
      EXPECT_TRUE(std::isfinite(row.losses.back()));
    }
  }

  const std::unique_ptr<Io> io_ = MakePosixIo();
  RealClock clock_;
  HardwareProfile profile_;
};

TEST_F(Measured, DepthLeavesTheArenaAloneAndHostMemoryGrowsAlongALine) {
  const MeasuredExperiment experiment = Run(Quick("depth_scaling"));
  ExpectSound(experiment);
  ASSERT_GE(experiment.rows.size(), 3u);
  const MeasuredRow& first = experiment.rows.front();
  for (const MeasuredRow& row : experiment.rows) EXPECT_EQ(row.device_bytes, first.device_bytes);
  const MeasuredRow& last = experiment.rows.back();
  EXPECT_GT(last.operations, 2 * first.operations);
  EXPECT_GT(last.h2d_bytes, 2 * first.h2d_bytes);
  ASSERT_EQ(experiment.HostLines().size(), 1u);
  const LineFit& line = experiment.HostLines()[0].measured;
  // 14 bytes of fp32 state and bf16 gradient, and a few of slack.
  EXPECT_GT(line.slope, 12);
  EXPECT_LT(line.slope, 18);
  EXPECT_GT(line.r_squared, 0.98);
  EXPECT_NEAR(*experiment.PublishedChange(last), 255.0 / 284 - 1, 1e-12);
}

TEST_F(Measured, WidthKeepsTheLinkOfTheNarrowest) {
  const MeasuredExperiment experiment = Run(Quick("width_scaling"));
  ExpectSound(experiment);
  ASSERT_EQ(experiment.rows.size(), 2u);
  EXPECT_EQ(experiment.rows[0].link, experiment.rows[1].link);
  EXPECT_GT(experiment.rows[1].parameters, 5 * experiment.rows[0].parameters);
}

TEST_F(Measured, AblationsCostTimeAndNeverABit) {
  const MeasuredExperiment experiment = Run(Quick("ablation"));
  ExpectSound(experiment);
  const MeasuredRow& full = *experiment.Find("full");
  int compared = 0;
  for (const MeasuredRow& row : experiment.rows) {
    EXPECT_EQ(row.losses, full.losses) << row.config.name;
    compared += row.config.losses_as == "full" ? 1 : 0;
  }
  EXPECT_EQ(compared, 6);
  // One slot cannot hold a block of two: weights cross a third time.
  EXPECT_GT(experiment.Find("no double buffering")->h2d_bytes, full.h2d_bytes);
  EXPECT_LT(experiment.Find("no double buffering")->device_bytes, full.device_bytes);
  EXPECT_EQ(experiment.Find("backward without prefetch")->h2d_bytes, full.h2d_bytes);
  EXPECT_EQ(experiment.Find("backward without prefetch")->operations, full.operations);
  EXPECT_GE(experiment.Find("backward without prefetch")->simulated_seconds,
            full.simulated_seconds);
  EXPECT_EQ(experiment.Find("no slab pool")->operations, full.operations);
  EXPECT_NEAR(*experiment.PublishedChange(*experiment.Find("no double buffering")), -0.313, 1e-3);
  EXPECT_FALSE(experiment.PublishedChange(full).has_value());
  EXPECT_FALSE(experiment.MeasuredChange(full).has_value());
}

TEST_F(Measured, StreamedLossesAreResidentLosses) {
  const MeasuredExperiment experiment = Run(Quick("streaming_against_resident"));
  ExpectSound(experiment);
  const MeasuredRow& resident = *experiment.Find("resident");
  for (const MeasuredRow& row : experiment.rows) EXPECT_EQ(row.losses, resident.losses);
  EXPECT_LT(experiment.Find("streamed")->device_bytes, resident.device_bytes);
  EXPECT_FALSE(resident.link.has_value());
  EXPECT_TRUE(experiment.Find("streamed")->link.has_value());
  EXPECT_FALSE(experiment.Find("streamed, free link")->link.has_value());
}

TEST_F(Measured, HorizonHasTheReferencesLossesAndMovesLess) {
  const MeasuredExperiment experiment = Run(Quick("against_reference"));
  ExpectSound(experiment);
  const MeasuredRow& reference = *experiment.Find("reference");
  for (const MeasuredRow& row : experiment.rows) EXPECT_EQ(row.losses, reference.losses);
  EXPECT_LT(experiment.Find("horizon")->h2d_bytes, reference.h2d_bytes);
  EXPECT_GT(*experiment.SimulatedChange(*experiment.Find("horizon")), 0);
}

TEST_F(Measured, HostMemoryFollowsTheStateFormat) {
  const MeasuredExperiment experiment = Run(Quick("host_memory"));
  ExpectSound(experiment);
  const std::vector<HostLine> lines = experiment.HostLines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].line, "fp32");
  EXPECT_EQ(lines[1].line, "8bit-moments");
  EXPECT_GT(lines[0].measured.slope, lines[1].measured.slope + 4);
}

// Two samples of 1K in a row of 2K: the same tokens and memory as one sample, less attention, and
// other losses, since neither sample sees the other.
TEST_F(Measured, PackedSamplesCostLessAttentionThanOneLongSample) {
  const MeasuredExperiment experiment = Run(Quick("long_context"));
  ExpectSound(experiment);
  const MeasuredRow& one = *experiment.Find("2K tokens");
  const MeasuredRow& packed = *experiment.Find("2K tokens, packed");
  EXPECT_EQ(packed.device_bytes, one.device_bytes);
  EXPECT_EQ(packed.operations, one.operations);
  EXPECT_LT(packed.simulated_seconds, one.simulated_seconds);
  EXPECT_NE(packed.losses, one.losses);
  // Nothing of a step grows faster than the tokens when the samples stay as they are.
  EXPECT_LT(packed.simulated_seconds, 2.1 * experiment.Find("1K tokens")->simulated_seconds);
}

TEST_F(Measured, RoundsAlternateAndTheMedianCounts) {
  MeasuredConfig config = Quick("streaming_against_resident");
  config.rounds = 3;
  config.steps = 2;
  MeasuredSetting setting = Setting();
  std::vector<std::string> announced;
  setting.on_run = [&](const std::string& run) { announced.push_back(run); };
  const absl::StatusOr<MeasuredExperiment> experiment = RunMeasuredExperiment(config, {}, setting);
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  ASSERT_EQ(announced.size(), 12u);
  EXPECT_THAT(announced[0], HasSubstr("round 1 of 3: streamed"));
  EXPECT_THAT(announced[3], HasSubstr("resident"));
  EXPECT_THAT(announced[4], HasSubstr("round 2 of 3: resident"));
  for (const MeasuredRow& row : experiment->rows) {
    std::vector<double> sorted = row.round_seconds;
    ASSERT_EQ(sorted.size(), 3u);
    std::sort(sorted.begin(), sorted.end());
    EXPECT_EQ(row.seconds, sorted[1]);
  }
}

TEST_F(Measured, AnArenaTooSmallIsRefusedBeforeAnythingRuns) {
  MeasuredConfig config = Quick("depth_scaling");
  config.arena = Bytes(CheckedU64(uint64_t{1} << 20));
  MeasuredSetting setting = Setting();
  setting.on_run = [](const std::string& run) { ADD_FAILURE() << run; };
  const absl::Status status = RunMeasuredExperiment(config, {}, setting).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(status.message()),
              testing::AllOf(HasSubstr("depth_scaling, 8 layers: needs an arena of "),
                             HasSubstr("gives 1 MiB")));
}

TEST_F(Measured, ARowThatCannotRunIsNamed) {
  MeasuredConfig config = Quick("ablation");
  config.rows[2].plan.strategy = Strategy::kGemini;
  EXPECT_THAT(std::string(RunMeasuredExperiment(config, {}, Setting()).status().message()),
              HasSubstr("ablation, no double buffering, K 1: "));
}

TEST_F(Measured, TheLinkIsHeldSoThatALoadTakesItsShareOfAForward) {
  const MeasuredRowConfig row = Quick("ablation").rows[0];
  const MeasuredCase wanted{.spec = ModelOf(row.model), .job = row.job, .plan = row.plan};
  const absl::StatusOr<BytesPerSecond> half = LinkForShare(wanted, profile_, 0.5);
  const absl::StatusOr<BytesPerSecond> twice = LinkForShare(wanted, profile_, 2);
  ASSERT_TRUE(half.ok() && twice.ok()) << half.status();
  EXPECT_NEAR(half->value / twice->value, 4, 1e-9);
  MeasuredCase resident = wanted;
  resident.plan = {.strategy = Strategy::kResident, .embedding_home = EmbeddingHome::kDevice};
  EXPECT_EQ(LinkForShare(resident, profile_, 1).status().code(),
            absl::StatusCode::kFailedPrecondition);
}

// --- by hand: what is said of runs ---

MeasuredExperiment Made() {
  MeasuredExperiment made;
  made.config = {.name = "made",
                 .title = "Made <here>",
                 .summary = "A summary.",
                 .load_to_compute = 0.5,
                 .link_reason = "A reason.",
                 .fit_host_memory = true,
                 .charts = {{.metric = MeasuredMetric::kThroughput, .y_label = "share"},
                            {.metric = MeasuredMetric::kHostGib, .x = MeasuredX::kParameters}},
                 .remarks = {"A remark."}};
  for (const int i : {1, 2, 3}) {
    MeasuredRow row;
    row.config.name = StrCat("row ", i);
    row.config.compared_with = i == 1 ? "" : "row 1";
    row.config.losses_as = i == 1 ? "" : "row 1";
    row.config.published_row = i == 3 ? "" : StrCat("p", i);
    row.link = BytesPerSecond{0.5e9};
    row.parameters = 1'000'000;
    row.simulated_seconds = i;
    row.seconds = 2 * i;
    row.round_seconds = {2.0 * i};
    row.simulated_host_bytes = 3_MiB;
    row.host_bytes = 2_MiB;
    row.arena_bytes = row.device_bytes = 64_B;
    row.losses = {1.5, 1.25};
    made.rows.push_back(row);
  }
  made.rows[1].parameters = 2'000'000;
  made.published = {{.id = "p1", .system = "megatrain", .published = 100.0},
                    {.id = "p2", .system = "megatrain", .published = 69.0}};
  return made;
}

TEST(MeasuredSummary, ChangesAreOfFlopsASecond) {
  const MeasuredExperiment made = Made();
  // Twice the parameters in twice the time: nothing gained, nothing lost.
  EXPECT_NEAR(*made.MeasuredChange(made.rows[1]), 0, 1e-12);
  EXPECT_NEAR(*made.SimulatedChange(made.rows[2]), 1.0 / 3 - 1, 1e-12);
  EXPECT_NEAR(*made.PublishedChange(made.rows[1]), -0.31, 1e-12);
  EXPECT_FALSE(made.PublishedChange(made.rows[2]).has_value());
  EXPECT_NEAR(made.median_error(), 1, 1e-12);
  // 6 x 10^6 x 1,024 tokens in 2 s.
  EXPECT_NEAR(made.rows[0].GflopsAt(2), 3.072, 1e-9);
}

TEST(MeasuredSummary, EveryFaultIsAViolation) {
  MeasuredExperiment made = Made();
  EXPECT_TRUE(made.Violations().empty());
  made.rows[1].losses[1] = std::nextafter(1.25, 2);
  made.rows[2].device_bytes = 63_B;
  made.rows[0].host_bytes = 3_MiB + 1_B;
  const std::vector<std::string> found = made.Violations();
  ASSERT_EQ(found.size(), 3u);
  EXPECT_THAT(found[0], HasSubstr("row 1: host memory reached"));
  EXPECT_THAT(found[1], HasSubstr("row 2: losses are not those of row 1"));
  EXPECT_THAT(found[2], HasSubstr("row 3: the arena has 64 bytes, 63 were used"));
  made = Made();
  made.config.constant_arena = true;
  made.rows[2].arena_bytes = made.rows[2].device_bytes = 65_B;
  ASSERT_EQ(made.Violations().size(), 1u);
  EXPECT_EQ((MeasuredHalf{.experiments = {made}}).Violations()[0].substr(0, 12), "made, row 3:");
}

TEST(MeasuredReport, HasTheTablesChartsAndFiles) {
  MeasuredExperiment broken = Made();
  broken.config.name = "broken";
  broken.rows[1].losses.clear();
  const MeasuredHalf half{.machine = "a <machine>", .experiments = {Made(), broken}};
  std::map<std::string, std::string> files;
  for (ReportFile& file : MakeReport({}, {}, BuiltInCalibration(), half)) {
    files[file.name] = file.text;
  }
  for (const std::string name :
       {"made_measured.csv", "made_measured.svg", "made_measured_2.svg", "measured.json"}) {
    EXPECT_TRUE(files.contains(name)) << name;
  }
  const std::string& page = files["report.html"];
  for (const std::string text :
       {"Made &lt;here&gt;", "a &lt;machine&gt;", "simulated step", "measured step", "-31.0 %",
        "Link held to 0.5 GB/s", "A reason.", "A remark.", "NOT as row 1", "Failed: row 2: losses",
        "as row 1"}) {
    EXPECT_THAT(page, HasSubstr(text));
  }
  EXPECT_THAT(page, Not(HasSubstr("Nothing here was measured")));
  const absl::StatusOr<CsvTable> csv = ParseCsv("made", files["made_measured.csv"]);
  ASSERT_TRUE(csv.ok()) << csv.status();
  ASSERT_EQ(csv->rows.size(), 3u);
  EXPECT_THAT(CellText(*csv, 1, *Column(*csv, "published_change_percent")), HasSubstr("-31.0"));
  EXPECT_EQ(CellText(*csv, 1, *Column(*csv, "losses_equal")), "yes");
  EXPECT_EQ(CellText(*csv, 0, *Column(*csv, "losses_equal")), "");
  const absl::StatusOr<Document> json = ParseJson("measured", files["measured.json"]);
  ASSERT_TRUE(json.ok()) << json.status();
  const Value& row = json->root.Find("measured")
                         ->As<Value::Array>()
                         ->at(0)
                         .Find("rows")
                         ->As<Value::Array>()
                         ->at(1);
  EXPECT_NE(row.Find("simulated")->Find("step_seconds"), nullptr);
  EXPECT_NE(row.Find("measured")->Find("step_seconds"), nullptr);
  EXPECT_TRUE(*row.Find("losses_equal")->As<bool>());
  for (const std::string name : {"made_measured.svg", "made_measured_2.svg"}) {
    EXPECT_EQ(XmlProblem(files[name]), "") << name;
  }
}

TEST(MeasuredReport, TheTextFitsATerminalAndNamesViolations) {
  MeasuredExperiment made = Made();
  made.rows[1].losses.clear();
  const std::string text = MeasuredText(made);
  EXPECT_THAT(text, HasSubstr("violated: row 2: losses"));
  EXPECT_THAT(text, HasSubstr("losses equal bit for bit: 1 rows"));
  EXPECT_THAT(text, HasSubstr("step off by 100.0 % (median)"));
}

}  // namespace
}  // namespace horizon

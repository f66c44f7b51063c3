#include "experiments/experiment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "common/text/str_cat.h"

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr std::string_view kHeader =
    "id,system,machine,model,layers,hidden,ffn,sequence,batch,anchor_interval,gradient_slabs,"
    "buffer_depth,metric,published,relation,status,tier,use,note\n";
constexpr std::string_view kRow =
    "7B,megatrain,gh200,qwen2.5-7b,,,,1024,,4,12,2,tflops,284,=,ok,A,judged,\n";

absl::StatusOr<Experiment> ReadConfig(std::string_view config) {
  return ReadExperiment("mine", config, StrCat(kHeader, kRow));
}

void ExpectRefused(std::string_view config, const std::string& message) {
  const absl::Status status = ReadConfig(config).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << config << status;
  EXPECT_THAT(std::string(status.message()),
              AllOf(StartsWith("experiments/mine/config.json:"), HasSubstr(message)));
}

TEST(Experiment, IsReadWithChartsBoundsAndRemarks) {
  const absl::StatusOr<Experiment> experiment = ReadConfig(R"({
    "title": "T", "summary": "S", "remarks": ["one", "two"], "largest_models": true,
    "charts": [{"kind": "lines", "x": "layers", "metric": "host_gib", "y_label": "GiB"},
               {"kind": "bars"}],
    "bounds": {"mean_percent": 5, "worst_percent": 12.5, "worst_other_percent": 0, "system_mean_percent": 2, "system_worst_percent": 3,
               "host_worst_percent": 3, "wrong_status": 2}})");
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  EXPECT_EQ(experiment->name, "mine");
  EXPECT_EQ(experiment->remarks.size(), 2);
  EXPECT_TRUE(experiment->largest_models);
  ASSERT_EQ(experiment->charts.size(), 2);
  EXPECT_EQ(experiment->charts[0].kind, ChartKind::kLines);
  EXPECT_EQ(experiment->charts[0].x, ChartX::kLayers);
  EXPECT_EQ(experiment->charts[0].metric, Metric::kHostGib);
  EXPECT_EQ(experiment->charts[0].y_label, "GiB");
  EXPECT_EQ(experiment->charts[1].kind, ChartKind::kBars);
  EXPECT_EQ(experiment->bounds.mean, 5);
  EXPECT_EQ(experiment->bounds.worst, 12.5);
  EXPECT_EQ(experiment->bounds.worst_other, 0);
  EXPECT_EQ(experiment->bounds.system_mean, 2);
  EXPECT_EQ(experiment->bounds.system_worst, 3);
  EXPECT_EQ(experiment->bounds.host_worst, 3);
  EXPECT_EQ(experiment->bounds.wrong_status, 2);
  EXPECT_EQ(experiment->rows.size(), 1);
}

TEST(Experiment, KnownMissesAreReadWithTheirReason) {
  const absl::StatusOr<Experiment> experiment = ReadConfig(
      R"({"title": "T", "summary": "S",
          "misses": [{"rows": ["7B, megatrain"], "worst_percent": 91, "reason": "Odd."}]})");
  ASSERT_TRUE(experiment.ok()) << experiment.status();
  ASSERT_EQ(experiment->bounds.misses.size(), 1);
  const KnownMiss& miss = experiment->bounds.misses[0];
  EXPECT_THAT(miss.rows, testing::ElementsAre("7B, megatrain"));
  EXPECT_EQ(miss.worst, 91);
  EXPECT_EQ(miss.reason, "Odd.");
}

// A bound of 92 % would call a figure that is 90 % off "within" it.
TEST(Experiment, ABoundAboveTwentyPercentIsRefused) {
  for (const char* key : {"mean_percent", "worst_percent", "system_mean_percent",
                          "system_worst_percent", "worst_other_percent", "host_worst_percent"}) {
    const auto config = [&](const char* percent) {
      return StrCat(R"({"title": "T", "summary": "S", "bounds": {")", key, "\": ", percent, "}}");
    };
    EXPECT_TRUE(ReadConfig(config("20")).ok()) << key;
    ExpectRefused(config("20.1"), StrCat("bounds.", key, ": needs at most 20 %"));
  }
}

TEST(Experiment, AMissWithoutAReasonIsRefused) {
  const auto config = [](const char* miss) {
    return StrCat(R"({"title": "T", "summary": "S", "misses": )", miss, "}");
  };
  ExpectRefused(config(R"([{"rows": ["a"], "worst_percent": 91}])"), "misses[0].reason");
  ExpectRefused(config(R"([{"rows": ["a"], "worst_percent": 91, "reason": ""}])"),
                "misses[0].reason: needs a text");
  ExpectRefused(config(R"([{"rows": ["a"], "reason": "b"}])"), "misses[0].worst_percent");
  ExpectRefused(config("{}"), "misses: needs an array");
}

TEST(Experiment, WhatIsNotGivenIsNotJudged) {
  const Experiment experiment = *ReadConfig(R"({"title": "T", "summary": "S"})");
  EXPECT_EQ(experiment.bounds.mean, std::nullopt);
  EXPECT_EQ(experiment.bounds.worst, std::nullopt);
  EXPECT_EQ(experiment.bounds.wrong_status, 0);
  EXPECT_TRUE(experiment.charts.empty());
}

TEST(Experiment, BadConfigsAreRefusedWithFileAndField) {
  ExpectRefused(R"({"summary": "S"})", "title");
  ExpectRefused(R"({"title": "T", "summary": "S", "bound": {}})", "did you mean 'bounds'?");
  ExpectRefused(R"({"title": "T", "summary": "S", "bounds": {"mean": 3}})", "mean");
  ExpectRefused(R"({"title": "T", "summary": "S", "bounds": {"mean_percent": -1}})",
                "bounds.mean_percent: needs a percentage of at least 0");
  ExpectRefused(R"({"title": "T", "summary": "S", "bounds": {"worst_percent": "3"}})",
                "bounds.worst_percent");
  ExpectRefused(R"({"title": "T", "summary": "S", "charts": {}})", "charts: needs an array");
  ExpectRefused(R"({"title": "T", "summary": "S", "charts": [{"kind": "bars"}, {}]})", "charts[1]");
  ExpectRefused(R"({"title": "T", "summary": "S", "charts": [{"kind": "pie"}]})", "charts[0].kind");
  ExpectRefused("{", "");
}

TEST(Experiment, BadRowsAreRefusedWithFileAndLine) {
  const absl::Status status =
      ReadExperiment("mine", R"({"title": "T", "summary": "S"})", StrCat(kHeader, kRow, "7B,\n"))
          .status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("experiments/mine/published.csv:3"));
}

TEST(Experiment, TheProgramsOwnAreReadable) {
  const absl::StatusOr<std::vector<Experiment>> all = LoadExperiments();
  ASSERT_TRUE(all.ok()) << all.status();
  const std::vector<std::string> names = ExperimentNames();
  ASSERT_EQ(all->size(), names.size());
  EXPECT_EQ(std::set<std::string>(names.begin(), names.end()).size(), names.size());
  for (size_t i = 0; i < all->size(); ++i) {
    EXPECT_EQ((*all)[i].name, names[i]);
    EXPECT_FALSE((*all)[i].rows.empty()) << names[i];
  }
}

// Rows that contradict themselves are shown and never used; all else would be.
TEST(Experiment, TierCAndIgnoredAreTheSameRows) {
  const absl::StatusOr<std::vector<Experiment>> all = LoadExperiments();
  ASSERT_TRUE(all.ok()) << all.status();
  for (const Experiment& experiment : *all) {
    for (const PublishedRow& row : experiment.rows) {
      EXPECT_EQ(row.tier == Tier::kC, row.use == RowUse::kIgnored)
          << experiment.name << ": " << row.id << ", " << row.system;
      if (row.use == RowUse::kFitted) {
        EXPECT_EQ(row.tier, Tier::kA);
      }
    }
  }
}

}  // namespace
}  // namespace horizon

#include "experiments/measured/measured_config.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <string>

#include "common/text/str_cat.h"
#include "experiments/experiment.h"
#include "schedule/chunk_table.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

absl::StatusOr<MeasuredConfig> Read(const std::string& members, const std::string& rows,
                                    MeasuredSize size = MeasuredSize::kFull) {
  return ReadMeasuredConfig(
      "made",
      StrCat("{\"title\": \"t\", \"summary\": \"s\"", members, ",\n\"rows\": [", rows, "]}"), size);
}

void ExpectRefused(const std::string& members, const std::string& rows, const std::string& part) {
  const absl::StatusOr<MeasuredConfig> config = Read(members, rows);
  EXPECT_EQ(config.status().code(), absl::StatusCode::kInvalidArgument) << part;
  EXPECT_THAT(std::string(config.status().message()),
              testing::AllOf(HasSubstr("experiments/made/measured.json"), HasSubstr(part)));
}

TEST(MeasuredConfig, ARowIsTheExperimentWithWhatItChanges) {
  const absl::StatusOr<MeasuredConfig> config = Read(
      R"(, "model": {"layers": 3, "hidden": 128}, "job": {"sequence": 64, "seed": 4},
          "plan": {"buffer_depth": 3, "recompute": false}, "steps": 9, "rounds": 4, "arena": "2 MiB",
          "load_to_compute": 0.5, "link_reason": "why")",
      R"({"name": "a"}, {"name": "b", "model": {"layers": 7}, "job": {"sequence": 32},
          "plan": {"buffer_depth": 1}, "link_limited": false, "compared_with": "a",
          "losses_as": "a", "published_row": "p", "line": "l"})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->steps, 9);
  EXPECT_EQ(config->rounds, 4);
  EXPECT_EQ(config->arena, 2_MiB);
  EXPECT_EQ(config->load_to_compute, 0.5);
  const MeasuredRowConfig& a = config->rows[0];
  EXPECT_EQ(a.model.layers, 3);
  EXPECT_EQ(a.model.hidden, 128);
  EXPECT_EQ(a.job.sequence, 64);
  EXPECT_EQ(a.plan.buffer_depth, 3);
  EXPECT_TRUE(a.link_limited);
  const MeasuredRowConfig& b = config->rows[1];
  EXPECT_EQ(b.model.layers, 7);
  EXPECT_EQ(b.model.hidden, 128);
  EXPECT_EQ(b.job.sequence, 32);
  EXPECT_EQ(b.job.seed, 4);
  EXPECT_EQ(b.plan.buffer_depth, 1);
  EXPECT_FALSE(b.plan.recompute);
  EXPECT_FALSE(b.link_limited);
  EXPECT_EQ(b.compared_with, "a");
  EXPECT_EQ(b.losses_as, "a");
  EXPECT_EQ(b.published_row, "p");
  EXPECT_EQ(b.line, "l");
}

TEST(MeasuredConfig, QuickChangesSizesAndChoosesRows) {
  const std::string members =
      R"(, "steps": 9, "model": {"layers": 3}, "quick": {"steps": 2, "rounds": 1, "rows": ["b"],
          "model": {"hidden": 64, "layers": 2}, "job": {"sequence": 8}, "plan": {"gradient_slabs": 3}})";
  const std::string rows = R"({"name": "a"}, {"name": "b", "model": {"layers": 7}})";
  const absl::StatusOr<MeasuredConfig> quick = Read(members, rows, MeasuredSize::kQuick);
  ASSERT_TRUE(quick.ok()) << quick.status();
  ASSERT_EQ(quick->rows.size(), 1u);
  EXPECT_EQ(quick->steps, 2);
  EXPECT_EQ(quick->rounds, 1);
  EXPECT_EQ(quick->rows[0].name, "b");
  EXPECT_EQ(quick->rows[0].model.layers, 2);
  EXPECT_EQ(quick->rows[0].model.hidden, 64);
  EXPECT_EQ(quick->rows[0].job.sequence, 8);
  EXPECT_EQ(quick->rows[0].plan.gradient_slabs, 3);
  const absl::StatusOr<MeasuredConfig> full = Read(members, rows);
  ASSERT_TRUE(full.ok()) << full.status();
  ASSERT_EQ(full->rows.size(), 2u);
  EXPECT_EQ(full->steps, 9);
  EXPECT_EQ(full->rows[1].model.layers, 7);
}

TEST(MeasuredConfig, ARowMayPackItsSamplesAndStepsMayBeFew) {
  const absl::StatusOr<MeasuredConfig> config = Read(
      R"(, "burst_steps": 2)",
      R"({"name": "a", "job": {"sequence": 64, "sample_lengths": [{"length": 16, "samples": 3}]}},
         {"name": "b"})");
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->burst_steps, 2);
  EXPECT_EQ(config->rows[0].job.sample_lengths,
            (std::vector<SampleLength>{{.length = 16, .samples = 3}}));
  EXPECT_TRUE(config->rows[1].job.sample_lengths.empty());
  EXPECT_EQ(Read(R"(, "burst_steps": 1)", R"({"name": "a"})").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(MeasuredConfig, WhatIsNoConfigIsNamed) {
  const std::string row = R"({"name": "a"})";
  ExpectRefused("", "", "rows: needs an array of at least one row");
  ExpectRefused("", R"({"name": "a"}, {"name": "a"})", R"(two rows are named "a")");
  ExpectRefused("", R"({"name": "full"}, {"name": "b", "losses_as": "fulll"})",
                R"(names row "fulll", which is not there; did you mean 'full'?)");
  ExpectRefused("", R"({"name": "a", "compared_with": "x"})", R"(names row "x")");
  ExpectRefused(R"(, "stepps": 3)", row, "stepps");
  ExpectRefused(R"(, "steps": 1)", row, "steps: needs a value from 2");
  ExpectRefused(R"(, "rounds": 0)", row, "rounds: needs a value from 1");
  ExpectRefused(R"(, "load_to_compute": 0)", row, "load_to_compute");
  ExpectRefused(R"(, "load_to_compute": 1)", row, "link_reason");
  ExpectRefused(R"(, "model": {"hidden": 100})", row, "hidden: needs a multiple of 64, found 100");
  ExpectRefused(R"(, "model": {"layers": 0})", row, "layers");
  ExpectRefused(R"(, "model": 3)", row, "needs an object");
  ExpectRefused(R"(, "job": {"sequense": 3})", row, "sequense");
  ExpectRefused(R"(, "plan": {"buffer_depth": 0})", row, "buffer_depth");
  ExpectRefused(R"(, "charts": [{"metric": "speed"}])", row, "charts[0].metric");
}

TEST(MeasuredConfig, QuickMayNotLeaveOutARowOthersName) {
  const absl::StatusOr<MeasuredConfig> config =
      Read(R"(, "quick": {"rows": ["b"]})", R"({"name": "a"}, {"name": "b", "losses_as": "a"})",
           MeasuredSize::kQuick);
  EXPECT_THAT(std::string(config.status().message()), HasSubstr(R"(names row "a")"));
}

TEST(MeasuredConfig, QuickMayNotChooseARowThatIsNotThere) {
  const absl::StatusOr<MeasuredConfig> config =
      Read(R"(, "quick": {"rows": ["z"]})", R"({"name": "a"})", MeasuredSize::kQuick);
  EXPECT_THAT(std::string(config.status().message()), HasSubstr(R"(quick names row "z")"));
}

TEST(MeasuredConfigs, AreTheSevenOfTheProgramAndNameRowsThePaperHas) {
  const absl::StatusOr<std::vector<MeasuredConfig>> configs =
      LoadMeasuredConfigs({}, MeasuredSize::kFull);
  ASSERT_TRUE(configs.ok()) << configs.status();
  ASSERT_TRUE(LoadMeasuredConfigs({}, MeasuredSize::kQuick).ok());
  const absl::StatusOr<std::vector<Experiment>> experiments = LoadExperiments();
  ASSERT_TRUE(experiments.ok());
  EXPECT_THAT(MeasuredNames(), testing::ElementsAre("depth_scaling", "width_scaling", "ablation",
                                                    "long_context", "streaming_against_resident",
                                                    "against_reference", "host_memory"));
  int published = 0;
  for (const MeasuredConfig& config : *configs) {
    EXPECT_GE(config.rounds, 2) << config.name;
    for (const MeasuredRowConfig& row : config.rows) {
      if (row.published_row.empty()) continue;
      ++published;
      bool found = false;
      for (const Experiment& experiment : *experiments) {
        if (experiment.name != config.name) continue;
        for (const PublishedRow& theirs : experiment.rows) found |= theirs.id == row.published_row;
      }
      EXPECT_TRUE(found) << config.name << ": " << row.published_row;
    }
  }
  EXPECT_GE(published, 14);
}

// So that prefetch, blocks and slabs are of layers, as the paper has them.
TEST(MeasuredConfigs, AChunkIsALayer) {
  for (const MeasuredSize size : {MeasuredSize::kFull, MeasuredSize::kQuick}) {
    const absl::StatusOr<std::vector<MeasuredConfig>> configs = LoadMeasuredConfigs({}, size);
    ASSERT_TRUE(configs.ok()) << configs.status();
    for (const MeasuredConfig& config : *configs) {
      for (const MeasuredRowConfig& row : config.rows) {
        if (row.plan.strategy == Strategy::kResident) continue;
        const absl::StatusOr<ChunkTable> chunks =
            CutIntoChunks(ModelOf(row.model), row.job, row.plan);
        ASSERT_TRUE(chunks.ok()) << chunks.status();
        EXPECT_EQ(chunks->layers.size(), row.model.layers) << config.name << ": " << row.name;
      }
    }
  }
}

TEST(MeasuredConfigs, AnUnknownNameIsNamedWithTheNearest) {
  const std::vector<std::string> names = {"ablatoin"};
  const absl::Status status = LoadMeasuredConfigs(names, MeasuredSize::kFull).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(status.message()), HasSubstr("did you mean 'ablation'?"));
}

}  // namespace
}  // namespace horizon

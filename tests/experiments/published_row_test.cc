#include "experiments/published_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

namespace horizon {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

using Cells = std::map<std::string, std::string>;

// A good row on line 2 of rows.csv with these cells changed.
absl::StatusOr<std::vector<PublishedRow>> Read(const Cells& changes,
                                               const std::string& without = "") {
  Cells cells = {{"id", "7B"},
                 {"system", "megatrain"},
                 {"machine", "gh200"},
                 {"model", "qwen"},
                 {"layers", ""},
                 {"hidden", ""},
                 {"ffn", ""},
                 {"sequence", "1024"},
                 {"batch", ""},
                 {"anchor_interval", "4"},
                 {"gradient_slabs", "12"},
                 {"buffer_depth", "2"},
                 {"metric", "tflops"},
                 {"published", "284.5"},
                 {"relation", "="},
                 {"status", "ok"},
                 {"tier", "A"},
                 {"use", "judged"},
                 {"note", "a, b"}};
  for (const auto& [column, text] : changes) cells[column] = text;
  cells.erase(without);
  CsvTable table{.rows = {{}}, .lines = {2}, .file = "rows.csv"};
  for (const auto& [column, text] : cells) {
    table.header.push_back(column);
    table.rows[0].push_back(text);
  }
  return ReadPublishedRows(table);
}

void ExpectRefused(const Cells& changes, const std::string& message) {
  const absl::Status status = Read(changes).status();
  EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
  EXPECT_THAT(std::string(status.message()), AllOf(StartsWith("rows.csv:2: "), HasSubstr(message)));
}

TEST(PublishedRow, IsReadWithWhatIsNotGivenLeftOpen) {
  const absl::StatusOr<std::vector<PublishedRow>> rows = Read({});
  ASSERT_TRUE(rows.ok()) << rows.status();
  const PublishedRow& row = rows->at(0);
  EXPECT_EQ(row.id, "7B");
  EXPECT_EQ(row.layers, std::nullopt);
  EXPECT_EQ(row.batch, std::nullopt);
  EXPECT_EQ(row.published, 284.5);
  EXPECT_FALSE(row.lower_bound);
  EXPECT_EQ(row.note, "a, b");
}

TEST(PublishedRow, ARelationIsEqualOrMoreThan) {
  ExpectRefused({{"relation", "<"}}, "relation: needs = or >, found '<'");
  ExpectRefused({{"relation", ""}}, "relation: needs = or >, found ''");
}

TEST(PublishedRow, EveryCellGoesToItsField) {
  const PublishedRow row = Read({{"layers", "28"},
                                 {"hidden", "64"},
                                 {"ffn", "128"},
                                 {"sequence", "8"},
                                 {"batch", "3"},
                                 {"anchor_interval", "5"},
                                 {"gradient_slabs", "6"},
                                 {"buffer_depth", "7"},
                                 {"metric", "host_gib"},
                                 {"relation", ">"},
                                 {"status", "oom"},
                                 {"tier", "C"},
                                 {"use", "ignored"}})
                               ->at(0);
  EXPECT_EQ(row.layers, 28);
  EXPECT_EQ(row.hidden, 64);
  EXPECT_EQ(row.ffn, 128);
  EXPECT_EQ(row.sequence, 8);
  EXPECT_EQ(row.batch, 3);
  EXPECT_EQ(row.anchor_interval, 5);
  EXPECT_EQ(row.gradient_slabs, 6);
  EXPECT_EQ(row.buffer_depth, 7);
  EXPECT_EQ(row.metric, Metric::kHostGib);
  EXPECT_TRUE(row.lower_bound);
  EXPECT_EQ(row.status, RunStatus::kOutOfMemory);
  EXPECT_EQ(row.tier, Tier::kC);
  EXPECT_EQ(row.use, RowUse::kIgnored);
}

TEST(PublishedRow, WhatIsNoRowIsRefusedWithLineAndColumn) {
  ExpectRefused({{"layers", "0"}}, "layers: needs at least 1, found 0");
  ExpectRefused({{"batch", "-4"}}, "batch: needs at least 1");
  ExpectRefused({{"sequence", ""}}, "sequence: must not be empty");
  ExpectRefused({{"sequence", "1k"}}, "sequence");
  ExpectRefused({{"metric", "tflop"}}, "did you mean 'tflops'?");
  ExpectRefused({{"status", "OOM"}}, "status: needs one of ok|oom|unknown");
  ExpectRefused({{"tier", "D"}}, "tier: needs one of A|B|C");
  ExpectRefused({{"use", ""}}, "use: ");
  ExpectRefused({{"published", "fast"}}, "published");
  ExpectRefused({{"published", ""}}, "metric tflops needs a published number");
  ExpectRefused({{"published", "0"}}, "needs a published number");
  ExpectRefused({{"published", "-3"}}, "needs a published number");
  ExpectRefused({{"id", ""}}, "must not be empty");
  ExpectRefused({{"model", ""}}, "must not be empty");
}

TEST(PublishedRow, AStatusNeedsNoNumber) {
  EXPECT_TRUE(Read({{"metric", "status"}, {"published", ""}}).ok());
}

TEST(PublishedRow, AMissingColumnIsNamed) {
  for (const char* column : {"id", "system", "batch", "published", "relation", "tier", "note"}) {
    const absl::Status status = Read({}, column).status();
    ASSERT_FALSE(status.ok()) << column;
    EXPECT_THAT(std::string(status.message()), HasSubstr(column));
  }
}

TEST(PublishedRow, SystemsAreSimulatedByTheirStrategy) {
  EXPECT_EQ(StrategyOf("megatrain"), Strategy::kReference);
  EXPECT_EQ(StrategyOf("pytorch_native"), Strategy::kResident);
  EXPECT_EQ(StrategyOf("zero3_offload"), Strategy::kZero3Offload);
  EXPECT_EQ(StrategyOf("fsdp_offload"), Strategy::kFsdpOffload);
  EXPECT_EQ(StrategyOf("gemini"), Strategy::kGemini);
  EXPECT_EQ(StrategyOf("slideformer"), Strategy::kHorizon);
  EXPECT_EQ(StrategyOf("llmq"), Strategy::kHorizon);
  EXPECT_EQ(StrategyOf("ratel_ssd"), std::nullopt);
  // Nobody published figures of ours.
  EXPECT_EQ(StrategyOf("horizon"), std::nullopt);
  EXPECT_EQ(StrategyOf(""), std::nullopt);
}

TEST(PublishedRow, ColumnsOfOtherSystemsMayBeMissing) {
  const PublishedRow plain = Read({})->at(0);
  EXPECT_EQ(plain.accumulation, 1);
  EXPECT_FALSE(plain.recompute);
  const PublishedRow given = Read({{"accumulation", "16"}, {"recompute", "yes"}})->at(0);
  EXPECT_EQ(given.accumulation, 16);
  EXPECT_TRUE(given.recompute);
  EXPECT_FALSE(Read({{"recompute", ""}})->at(0).recompute);
  ExpectRefused({{"accumulation", "0"}}, "accumulation");
  ExpectRefused({{"accumulation", ""}}, "accumulation");
  ExpectRefused({{"recompute", "no"}}, "recompute: needs yes or nothing");
}

}  // namespace
}  // namespace horizon

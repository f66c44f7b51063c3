#include "planner/explain_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "planner/search_plan.h"
#include "planner/set_plan_field.h"
#include "tests/planner/small_cases.h"

namespace horizon {
namespace {

class ExplainPlanTest : public testing::Test {
 protected:
  std::vector<Alternative> Explain(const StreamPlan& plan) const {
    return ExplainPlan(spec_, job_, plan, space_, setting_);
  }
  StreamPlan Best() const { return *SearchPlan(spec_, job_, space_, setting_).plan; }

  // The value of a field as the plan's file has it.
  static std::string FieldOf(const StreamPlan& plan, const std::string& field) {
    const absl::StatusOr<Document> file = ParseJson("plan", WritePlan(plan));
    const Value* value = file->root.Find(field);
    if (const bool* flag = value->As<bool>()) return *flag ? "true" : "false";
    if (const std::string* text = value->As<std::string>()) return *text;
    return std::to_string(*value->As<int64_t>());
  }

  // The plan with the alternative's value.
  static StreamPlan Changed(StreamPlan plan, const Alternative& alternative, Bytes chunk_bytes) {
    std::vector<std::string> none;
    const std::string value =
        alternative.field == "chunk_bytes" ? StrCat(chunk_bytes.value(), "B") : alternative.value;
    const absl::Status status = SetPlanField(alternative.field + "=" + value, plan, none);
    EXPECT_TRUE(status.ok()) << status;
    return plan;
  }

  const ModelSpec spec_ = SmallModel(6);
  const TrainingJob job_ = SmallJob(2);
  const HardwareProfile machine_ = SmallMachine(SlowPart::kLink);
  const Setting setting_{.profile = machine_, .margin = 0.05};
  const PlanSpace space_ = SpaceFor(spec_, job_, machine_, StreamPlan{}, {});
};

TEST_F(ExplainPlanTest, TheChosenValueStandsOnceInEveryField) {
  StreamPlan plan = Best();
  plan.recompute = true;
  plan.resident_chunks = 1;
  // A value outside the space is shown too.
  plan.buffer_depth = 9;
  std::map<std::string, int> chosen;
  std::map<std::string, std::set<std::string>> values;
  for (const Alternative& one : Explain(plan)) {
    chosen[one.field] += one.chosen ? 1 : 0;
    EXPECT_TRUE(values[one.field].insert(one.value).second) << one.field << " " << one.value;
    if (one.chosen) {
      EXPECT_EQ(one.slower, 0);
      EXPECT_TRUE(one.possible);
      if (one.field != "chunk_bytes") {
        EXPECT_EQ(one.value, FieldOf(plan, one.field));
      }
    }
  }
  for (const auto& [field, count] : chosen) EXPECT_EQ(count, 1) << field;
  for (const char* const field :
       {"chunk_bytes", "buffer_depth", "resident_chunks", "recompute", "anchor_interval",
        "anchor_home", "gradient_slabs", "accumulation_order", "embedding_home", "host_threads",
        "optimizer_threads"}) {
    EXPECT_TRUE(chosen.contains(field)) << field;
    EXPECT_GE(values[field].size(), 2U) << field;
  }
  EXPECT_EQ(values["buffer_depth"], (std::set<std::string>{"1", "2", "3", "4", "6", "9"}));
}

TEST_F(ExplainPlanTest, AnAlternativeIsTheChosenPlanWithOneFieldChanged) {
  StreamPlan plan = Best();
  plan.recompute = true;
  plan.buffer_depth = 2;
  plan.anchor_interval = 2;
  plan.accumulation_order = AccumulationOrder::kBatchMajor;
  const absl::StatusOr<Prediction> chosen = Predict(spec_, job_, plan, setting_);
  ASSERT_TRUE(chosen.ok()) << chosen.status();
  std::vector<Bytes> sizes = space_.chunk_bytes;
  std::sort(sizes.begin(), sizes.end());
  size_t size = 0;
  int impossible = 0;
  int different = 0;
  for (const Alternative& one : Explain(plan)) {
    const Bytes bytes = one.field == "chunk_bytes" ? sizes[size++] : plan.chunk_bytes;
    const StreamPlan changed = Changed(plan, one, bytes);
    EXPECT_EQ(changed == plan, one.chosen) << one.field << " " << one.value;
    const absl::StatusOr<Prediction> prediction = Predict(spec_, job_, changed, setting_);
    ASSERT_EQ(prediction.ok(), one.possible) << one.field << " " << one.value;
    if (!prediction.ok()) {
      ++impossible;
      continue;
    }
    EXPECT_EQ(one.step_seconds, prediction->step_seconds) << one.field << " " << one.value;
    EXPECT_EQ(one.device_bytes, prediction->memory.device_bytes());
    EXPECT_EQ(one.fits, prediction->fits());
    EXPECT_DOUBLE_EQ(one.slower, prediction->step_seconds / chosen->step_seconds - 1);
    different += one.slower != 0 ? 1 : 0;
  }
  // Chunk-major order with blocks of two layers and small chunks needs a larger ring.
  EXPECT_GE(impossible + different, 5);
}

TEST_F(ExplainPlanTest, WhatDoesNotFitIsMarked) {
  HardwareProfile small = machine_;
  const absl::StatusOr<Prediction> base = Predict(spec_, job_, Best(), setting_);
  ASSERT_TRUE(base.ok());
  small.device.memory_bytes.value = static_cast<double>(base->memory.device_bytes()) * 1.1;
  const Setting tight{.profile = small, .margin = 0.05};
  int unfit = 0;
  for (const Alternative& one : ExplainPlan(spec_, job_, Best(), space_, tight)) {
    if (one.chosen) {
      EXPECT_TRUE(one.fits);
    }
    unfit += one.possible && !one.fits ? 1 : 0;
  }
  EXPECT_GT(unfit, 0);
}

TEST_F(ExplainPlanTest, AnchorsAreNotExplainedWithoutRecompute) {
  StreamPlan plan = Best();
  plan.recompute = false;
  for (const Alternative& one : Explain(plan)) {
    EXPECT_NE(one.field, "anchor_interval");
    EXPECT_NE(one.field, "anchor_home");
  }
}

TEST_F(ExplainPlanTest, AFixedFieldHasNoAlternatives) {
  const StreamPlan fixed{.buffer_depth = 3, .anchor_interval = 4, .host_threads = 2};
  const PlanSpace space =
      SpaceFor(spec_, job_, machine_, fixed, {"buffer_depth", "anchor_interval", "host_threads"});
  const SearchResult result = SearchPlan(spec_, job_, space, setting_);
  for (const Alternative& one : ExplainPlan(spec_, job_, *result.plan, space, setting_)) {
    EXPECT_NE(one.field, "buffer_depth");
    EXPECT_NE(one.field, "anchor_interval");
    EXPECT_NE(one.field, "host_threads");
  }
}

TEST_F(ExplainPlanTest, NoNeighbourOfTheExactBestIsFaster) {
  const PlanSpace space = SmallSpace(spec_, job_);
  const SearchResult best = SearchExhaustively(spec_, job_, space, setting_);
  for (const Alternative& one : ExplainPlan(spec_, job_, *best.plan, space, setting_)) {
    if (!one.possible || !one.fits) continue;
    EXPECT_GE(one.slower, 0) << one.field << " " << one.value;
  }
}

}  // namespace
}  // namespace horizon

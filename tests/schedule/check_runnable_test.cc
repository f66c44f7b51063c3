#include "schedule/check_runnable.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#include "common/documents/json.h"
#include "tests/schedule/random_plans.h"

namespace horizon {
namespace {

struct Case {
  ModelSpec spec = TinyModel(2);
  TrainingJob job;
  StreamPlan plan;

  absl::Status Check() const { return CheckRunnable(spec, job, plan); }
};

void ExpectRefused(const std::function<void(Case&)>& change, const std::string& words) {
  Case made;
  ASSERT_TRUE(made.Check().ok());
  change(made);
  const absl::Status status = made.Check();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition) << words;
  EXPECT_NE(std::string(status.message()).find(words), std::string::npos) << status;
  EXPECT_EQ(PlannedOnlyLine(WhyPlannedOnly(made.spec, made.job, made.plan)),
            "planned only: " + std::string(status.message()) + "\n");
}

TEST(CheckRunnable, WhatTheRuntimeHasNoBodiesForIsRefusedWithTheReason) {
  for (const Strategy strategy :
       {Strategy::kZero3Offload, Strategy::kFsdpOffload, Strategy::kGemini}) {
    ExpectRefused([&](Case& it) { it.plan.strategy = strategy; },
                  "run horizon, reference or resident");
  }
  ExpectRefused(
      [](Case& it) {
        PlaceOn(DeviceKind::kCuda, it.job);
        it.spec.family = "mixtral";
        it.spec.experts = {.experts = 4, .experts_per_token = 2, .intermediate = 20};
        it.spec.layers[1].has_experts = true;
      },
      "expert size 20; device cuda needs a multiple of 8");
  ExpectRefused([](Case& it) { it.job.activation_type = NumberType::kBf16; },
                "set activation_type fp32");
  ExpectRefused(
      [](Case& it) {
        PlaceOn(DeviceKind::kCuda, it.job);
        it.spec.intermediate = 20;
      },
      "intermediate size 20; device cuda needs a multiple of 8");
}

TEST(CheckRunnable, AttentionSinksRun) {
  Case made;
  made.spec.attention_sinks = true;
  EXPECT_TRUE(made.Check().ok()) << made.Check();
  made.spec.heads = made.spec.kv_heads = 8;
  PlaceOn(DeviceKind::kCuda, made.job);
  EXPECT_TRUE(made.Check().ok()) << made.Check();
  ExpectRefused(
      [](Case& it) {
        PlaceOn(DeviceKind::kCuda, it.job);
        it.spec.attention_sinks = true;
        it.spec.heads = 12;
      },
      "attention sinks of 12 heads; device cuda needs a multiple of 8");
}

TEST(CheckRunnable, AVocabularyOfAnySizeRunsOnCuda) {
  for (const int64_t vocab : {1, 31, 32, 100'278}) {
    Case made;
    PlaceOn(DeviceKind::kCuda, made.job);
    made.spec.vocab = vocab;
    EXPECT_TRUE(made.Check().ok()) << vocab << ": " << made.Check();
  }
}

// The published system rounds twice; what runs here has to give the bits of every other plan.
TEST(CheckRunnable, ReferenceClipsGradientsOfFp32) {
  Case made;
  made.plan.strategy = Strategy::kReference;
  EXPECT_NE(std::string(made.Check().message()).find("set gradient_type fp32"), std::string::npos);
  made.job.gradient_type = NumberType::kFp32;
  EXPECT_TRUE(made.Check().ok());
  made.job.gradient_type = NumberType::kBf16;
  made.job.clip_norm = 0;
  EXPECT_TRUE(made.Check().ok());
  made.job.clip_norm = 1;
  made.job.accumulation = 2;  // sums are kept as fp32
  EXPECT_TRUE(made.Check().ok());
}

TEST(CheckRunnable, IsOneOrTwoMembersInJson) {
  const auto written = [](const std::string& why) {
    JsonWriter writer;
    writer.BeginObject();
    WriteRunnable(why, writer);
    writer.EndObject();
    const absl::StatusOr<Document> document = ParseJson("written", std::move(writer).Finish());
    EXPECT_TRUE(document.ok());
    return *document;
  };
  EXPECT_EQ(PlannedOnlyLine(""), "");
  const Document runs = written("");
  EXPECT_TRUE(*runs.root.Find("runnable")->As<bool>());
  EXPECT_EQ(runs.root.Find("planned_only"), nullptr);
  const Document planned = written("for a reason");
  EXPECT_FALSE(*planned.root.Find("runnable")->As<bool>());
  EXPECT_EQ(*planned.root.Find("planned_only")->As<std::string>(), "for a reason");
}

}  // namespace
}  // namespace horizon

#include "planner/plan_space.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "planner/planned_job.h"
#include "planner/set_plan_field.h"
#include "tests/planner/small_cases.h"

namespace horizon {
namespace {

std::set<std::string> TextsOf(const PlanSpace& space) {
  std::set<std::string> texts;
  for (const StreamPlan& plan : PlansOf(space)) texts.insert(WritePlan(plan));
  return texts;
}

PlanSpace OneOfEach() {
  return {.base = {.h2d_threads = 7, .d2h_threads = 9},
          .chunk_bytes = {1_MiB},
          .buffer_depth = {2},
          .resident_chunks = {0},
          .anchor_interval = {1},
          .anchor_home = {AnchorHome::kDevice},
          .recompute = {true},
          .gradient_slabs = {2},
          .accumulation_order = {AccumulationOrder::kBatchMajor},
          .loss_chunk_tokens = {128},
          .embedding_home = {EmbeddingHome::kHost},
          .threads = {{.compute = 1, .host = 2, .optimizer = 3}}};
}

PlanSpace TwoOrMoreOfEach() {
  PlanSpace space = OneOfEach();
  space.chunk_bytes = {2_MiB, 1_MiB};
  space.buffer_depth = {2, 1, 5};
  space.resident_chunks = {0, kAsManyAsFit};
  space.anchor_interval = {4, 1, 2};
  space.anchor_home = {AnchorHome::kHost, AnchorHome::kDevice};
  space.recompute = {true, false};
  space.keep_feed_forward = {true, false};
  space.several_pieces = true;
  space.gradient_slabs = {2, 1};
  space.accumulation_order = {AccumulationOrder::kBatchMajor, AccumulationOrder::kChunkMajor};
  space.loss_chunk_tokens = {1024, 128};
  space.embedding_home = {EmbeddingHome::kHost, EmbeddingHome::kStreamed, EmbeddingHome::kDevice};
  space.threads.push_back({.compute = 4, .host = 5, .optimizer = 6});
  return space;
}

TEST(PlanSpace, EveryCombinationIsVisitedOnce) {
  const PlanSpace space = TwoOrMoreOfEach();
  // chunk, depth, resident, gate and up, slabs, order, loss, embedding, threads; then K and home,
  // or no anchors.
  const size_t rest = size_t{2} * 3 * 2 * 2 * 2 * 2 * 2 * 3 * 2;
  const size_t expected = rest * (3 * 2 + 1);
  EXPECT_EQ(PlansOf(space).size(), expected);
  EXPECT_EQ(TextsOf(space).size(), expected);
  EXPECT_EQ(PlansOf(OneOfEach()).size(), 1U);
}

TEST(PlanSpace, EveryValueOfEveryFieldIsReached) {
  std::set<std::string> seen;
  for (const StreamPlan& plan : PlansOf(TwoOrMoreOfEach())) {
    seen.insert("chunk " + std::to_string(plan.chunk_bytes.value()));
    seen.insert("depth " + std::to_string(plan.buffer_depth));
    seen.insert("resident " + std::to_string(plan.resident_chunks));
    seen.insert("K " + std::to_string(plan.anchor_interval));
    seen.insert(plan.anchor_home == AnchorHome::kHost ? "host" : "device");
    seen.insert(plan.recompute ? "recompute" : "keep");
    seen.insert(plan.keep_feed_forward ? "gate and up" : "no gate and up");
    seen.insert("slabs " + std::to_string(plan.gradient_slabs));
    seen.insert("order " + std::string(ToString(plan.accumulation_order)));
    seen.insert("loss " + std::to_string(plan.loss_chunk_tokens));
    seen.insert("embedding " + std::string(ToString(plan.embedding_home)));
    seen.insert("threads " + std::to_string(plan.compute_threads) + " " +
                std::to_string(plan.host_threads) + " " + std::to_string(plan.optimizer_threads));
    EXPECT_EQ(plan.h2d_threads, 7);
    EXPECT_EQ(plan.d2h_threads, 9);
  }
  EXPECT_EQ(seen.size(), 2U + 3 + 2 + 3 + 2 + 2 + 2 + 2 + 2 + 2 + 3 + 2);
  EXPECT_TRUE(seen.contains("threads 4 5 6"));
}

TEST(PlanSpace, AnchorsAreNotVariedWithoutRecompute) {
  for (const StreamPlan& plan : PlansOf(TwoOrMoreOfEach())) {
    if (plan.recompute) continue;
    EXPECT_EQ(plan.anchor_interval, 4);
    EXPECT_EQ(plan.anchor_home, AnchorHome::kHost);
  }
}

// With blocks of one layer and one piece of tokens, gate and up exist once either way.
TEST(PlanSpace, GateAndUpAreVariedWhereItChangesTheMemory) {
  PlanSpace space = TwoOrMoreOfEach();
  space.several_pieces = false;
  size_t varied = 0;
  for (const StreamPlan& plan : PlansOf(space)) {
    const bool alike = plan.recompute && plan.anchor_interval == 1;
    EXPECT_TRUE(plan.keep_feed_forward || !alike);
    varied += plan.keep_feed_forward ? 0 : 1;
  }
  EXPECT_GT(varied, 0U);
}

// The published system packs layers with one thread; its Adam uses all cores.
TEST(PlanSpace, ThePublishedSystemPacksWithOneThread) {
  const ModelSpec spec = SmallModel();
  const HardwareProfile machine = CatalogMachine("gh200");
  const auto threads_of = [&](Strategy strategy, const std::vector<std::string>& fields) {
    StreamPlan fixed = PlanFor(strategy);
    fixed.host_threads = 5;
    return SpaceFor(spec, JobFor(machine, strategy), machine, fixed, fields).threads;
  };
  EXPECT_EQ(threads_of(Strategy::kReference, {}),
            (std::vector<PlanThreads>{{.compute = 1, .host = 1, .optimizer = 72}}));
  EXPECT_EQ(threads_of(Strategy::kZero3Offload, {}),
            (std::vector<PlanThreads>{{.compute = 1, .host = 72, .optimizer = 72}}));
  EXPECT_EQ(threads_of(Strategy::kReference, {"host_threads"}),
            (std::vector<PlanThreads>{{.compute = 1, .host = 5, .optimizer = 72}}));
  EXPECT_GT(threads_of(Strategy::kHorizon, {}).size(), 1U);
}

TEST(PlanSpace, WhatIsFixedStaysFixedAndTheRestIsSearched) {
  const ModelSpec spec = SmallModel();
  const HardwareProfile machine = CatalogMachine("gh200");
  TrainingJob job = JobFor(machine, Strategy::kHorizon);
  job.accumulation = 2;
  const size_t all = PlansOf(SpaceFor(spec, job, machine, StreamPlan{}, {})).size();
  for (const std::string assignment :
       {"chunk_bytes=3MiB", "buffer_depth=5", "backward_prefetch=false", "resident_chunks=3",
        "anchor_interval=3", "anchor_home=host", "recompute=false", "gradient_slabs=9",
        "accumulation_order=chunk_major", "loss_chunk_tokens=256", "embedding_home=device",
        "h2d_threads=3", "compute_threads=3", "d2h_threads=3", "host_threads=3",
        "optimizer_threads=3"}) {
    StreamPlan fixed;
    std::vector<std::string> fields;
    ASSERT_TRUE(SetPlanField(assignment, fixed, fields).ok()) << assignment;
    const std::vector<StreamPlan> plans = PlansOf(SpaceFor(spec, job, machine, fixed, fields));
    EXPECT_GT(plans.size(), 100U) << assignment;
    EXPECT_LE(plans.size(), all) << assignment;
    std::set<std::string> texts;
    for (const StreamPlan& plan : plans) {
      // Setting the field once more changes nothing.
      StreamPlan again = plan;
      again.resident_chunks = std::max<int64_t>(0, again.resident_chunks);
      const StreamPlan before = again;
      std::vector<std::string> none;
      ASSERT_TRUE(SetPlanField(assignment, again, none).ok());
      ASSERT_EQ(again, before) << assignment;
      texts.insert(WritePlan(plan));
    }
    EXPECT_EQ(texts.size(), plans.size()) << assignment;
  }
}

TEST(PlanSpace, ThreadsThatBecomeAlikeAreVisitedOnce) {
  const HardwareProfile machine = CatalogMachine("gh200");
  const TrainingJob job = JobFor(machine, Strategy::kHorizon);
  const StreamPlan fixed{.host_threads = 8, .optimizer_threads = 8};
  const PlanSpace both =
      SpaceFor(SmallModel(), job, machine, fixed, {"host_threads", "optimizer_threads"});
  EXPECT_EQ(both.threads, (std::vector<PlanThreads>{{.compute = 1, .host = 8, .optimizer = 8}}));
  const PlanSpace one = SpaceFor(SmallModel(), job, machine, fixed, {"host_threads"});
  EXPECT_EQ(one.threads.size(), 2U);
}

TEST(PlanSpace, ThreadsStayWithinTheCores) {
  for (const DeviceKind kind : {DeviceKind::kCuda, DeviceKind::kHost}) {
    for (const int64_t cores : {1, 2, 3, 72}) {
      HardwareProfile machine = CatalogMachine("t4");
      machine.device.kind = kind;
      machine.host.cores = cores;
      const TrainingJob job = JobFor(machine, Strategy::kHorizon);
      for (const PlanThreads& threads :
           SpaceFor(SmallModel(), job, machine, StreamPlan{}, {}).threads) {
        for (const int64_t count : {threads.compute, threads.host, threads.optimizer}) {
          EXPECT_GE(count, 1);
          EXPECT_LE(count, cores);
        }
      }
    }
  }
}

TEST(PlanSpace, ChunkMajorOrderIsLookedAtWithSeveralMicroBatchesOnly) {
  const HardwareProfile machine = CatalogMachine("t4");
  for (const int64_t accumulation : {1, 2}) {
    TrainingJob job = JobFor(machine, Strategy::kHorizon);
    job.accumulation = accumulation;
    const PlanSpace space = SpaceFor(SmallModel(), job, machine, StreamPlan{}, {});
    EXPECT_EQ(space.accumulation_order.size(), static_cast<size_t>(accumulation));
  }
}

TEST(PlanSpace, CoarseAndFrugalSpacesArePartsOfTheWhole) {
  const HardwareProfile machine = CatalogMachine("h200");
  for (const EnumWord<Strategy>& strategy : WordsOf(Strategy{})) {
    TrainingJob job = JobFor(machine, strategy.value);
    job.accumulation = 2;
    const PlanSpace whole =
        SpaceFor(CatalogModel("qwen2.5-72b"), job, machine, PlanFor(strategy.value), {});
    const std::set<std::string> all = TextsOf(whole);
    for (const PlanSpace& part :
         {CoarseSpace(whole), FrugalSpace(whole), FrugalSpace(CoarseSpace(whole))}) {
      const std::set<std::string> some = TextsOf(part);
      EXPECT_FALSE(some.empty());
      EXPECT_LE(some.size(), all.size());
      if (strategy.value == Strategy::kHorizon) {
        EXPECT_LT(some.size(), all.size() / 10);
      }
      EXPECT_TRUE(std::includes(all.begin(), all.end(), some.begin(), some.end())) << strategy.word;
    }
  }
}

TEST(PlanSpace, EveryPlanOfEveryStrategyIsValid) {
  for (const DeviceKind kind : {DeviceKind::kCuda, DeviceKind::kHost}) {
    HardwareProfile machine = CatalogMachine("t4");
    machine.device.kind = kind;
    for (const EnumWord<Strategy>& strategy : WordsOf(Strategy{})) {
      for (const int64_t sequence : {1, 100, 1100, 4096}) {
        const ModelSpec spec = SmallModel();
        TrainingJob job = JobFor(machine, strategy.value);
        job.sequence = sequence;
        job.accumulation = 2;
        ASSERT_TRUE(ValidateJob(spec, job).ok()) << strategy.word;
        const PlanSpace space = SpaceFor(spec, job, machine, PlanFor(strategy.value), {});
        std::vector<StreamPlan> plans = PlansOf(space);
        plans.push_back(PlanFor(strategy.value));
        for (StreamPlan& plan : plans) {
          if (strategy.value != Strategy::kHorizon) {
            ASSERT_EQ(plan.resident_chunks, 0);
          }
          plan.resident_chunks = std::max<int64_t>(0, plan.resident_chunks);
          const absl::Status status = ValidatePlan(spec, job, plan);
          ASSERT_TRUE(status.ok()) << strategy.word << ": " << status;
          ASSERT_EQ(plan.strategy, strategy.value);
        }
      }
    }
  }
}

TEST(PlanSpace, PlansAreNamedAfterTheModel) {
  const ModelSpec spec = SmallModel();
  const PlanSpace space = SpaceFor(spec, SmallJob(), SmallMachine(), StreamPlan{}, {});
  EXPECT_EQ(space.base.model, "small");
  EXPECT_EQ(space.base.model_fingerprint, FingerprintOf(spec));
}

}  // namespace
}  // namespace horizon

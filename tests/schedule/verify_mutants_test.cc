// The verifier is proven by what it refuses: good schedules, broken in every way we can think of.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "schedule/build/build_schedule.h"
#include "schedule/verify/verify_schedule.h"
#include "tests/schedule/mutants.h"
#include "tests/schedule/random_plans.h"

namespace horizon {
namespace {

struct Base {
  std::string name;
  Schedule schedule;
};

Schedule Build(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan) {
  absl::StatusOr<Schedule> schedule = BuildSchedule(spec, job, plan);
  EXPECT_TRUE(schedule.ok()) << schedule.status();
  return *std::move(schedule);
}

// Small schedules that between them have every kind of operation the mutants break, and waits that
// guard no buffer but keep a strategy from overlapping what its system does not.
std::vector<Base> Bases() {
  ModelSpec spec = TinyModel(4);
  spec.vocab = 1200;  // three tiles
  TrainingJob job;
  job.sequence = 150;
  job.micro_batch = 2;
  StreamPlan plan;
  plan.loss_chunk_tokens = 128;
  const auto with = [](auto value, auto change) {
    change(value);
    return value;
  };
  const ModelSpec tied = with(spec, [](ModelSpec& s) { s.tied = true; });
  const TrainingJob two = with(job, [](TrainingJob& j) { j.accumulation = 2; });
  const StreamPlan wide = with(plan, [](StreamPlan& p) { p.chunk_bytes = 64_KiB; });
  ModelSpec deep = TinyModel(6);
  deep.intermediate = 256;
  const StreamPlan blocks = with(wide, [](StreamPlan& p) {
    p.chunk_bytes = Bytes(CheckedU64(12400));  // attention and feed-forward apart
    p.anchor_interval = 2;
    p.anchor_home = AnchorHome::kHost;
    p.buffer_depth = 3;
  });
  std::vector<Base> bases;
  bases.push_back({"one chunk a layer", Build(spec, job, wide)});
  bases.push_back({"blocks, anchors on the host", Build(deep, two, blocks)});
  bases.push_back({"blocks on the device", Build(deep, job, with(blocks, [](StreamPlan& p) {
                                                   p.anchor_home = AnchorHome::kDevice;
                                                   p.chunk_bytes = Bytes(
                                                       CheckedU64(6400));  // feed-forward in shards
                                                   p.buffer_depth = 4;
                                                 }))});
  bases.push_back(
      {"tied, sharded head, accumulation", Build(tied, two, with(wide, [](StreamPlan& p) {
                                                   p.chunk_bytes = Bytes(CheckedU64(8448));
                                                 }))});
  bases.push_back({"chunk major, streamed embedding",
                   Build(spec, two, with(wide, [](StreamPlan& p) {
                           p.accumulation_order = AccumulationOrder::kChunkMajor;
                           p.embedding_home = EmbeddingHome::kStreamed;
                         }))});
  bases.push_back(
      {"in backward, no recompute", Build(spec,
                                          with(job,
                                               [](TrainingJob& j) {
                                                 j.optimizer_place = OptimizerPlace::kInBackward;
                                                 j.clip_norm = 0;
                                               }),
                                          with(wide, [](StreamPlan& p) { p.recompute = false; }))});
  bases.push_back({"no prefetch in backward", Build(spec, two, with(wide, [](StreamPlan& p) {
                                                      p.backward_prefetch = false;
                                                      p.anchor_interval = 2;
                                                    }))});
  const TrainingJob last_layers = with(two, [](TrainingJob& j) {
    j.train = {"model.layers.2.mlp.*", "model.layers.3.self_attn.o_proj.weight"};
  });
  bases.push_back({"last layers trained", Build(spec, last_layers, wide)});
  bases.push_back({"last layers trained, resident frozen head",
                   Build(spec, last_layers, with(blocks, [](StreamPlan& p) {
                           p.resident_chunks = 1;
                           p.chunk_bytes = 64_KiB;
                         }))});
  const auto follow = [&](Strategy strategy) {
    return with(wide, [strategy](StreamPlan& p) {
      p.strategy = strategy;
      p.embedding_home = EmbeddingHome::kDevice;
      p.anchor_interval = 2;
    });
  };
  const TrainingJob after =
      with(two, [](TrainingJob& j) { j.optimizer_place = OptimizerPlace::kAfterStep; });
  bases.push_back({"reference", Build(spec, after, follow(Strategy::kReference))});
  bases.push_back({"reference, one buffer and one slab",
                   Build(tied, after, with(follow(Strategy::kReference), [](StreamPlan& p) {
                           p.buffer_depth = 1;
                           p.gradient_slabs = 1;
                         }))});
  const TrainingJob on_cuda = with(after, [](TrainingJob& j) {
    j.device = DeviceKind::kCuda;
    j.activation_type = NumberType::kBf16;
  });
  bases.push_back({"resident on cuda",
                   Build(tied, on_cuda, with(follow(Strategy::kResident), [](StreamPlan& p) {
                           p.recompute = false;
                           p.anchor_interval = 1;
                         }))});
  bases.push_back({"sharded head on cuda", Build(spec, on_cuda, with(wide, [](StreamPlan& p) {
                                                   p.chunk_bytes = Bytes(CheckedU64(8448));
                                                 }))});
  ModelSpec experts = TinyModel(4);
  experts.family = "qwen3_moe";
  experts.experts = {.experts = 3, .experts_per_token = 2, .intermediate = 16};
  for (const size_t layer : {0, 1, 3}) experts.layers[layer].has_experts = true;
  const TrainingJob balanced = with(two, [](TrainingJob& j) { j.router_aux_loss = 0.01; });
  bases.push_back({"experts, several layers a chunk", Build(experts, balanced, blocks)});
  bases.push_back({"experts in shards, chunk major",
                   Build(experts, balanced, with(wide, [](StreamPlan& p) {
                           p.accumulation_order = AccumulationOrder::kChunkMajor;
                           p.chunk_bytes = Bytes(CheckedU64(1700));
                           p.buffer_depth = 5;
                         }))});
  bases.push_back({"fsdp_offload", Build(spec, after, follow(Strategy::kFsdpOffload))});
  return bases;
}

TEST(VerifyMutants, BasesAreGood) {
  for (const Base& base : Bases()) {
    EXPECT_TRUE(VerifySchedule(base.schedule).ok())
        << base.name << ": " << VerifySchedule(base.schedule);
  }
}

class EachMutant : public testing::TestWithParam<Mutant> {};

TEST_P(EachMutant, IsRefusedWhereverItApplies) {
  size_t applied = 0;
  for (const Base& base : Bases()) {
    const std::vector<Schedule> broken = GetParam().make(base.schedule);
    for (size_t i = 0; i < broken.size(); ++i) {
      const absl::Status status = VerifySchedule(broken[i]);
      EXPECT_EQ(status.code(), absl::StatusCode::kInternal)
          << "survived: " << GetParam().name << " number " << i << " on '" << base.name << "'";
    }
    applied += broken.size();
  }
  EXPECT_GT(applied, 0u) << GetParam().name << " applies to none of the schedules";
}

INSTANTIATE_TEST_SUITE_P(All, EachMutant, testing::ValuesIn(AllMutants()),
                         [](const auto& mutant) { return mutant.param.name; });

TEST(VerifyMutants, ThereAreAtLeastTwentyFiveKinds) { EXPECT_GE(AllMutants().size(), 25u); }

// A fault of order is told with both operations and the buffer between them.
TEST(VerifyMutants, AMissingWaitNamesBothOperationsAndTheBuffer) {
  const Schedule good = Bases().front().schedule;
  for (const Mutant& mutant : AllMutants()) {
    if (mutant.name != "load_before_its_adam") continue;
    const std::vector<Schedule> broken = mutant.make(good);
    ASSERT_FALSE(broken.empty());
    const std::string message(VerifySchedule(broken.back()).message());
    EXPECT_NE(message.find("'load chunk "), std::string::npos) << message;
    EXPECT_NE(message.find("'adam "), std::string::npos) << message;
    EXPECT_NE(message.find("weights hi "), std::string::npos) << message;
  }
}

TEST(VerifyMutants, ACycleNamesTwoOperationsThatWaitForEachOther) {
  const Schedule good = Bases().front().schedule;
  for (const Mutant& mutant : AllMutants()) {
    if (mutant.name != "wait_cycle") continue;
    const std::string message(VerifySchedule(mutant.make(good).front()).message());
    EXPECT_EQ(message.rfind("wait cycle: '", 0), 0u) << message;
    EXPECT_NE(message.find("' (step 0, "), std::string::npos) << message;
    EXPECT_NE(message.find(" waits for '"), std::string::npos) << message;
  }
}

}  // namespace
}  // namespace horizon

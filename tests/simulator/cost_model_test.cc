// Each formula of docs/cost_model.md on shapes small enough to work out by hand, on the machine of
// test_profile.h. The tiny model has hidden size C = 8, one head of 8, intermediate size 16 and a
// vocabulary of 32; its chunks are 0: embedding, 1 and 2: layers, 3: head. For T tokens a layer's
// forward is
//   products   attention: 4 of T x 8 x 8; feed-forward: 2 of T x 16 x 8 and 1 of T x 8 x 16
//   elements   attention: 8 T (norm 2 + residual 3) + 16 T rotary 2 = 72 T values;
//              feed-forward: 8 T (2 + 3) + 16 T SwiGLU 3 = 88 T; 160 T in all
//   attention  4 x 8 flops for each visible pair, of which a sequence of S has S (S + 1) / 2
//   kernels    4 a stage that are no products: 8
#include "simulator/cost_model.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "common/text/str_cat.h"
#include "schedule/build/build_schedule.h"
#include "tests/schedule/random_plans.h"
#include "tests/simulator/test_profile.h"

namespace horizon {
namespace {

using Direction = CostModel::Direction;
using Pages = CostModel::Pages;

constexpr size_t kCores = static_cast<size_t>(Resource::kCores);
constexpr size_t kDram = static_cast<size_t>(Resource::kDram);
constexpr size_t kLink = static_cast<size_t>(Resource::kLink);

// A cost model with all it refers to.
struct Made {
  ModelSpec spec = TinyModel();
  TrainingJob job;
  StreamPlan plan;
  HardwareProfile profile = TestProfile();
  Software software;
  PassKind kind = PassKind::kTrain;
  ChunkTable chunks;
  std::unique_ptr<CostModel> model;

  explicit Made(int64_t sequence = 1000) {
    job.device = DeviceKind::kCuda;
    job.activation_type = NumberType::kBf16;
    job.sequence = sequence;
  }
  const CostModel& operator*() {
    const absl::StatusOr<ChunkTable> cut = CutIntoChunks(spec, job, plan);
    EXPECT_TRUE(cut.ok()) << cut.status();
    chunks = *cut;
    model = std::make_unique<CostModel>(spec, job, plan, chunks, profile, software, kind);
    return *model;
  }
  const CostModel* operator->() { return &**this; }
};

// What keeps 80 % of its speed takes a quarter longer; what seems to gain loses nothing.
TEST(CostModel, SlowdownsAreTheContentionMatrix) {
  Made made;
  made.profile.contention = {{Lane::kCompute, Lane::kOptimizer, {.value = 0.8}},
                             {Lane::kOptimizer, Lane::kCompute, {.value = 1.1}}};
  const LaneSlowdowns slowdowns = made->slowdowns();
  for (size_t work = 0; work < kLaneCount; ++work) {
    for (size_t beside = 0; beside < kLaneCount; ++beside) {
      const bool slowed = work == static_cast<size_t>(Lane::kCompute) &&
                          beside == static_cast<size_t>(Lane::kOptimizer);
      EXPECT_NEAR(slowdowns[work][beside], slowed ? 0.25 : 0, 1e-12);
    }
  }
}

// What reaches half of its rate in runs takes twice as long; each group by itself. A copy that a
// limit holds up works more of its time.
TEST(CostModel, RatesInRunsAreSharesOfThoseAlone) {
  Made alone;
  Made made;
  const auto both = [&](RateGroup group, const auto& cost) {
    made.profile.in_runs = {};
    made.profile.in_runs[static_cast<size_t>(group)] = Figure{.value = 0.5};
    const double ratio = static_cast<double>(cost(*made).nanoseconds) /
                         static_cast<double>(cost(*alone).nanoseconds);
    EXPECT_NEAR(ratio, 2, 0.01) << ToString(group);
    for (std::optional<Figure>& share : made.profile.in_runs) {
      share = share.has_value() ? std::nullopt : std::optional(Figure{.value = 0.5});
    }
    EXPECT_EQ(cost(*made).nanoseconds, cost(*alone).nanoseconds) << ToString(group);
  };
  constexpr uint64_t kBytes = 1'000'000;
  both(RateGroup::kCompute,
       [](const CostModel& model) { return model.Compute(1, Direction::kForward, 1); });
  both(RateGroup::kCompute,
       [](const CostModel& model) { return model.Elements(Bytes(kBytes), 1); });
  both(RateGroup::kCopiesIn, [](const CostModel& model) {
    return model.Copy(Lane::kH2d, Bytes(kBytes), Pages::kPinned, 1);
  });
  both(RateGroup::kCopiesOut, [](const CostModel& model) {
    return model.Copy(Lane::kD2h, Bytes(kBytes), Pages::kPinned, 1);
  });
  both(RateGroup::kAdam,
       [](const CostModel& model) { return model.Adam(kBytes, Bytes(kBytes), 1); });
  both(RateGroup::kNorm, [](const CostModel& model) { return model.Norm(Bytes(kBytes), 1); });
  both(RateGroup::kAccumulate,
       [](const CostModel& model) { return model.Accumulate(Bytes(kBytes), 1); });
  both(RateGroup::kPasses, [](const CostModel& model) { return model.HostPass(Bytes(kBytes), 1); });
  // 1 ms at the limit, of which a copy works for so long as it takes alone.
  for (Made* one : {&alone, &made}) {
    one->profile.in_runs = {};
    one->profile.link.limit_bytes_per_second = Figure{.value = 1e9};
  }
  made.profile.in_runs[static_cast<size_t>(RateGroup::kCopiesIn)] = Figure{.value = 0.5};
  const OperationCost plain = alone->Copy(Lane::kH2d, Bytes(kBytes), Pages::kPinned, 1);
  const OperationCost slower = made->Copy(Lane::kH2d, Bytes(kBytes), Pages::kPinned, 1);
  EXPECT_EQ(plain.nanoseconds, slower.nanoseconds);
  EXPECT_NEAR(slower.duty / plain.duty, 2, 1e-9);
}

// Launches that take nothing.
Made WithoutLaunches(int64_t sequence = 1000) {
  Made made(sequence);
  made.profile.device.launch_seconds.value = 1e-18;
  return made;
}

// And products that never wait for memory.
Made ComputeBound(int64_t sequence = 1000) {
  Made made = WithoutLaunches(sequence);
  made.profile.device.memory_bytes_per_second.value = 1e18;
  return made;
}

// Products at 1000 flops/ns: 4 x 128 + 3 x 256 = 1280. Elements: 160 000 values of 2 bytes at 50:
// 6400. Attention: 4 x 8 x 500 500 pairs at 500: 32 032.
TEST(CostModel, ComputeBoundForward) {
  EXPECT_EQ(ComputeBound()->Compute(1, Direction::kForward, 1).nanoseconds, 1280 + 6400 + 32032);
}

// Two products for each of forward's: 2560. Elements: attention 8 T (3 + 3) + 16 T 2 = 80 T,
// feed-forward 8 T (3 + 3) + 16 T 6 = 144 T: 224 000 values, 8960. Attention 2.5 times forward.
TEST(CostModel, ComputeBoundBackward) {
  EXPECT_EQ(ComputeBound()->Compute(1, Direction::kBackward, 1).nanoseconds, 2560 + 8960 + 80080);
}

// T x 8 x 8 moves (8000 + 8000) x 2 + 64 x 2 = 32 128 bytes, at 100 a nanosecond 321.28, which is
// more than its 128 of arithmetic; the other three move (8000 + 16000) x 2 + 128 x 2 = 48 256, so
// 482.56 each. 4 x 321.28 + 3 x 482.56 = 2732.8; with 6400 + 32 032 rounded to 41 165.
TEST(CostModel, BandwidthBoundForward) {
  EXPECT_EQ(WithoutLaunches()->Compute(1, Direction::kForward, 1).nanoseconds, 41165);
}

// Without its output: no down projection, 256, no SwiGLU, 48 T, and no residual of the feed-forward
// stage, 24 T: 72 000 values, 2880.
TEST(CostModel, ARecomputeWithoutOutputLeavesOutWhatOnlyTheOutputNeeds) {
  EXPECT_EQ(ComputeBound()->Compute(1, Direction::kRecompute, 1).nanoseconds,
            1280 - 256 + 6400 - 2880 + 32032);
}

// Gate and up, 2 x 256, move from recompute to backward.
TEST(CostModel, WhatIsNotKeptIsComputedAgainInBackward) {
  Made made = ComputeBound();
  made.plan.keep_feed_forward = false;
  EXPECT_EQ(made->Compute(1, Direction::kForward, 1).nanoseconds, 1280 + 6400 + 32032);
  EXPECT_EQ(made->Compute(1, Direction::kRecompute, 1).nanoseconds, 512 + 6400 - 2880 + 32032);
  EXPECT_EQ(made->Compute(1, Direction::kBackward, 1).nanoseconds, 2560 + 512 + 8960 + 80080);
}

// Pieces of 300 tokens: three and one of 100, of the same arithmetic. The sums of seven weight
// gradients, of 4 x 64 + 3 x 128 parameters, are read and written once more, as fp32: 5120 bytes.
TEST(CostModel, SeveralPiecesHaveSumsOfWeightGradients) {
  Made made = ComputeBound();
  made.job.piece_tokens = 300;
  EXPECT_EQ(made->Compute(1, Direction::kForward, 1).nanoseconds, 1280 + 6400 + 32032);
  EXPECT_EQ(made->Compute(1, Direction::kBackward, 1).nanoseconds, 2560 + 8960 + 80080 + 102);
  // Each piece is a launch of its own; 320 flops of attention take a nanosecond.
  Made small(4);
  small.job.piece_tokens = 1;
  EXPECT_EQ(small->Compute(1, Direction::kForward, 1).nanoseconds, 4 * 7000 + 8000 + 1);
}

// One token: 7 products and 8 other kernels of 1000 ns each; attention's 32 flops are nothing.
TEST(CostModel, LaunchBoundForward) {
  EXPECT_EQ(Made(1)->Compute(1, Direction::kForward, 1).nanoseconds, 7000 + 8000);
}

// The last layer has the final norm too: 4 more kernels.
TEST(CostModel, AChunkIsTheSumOfItsStages) {
  EXPECT_EQ(Made(1)->Compute(2, Direction::kForward, 1).nanoseconds, 7000 + 12000);
}

// 4 tokens: the smallest dimension is 4, where the curve has 1 flop/ns: 4 x 512 + 3 x 1024 = 5120.
// Elements 640 values: 25.6. Attention 4 x 8 x 10 pairs: 0.64. At 8 the curve has twice as much.
TEST(CostModel, ARateBelongsToTheSmallestDimension) {
  Made made = ComputeBound(4);
  made.profile.device.gemm_bf16.points = {{4, 1e9}, {8, 2e9}, {1000, 1e15}};
  EXPECT_EQ(made->Compute(1, Direction::kForward, 1).nanoseconds, 5146);
  made.job.sequence = 8;  // 10 240 flops at 2; 51.2 and 4 x 8 x 36 / 500 = 2.304
  EXPECT_EQ(made->Compute(1, Direction::kForward, 1).nanoseconds, 5120 + 54);
}

// At sequence 1000, half way from 100 to 10 000 over the logarithm: 1500 flops/ns, so 16 016 000
// flops take 10 677.33; with the rest 18 357.33.
TEST(CostModel, AttentionHasARateByItsSequence) {
  Made made = ComputeBound();
  made.profile.device.attention.points = {{100, 1e12}, {10000, 2e12}};
  EXPECT_EQ(made->Compute(1, Direction::kForward, 1).nanoseconds, 18357);
}

// 100 samples of 10 tokens: 55 pairs each, 5500 of them; at 500 flops/ns 352 instead of 32 032.
TEST(CostModel, PackedSamplesHaveTheAttentionOfSamples) {
  Made made = ComputeBound();
  made.job.sample_lengths = {{.length = 10, .samples = 7}};
  EXPECT_EQ(made->Compute(1, Direction::kForward, 1).nanoseconds, 1280 + 6400 + 352);
  EXPECT_EQ(made->Compute(1, Direction::kBackward, 1).nanoseconds, 2560 + 8960 + 880);
  // Half of the tokens in samples of 10, half in one of 500: 2750 + 125 250 pairs, 8192.
  made.job.sample_lengths = {{.length = 10, .samples = 50}, {.length = 500, .samples = 1}};
  EXPECT_EQ(made->Compute(1, Direction::kForward, 1).nanoseconds, 1280 + 6400 + 8192);
}

// Twice as many tokens of the same samples take twice as long.
TEST(CostModel, PackedSamplesCostLinearTime) {
  Made made = ComputeBound();
  made.job.sample_lengths = {{.length = 10, .samples = 1}};
  const int64_t once = made->Compute(1, Direction::kForward, 1).nanoseconds;
  made.job.sequence *= 2;
  EXPECT_EQ(made->Compute(1, Direction::kForward, 1).nanoseconds, 2 * once);
}

// One sample in a row, or longer ones that are cut to it, is what a row is without any lengths. A
// decoded token attends to the cache whatever the samples were.
TEST(CostModel, OneSampleInARowChangesNothing) {
  for (const PassKind kind : {PassKind::kTrain, PassKind::kDecode}) {
    for (const int64_t sequence : {3, 100, 777, 1000}) {
      Made made = ComputeBound(sequence);
      made.kind = kind;
      made.profile.device.attention.points = {{100, 1e12}, {10000, 2e12}};
      const auto cost = [&] { return made->Compute(1, Direction::kForward, 1).nanoseconds; };
      const int64_t whole = cost();
      made.job.sample_lengths = {{.length = sequence, .samples = 3}};
      EXPECT_EQ(cost(), whole);
      made.job.sample_lengths = {{.length = 2 * sequence, .samples = 3},
                                 {.length = sequence, .samples = 1}};
      EXPECT_NEAR(static_cast<double>(cost()), static_cast<double>(whole), 1);
    }
  }
}

// Each sample's pairs have the rate of its length: 2750 pairs at 1000 flops/ns and 125 250 at
// 1349.485 (500 lies 0.349485 of the way from 100 to 10 000 over the logarithm): 88 + 2970.02.
TEST(CostModel, AttentionHasARateByTheLengthsOfSamples) {
  Made made = ComputeBound();
  made.profile.device.attention.points = {{100, 1e12}, {10000, 2e12}};
  made.job.sample_lengths = {{.length = 10, .samples = 50}, {.length = 500, .samples = 1}};
  EXPECT_EQ(made->Compute(1, Direction::kForward, 1).nanoseconds, 1280 + 6400 + 3058);
}

// A window of 10 of 1000: 55 + 990 x 10 = 9955 pairs, 637.12 instead of 32 032.
TEST(CostModel, ASlidingWindowSeesFewerPairs) {
  Made made = ComputeBound();
  made.spec.layers[0].sliding_window = 10;
  EXPECT_EQ(made->Compute(1, Direction::kForward, 1).nanoseconds, 1280 + 6400 + 637);
  EXPECT_GT(made->Compute(2, Direction::kForward, 1).nanoseconds, 1280 + 6400 + 32032);
}

// On the host: fp32 products at 100 flops/ns 12 800, 4 bytes a value 12 800, attention 32 032; two
// of eight cores: four times that, 230 528. DRAM: products read and write (16 000 + 64) x 4 bytes
// four times and (24 000 + 128) x 4 three times, elements 640 000 bytes.
TEST(CostModel, ComputeOnTheHostUsesSomeOfItsCores) {
  Made made = ComputeBound();
  made.profile.device.kind = DeviceKind::kHost;
  made.job.device = DeviceKind::kHost;
  made.job.activation_type = NumberType::kFp32;
  const OperationCost cost = made->Compute(1, Direction::kForward, 2);
  EXPECT_EQ(cost.nanoseconds, 230528);
  EXPECT_EQ(cost.draw[kCores], 2);
  EXPECT_DOUBLE_EQ(cost.draw[kDram], (4 * 16064 * 4 + 3 * 24128 * 4 + 640000) / 230528.0);
  EXPECT_EQ(cost.draw[kLink], 0);
  // More threads than cores are no faster, and take no more than there are.
  const OperationCost all = made->Compute(1, Direction::kForward, 100);
  EXPECT_EQ(all.nanoseconds, 57632);
  EXPECT_EQ(all.draw[kCores], 8);
}

// Threads that wait for each other are given less than others; one alone waits for nobody.
TEST(CostModel, ComputeOfSeveralThreadsHasItsWeight) {
  Made made = ComputeBound();
  made.profile.device.kind = DeviceKind::kHost;
  made.job.device = DeviceKind::kHost;
  EXPECT_EQ(made->Compute(1, Direction::kForward, 2).weight, 1);
  made.profile.host.compute_weight = Figure{.value = 0.625};
  EXPECT_EQ(made->Compute(1, Direction::kForward, 2).weight, 0.625);
  EXPECT_EQ(made->Elements(Bytes(1 << 20), 8).weight, 0.625);
  EXPECT_EQ(made->Compute(1, Direction::kForward, 1).weight, 1);
  EXPECT_EQ(made->Copy(Lane::kH2d, 5000_B, Pages::kPinned, 2).weight, 1);
  EXPECT_EQ(made->Adam(1000, 0_B, 2).weight, 1);
  made.profile.host.compute_weight->value = 1.25;  // noise
  EXPECT_EQ(made->Compute(1, Direction::kForward, 2).weight, 1);
  made.profile.device.kind = DeviceKind::kCuda;
  made.profile.host.compute_weight->value = 0.625;
  EXPECT_EQ(made->Compute(1, Direction::kForward, 2).weight, 1);
}

TEST(CostModel, ComputeOnADeviceDrawsNothingFromTheHost) {
  EXPECT_EQ(Made()->Compute(1, Direction::kForward, 7).draw, ResourceAmounts{});
  EXPECT_EQ(Made()->Elements(Bytes(1 << 20), 7).draw, ResourceAmounts{});
}

// 1000 of 8 x 2 bytes are looked up: 2 x 8000 values of 2 bytes: 640 ns, or 4 kernels.
TEST(CostModel, LookingUpRows) {
  EXPECT_EQ(WithoutLaunches()->Compute(0, Direction::kForward, 1).nanoseconds, 640);
  EXPECT_EQ(Made()->Compute(0, Direction::kForward, 1).nanoseconds, 4000);
}

// The gradient of 256 parameters of 2 bytes, and three times 8000 values of 2: 48 512 bytes.
TEST(CostModel, AddingRowsToATable) {
  EXPECT_EQ(WithoutLaunches()->EmbedBackward(0, 1).nanoseconds, 970);
  EXPECT_EQ(Made()->EmbedBackward(0, 1).nanoseconds, 1000);
}

// 256 parameters, read as fp32 and written as bf16: 1536 bytes, 30.72 ns.
TEST(CostModel, RoundingTheHeadsGradient) {
  EXPECT_EQ(WithoutLaunches()->HeadGradient(3, 1).nanoseconds, 31);
}

// 10 tokens: a product of 10 x 32 x 8, 5.12 ns; 320 logits of 4 bytes, 25.6. Backward two more
// products, and each logit read and written: 15.36 + 3 x 25.6.
TEST(CostModel, ALossChunk) {
  EXPECT_EQ(ComputeBound()->Loss(3, 10, false, 1).nanoseconds, 31);
  EXPECT_EQ(ComputeBound()->Loss(3, 10, true, 1).nanoseconds, 92);
  EXPECT_EQ(Made()->Loss(3, 10, false, 1).nanoseconds, 1000 + 4000);
  EXPECT_EQ(Made()->Loss(3, 10, true, 1).nanoseconds, 3000 + 8000);
}

// A measured head: 2 x 10 x 32 x 8 = 5120 flops forward at 2 flops a nanosecond, three times that
// with its gradients. Software that multiplies at half the speed takes twice as long, and a quarter
// of the cores four times. What it draws from DRAM stays what the formula without a rate says.
TEST(CostModel, ALossChunkOfAMeasuredHead) {
  Made made;
  made.profile.device.head = Curve{.points = {{10, 2e9}, {100, 4e9}}};
  EXPECT_EQ(made->Loss(3, 10, false, 1).nanoseconds, 2560);
  EXPECT_EQ(made->Loss(3, 10, true, 1).nanoseconds, 7680);
  EXPECT_EQ(made->Loss(3, 100, true, 1).nanoseconds, 38400);
  EXPECT_EQ(made->Loss(3, 1, false, 1).nanoseconds, 1000) << "at least a launch";
  made.software.gemm_speed = 0.5;
  EXPECT_EQ(made->Loss(3, 10, true, 1).nanoseconds, 15360);
  made.profile.device.kind = DeviceKind::kHost;
  const OperationCost quarter = made->Loss(3, 10, true, 2);
  EXPECT_EQ(quarter.nanoseconds, 61440);
  made.profile.device.head.reset();
  const OperationCost by_gemms = made->Loss(3, 10, true, 2);
  EXPECT_NEAR(quarter.draw[kDram] * 61440, by_gemms.draw[kDram] * by_gemms.nanoseconds, 1e-6);
}

// 50 bytes a nanosecond, but at least a launch; on the host by its share of cores.
TEST(CostModel, APassOverDeviceMemory) {
  Made made;
  EXPECT_EQ(made->Elements(100'000_B, 1).nanoseconds, 2000);
  EXPECT_EQ(made->Elements(49'900_B, 1).nanoseconds, 1000);
  EXPECT_EQ(made->Elements(0_B, 1).nanoseconds, 1000);
  made.profile.device.kind = DeviceKind::kHost;
  const OperationCost on_host = made->Elements(100'000_B, 2);
  EXPECT_EQ(on_host.nanoseconds, 8000);
  EXPECT_EQ(on_host.draw, (ResourceAmounts{2, 12.5, 0}));
}

TEST(CostModel, ACopyIsLatencyAndSizeByRate) {
  Made made;
  EXPECT_EQ(made->Copy(Lane::kH2d, 5000_B, Pages::kPinned, 1).nanoseconds, 1000 + 500);
  EXPECT_EQ(made->Copy(Lane::kH2d, 5000_B, Pages::kPageable, 1).nanoseconds, 1000 + 1000);
  EXPECT_EQ(made->Copy(Lane::kD2h, 4000_B, Pages::kPinned, 1).nanoseconds, 1000 + 500);
  EXPECT_EQ(made->Copy(Lane::kD2h, 4000_B, Pages::kPageable, 1).nanoseconds, 1000 + 1000);
  EXPECT_EQ(made->Copy(Lane::kH2d, 0_B, Pages::kPinned, 1).nanoseconds, 1000);
  // It goes through DRAM once and over the link once, by no core of ours.
  EXPECT_EQ(made->Copy(Lane::kH2d, 6000_B, Pages::kPinned, 4).draw,
            (ResourceAmounts{0, 6000 / 1600.0, 6000 / 1600.0}));
  // By its size: 1 byte/ns at 1000 bytes, 10 at 100 000, 5.5 half way over the logarithm.
  made.profile.link.h2d_pinned.points = {{1000, 1e9}, {100'000, 1e10}};
  EXPECT_EQ(made->Copy(Lane::kH2d, 1000_B, Pages::kPinned, 1).nanoseconds, 2000);
  EXPECT_EQ(made->Copy(Lane::kH2d, 10'000_B, Pages::kPinned, 1).nanoseconds, 1000 + 1818);
}

TEST(CostModel, SoftwareMayReachAShareOfTheLinkAndOfAdam) {
  Made made;
  made.software = {.link_share = 0.5, .adam_speed = 2, .process_bytes = 0_B};
  EXPECT_EQ(made->Copy(Lane::kH2d, 5000_B, Pages::kPinned, 1).nanoseconds, 1000 + 1000);
  EXPECT_EQ(made->Adam(1000, 0_B, 1).nanoseconds, 5000);
}

TEST(CostModel, SoftwareMayBeSlowerInEachKindOfWork) {
  Made plain;
  Made slow;
  slow.software = {.gemm_speed = 0.5, .pack_speed = 0.25};
  EXPECT_EQ(slow->Pack(4000_B, 2).nanoseconds, 4 * plain->Pack(4000_B, 2).nanoseconds);
  const int64_t before = plain->Compute(1, Direction::kForward, 1).nanoseconds;
  const int64_t after = slow->Compute(1, Direction::kForward, 1).nanoseconds;
  EXPECT_GT(after, before);
  EXPECT_LE(after, 2 * before) << "passes over elements are as fast as before";
  EXPECT_EQ(slow->Elements(1'000'000_B, 1).nanoseconds,
            plain->Elements(1'000'000_B, 1).nanoseconds);
}

// Adam of 1000 parameters takes 10 us by the profile; DRAM carries 1.6 bytes/ns.
TEST(CostModel, SoftwareMakesAdamNoFasterThanMemory) {
  Made made;
  const double dram = made.profile.host.dram.Highest();
  const int64_t profiled = made->Adam(1000, 1_B, 1).nanoseconds;
  const auto half = static_cast<uint64_t>(dram * 1e-9 * static_cast<double>(profiled) / 2);
  made.software = {.adam_speed = 100};
  EXPECT_NEAR(made->Adam(1000, Bytes(half), 1).nanoseconds, profiled / 2, 2) << "memory's time";
  EXPECT_EQ(made->Adam(1000, Bytes(8 * half), 1).nanoseconds, profiled)
      << "what was measured is believed";
  made.software = {.adam_speed = 0.5};
  EXPECT_EQ(made->Adam(1000, Bytes(half), 1).nanoseconds, 2 * profiled);
}

// A copy within RAM: by our threads, read and written.
TEST(CostModel, ACopyOnTheHostIsByItsThreads) {
  Made made;
  made.profile.device.kind = DeviceKind::kHost;
  EXPECT_EQ(made->Copy(Lane::kH2d, 5000_B, Pages::kPinned, 3).draw,
            (ResourceAmounts{3, 10000 / 1500.0, 0}));
}

// 5000 bytes at 0.5 bytes/ns: 10 us, of which the copy itself is 1.5 us; the core is free else.
TEST(CostModel, ACopyThatALimitHoldsUpWaitsWithoutACore) {
  Made made;
  made.profile.device.kind = DeviceKind::kHost;
  made.profile.link.limit_bytes_per_second = Figure{.value = 5e8};
  const OperationCost held = made->Copy(Lane::kH2d, 5000_B, Pages::kPinned, 2);
  EXPECT_EQ(held.nanoseconds, 10'000);
  EXPECT_EQ(held.draw, (ResourceAmounts{2 * 0.15, 1.0, 0}));
  made.profile.link.limit_bytes_per_second->value = 1e12;
  EXPECT_EQ(made->Copy(Lane::kH2d, 5000_B, Pages::kPinned, 2).nanoseconds, 1500);
}

TEST(CostModel, NormsAndAccumulationHaveTheirOwnRates) {
  Made made;
  EXPECT_EQ(made->Norm(1000_B, 1).nanoseconds, 100) << "as dram";
  EXPECT_EQ(made->Accumulate(1000_B, 1).nanoseconds, 100) << "as dram";
  made.profile.host.norm = Curve{.points = {{1, 1e9}, {8, 4e9}}};
  made.profile.host.accumulate = Curve{.points = {{1, 5e9}}};
  EXPECT_EQ(made->Norm(1000_B, 1).nanoseconds, 1000);
  EXPECT_EQ(made->Norm(1000_B, 8).nanoseconds, 250);
  EXPECT_EQ(made->Accumulate(1000_B, 1).nanoseconds, 200);
  made.job.gradient_type = NumberType::kFp32;  // kept as fp32: values are added
  EXPECT_EQ(made->Accumulate(1000_B, 1).nanoseconds, 100);
}

// A product at half the rate takes twice as long.
TEST(CostModel, SmallProductsReachAShareOfTheRate) {
  const auto seconds = [](std::optional<Curve> share) {
    Made made;
    made.profile.device.launch_seconds.value = 1e-12;
    made.profile.device.element_bytes_per_second.value = 1e18;
    made.profile.device.memory_bytes_per_second.value = 1e18;
    made.profile.device.attention.points = {{1, 1e18}};
    made.profile.device.gemm_share = std::move(share);
    return static_cast<double>(made->Compute(1, Direction::kForward, 1).nanoseconds);
  };
  const double all = seconds(std::nullopt);
  EXPECT_NEAR(seconds(Curve{.points = {{1, 0.5}}}), 2 * all, 2);
  EXPECT_NEAR(seconds(Curve{.points = {{1, 1.0}}}), all, 1);
}

TEST(CostModel, HostPassesPackingAndAdamGoByThreads) {
  Made made;
  EXPECT_EQ(made->HostPass(1000_B, 1).nanoseconds, 100);
  EXPECT_EQ(made->HostPass(1000_B, 8).nanoseconds, 25);
  EXPECT_EQ(made->HostPass(1000_B, 64).nanoseconds, 25);
  EXPECT_EQ(made->HostPass(1000_B, 8).draw, (ResourceAmounts{8, 40, 0}));
  EXPECT_EQ(made->HostPass(1000_B, 64).draw[kCores], 8);
  EXPECT_EQ(made->Pack(1000_B, 1).nanoseconds, 200);
  EXPECT_EQ(made->Pack(1000_B, 8).nanoseconds, 50);
  EXPECT_EQ(made->Pack(1000_B, 8).draw, (ResourceAmounts{8, 40, 0}));  // read and written
  EXPECT_EQ(made->Adam(1000, 30'000_B, 1).nanoseconds, 10'000);
  EXPECT_EQ(made->Adam(1000, 30'000_B, 8).nanoseconds, 2500);
  EXPECT_EQ(made->Adam(1000, 30'000_B, 8).draw, (ResourceAmounts{8, 12, 0}));
}

TEST(CostModel, AdamHasARateForEachStateFormat) {
  Made made;
  const int64_t expected[] = {12000, 6000, 4000, 3000};
  for (const StateFormat format : {StateFormat::kFp32, StateFormat::kBf16Moments,
                                   StateFormat::k8BitMoments, StateFormat::kBf16Weights}) {
    made.job.state_format = format;
    EXPECT_EQ(made->Adam(1200, 0_B, 1).nanoseconds, expected[static_cast<int>(format)]);
  }
}

TEST(CostModel, NothingTakesLessThanANanosecondOrMoreThanTheLongest) {
  Made made;
  EXPECT_EQ(made->HostPass(0_B, 1).nanoseconds, 1);
  EXPECT_EQ(made->HostPass(14_B, 1).nanoseconds, 1);
  EXPECT_EQ(made->HostPass(16_B, 1).nanoseconds, 2);
  EXPECT_EQ(made->HostPass(Bytes(uint64_t{1} << 62), 1).nanoseconds, kLongestNanoseconds);
}

TEST(CostModel, CapacityIsCoresDramAndBothWaysOfTheLink) {
  Made made;
  made.profile.host.dram.points = {{1, 1e10}, {4, 5e10}, {8, 4e10}};
  EXPECT_EQ(made->capacity(), (ResourceAmounts{8, 50, 12}));
}

// 1000 positions more: 4 x 8 x 1000 flops, 64 ns.
TEST(CostModel, ADecodedTokenAttendsToItsCache) {
  Made made = ComputeBound();
  made.kind = PassKind::kDecode;
  const int64_t shorter = made->Compute(1, Direction::kForward, 1).nanoseconds;
  made.job.sequence = 2000;
  EXPECT_EQ(made->Compute(1, Direction::kForward, 1).nanoseconds, shorter + 64);
  EXPECT_EQ(made->hidden_bytes(), 16_B);
}

// --- which formula an operation has ---

OperationCost Expected(const CostModel& model, const Schedule& schedule, const Operation& op) {
  const bool computes = op.lane == Lane::kCompute;
  const int64_t tokens =
      std::min(schedule.plan.loss_chunk_tokens,
               schedule.job.micro_batch_tokens() - op.part * schedule.plan.loss_chunk_tokens);
  switch (op.kind) {
    case OperationKind::kForward:
    case OperationKind::kEmbed:
      return model.Compute(op.chunk, Direction::kForward, op.threads);
    case OperationKind::kRecompute: {
      // The last group of a block is recomputed for what it keeps alone. Autograd runs it all.
      const bool ours = schedule.plan.strategy == Strategy::kHorizon ||
                        schedule.plan.strategy == Strategy::kResident;
      const Chunk& chunk = schedule.chunks.chunks[op.chunk];
      const IndexRange groups = schedule.chunks.recompute_blocks[chunk.recompute_block].groups;
      const bool has_output = chunk.group + 1 < groups.end && chunk.shard + 1 == chunk.shards;
      return model.Compute(
          op.chunk, ours && !has_output ? Direction::kRecompute : Direction::kForward, op.threads);
    }
    case OperationKind::kBackward:
      return model.Compute(op.chunk, Direction::kBackward, op.threads);
    case OperationKind::kLogSumExp:
    case OperationKind::kLoss:
      return model.Loss(op.chunk, tokens, op.kind == OperationKind::kLoss, op.threads);
    case OperationKind::kEmbedBackward:
      return model.EmbedBackward(op.chunk, op.threads);
    case OperationKind::kHeadGradient:
      return model.HeadGradient(op.chunk, op.threads);
    case OperationKind::kPack:
      return model.Pack(op.bytes / 2, op.threads);
    case OperationKind::kAdam:
      if (computes) return model.Elements(op.bytes, op.threads);
      return model.Adam(schedule.chunks.chunks[op.chunk].parameters, op.bytes, op.threads);
    default:
      break;
  }
  if (op.lane == Lane::kH2d || op.lane == Lane::kD2h) {
    // The published system copies what it does not pack from where the framework keeps it.
    const bool pageable = schedule.plan.strategy == Strategy::kReference &&
                          op.kind == OperationKind::kLoadChunk &&
                          schedule.chunks.chunks[op.chunk].resident;
    return model.Copy(op.lane, op.bytes, pageable ? Pages::kPageable : Pages::kPinned, op.threads);
  }
  return computes ? model.Elements(op.bytes, op.threads) : model.HostPass(op.bytes, op.threads);
}

RC_GTEST_PROP(CostModel, EveryOperationHasItsFormula, ()) {
  RandomCase random = *RandomAnyCase();
  random.plan.host_threads = *rc::gen::inRange(1, 12);
  random.plan.optimizer_threads = *rc::gen::inRange(1, 12);
  const absl::StatusOr<Schedule> built = BuildSchedule(random.spec, random.job, random.plan);
  if (!built.ok()) RC_DISCARD("impossible plan");
  const HardwareProfile profile = *RandomProfile();
  const CostModel model(random.spec, built->job, built->plan, built->chunks, profile);
  const CostTable costs = CostsOf(*built, model);
  RC_ASSERT(costs.first.size() == built->first.operations.size());
  RC_ASSERT(costs.steady.size() == built->steady.operations.size());
  RC_ASSERT(costs.drain.size() == built->drain.operations.size());
  RC_ASSERT(costs.capacity == model.capacity());
  for (size_t i = 0; i < costs.steady.size(); ++i) {
    const Operation& op = built->steady.operations[i];
    const OperationCost& cost = costs.steady[i];
    const OperationCost expected = Expected(model, *built, op);
    RC_LOG() << built->NameOf(op);
    RC_ASSERT(cost.nanoseconds == expected.nanoseconds);
    RC_ASSERT(cost.draw == expected.draw);
    // Nobody asks for more than there is.
    for (int r = 0; r < kResourceCount; ++r) {
      RC_ASSERT(cost.draw[r] >= 0 && cost.draw[r] <= costs.capacity[r]);
    }
    RC_ASSERT(cost.nanoseconds >= 1);
  }
}

// A copy that touches memory which is not page-locked has the slower rate.
TEST(CostModel, ACopyFromPageableMemoryIsSlower) {
  Made made(16);
  const CostModel& model = *made;
  absl::StatusOr<Schedule> schedule = BuildSchedule(made.spec, made.job, made.plan);
  ASSERT_TRUE(schedule.ok());
  for (const Operation& op : schedule->steady.operations) {
    if (op.kind != OperationKind::kLoadChunk) continue;
    const auto cost = [&] { return model.CostOf(*schedule, schedule->steady, op).nanoseconds; };
    EXPECT_EQ(cost(), model.Copy(Lane::kH2d, op.bytes, Pages::kPinned, 1).nanoseconds);
    for (const Access& access : schedule->steady.AccessesOf(op)) {
      Buffer& buffer = schedule->memory.buffers[access.buffer];
      if (buffer.memory == Memory::kPinned) buffer.memory = Memory::kHost;
    }
    EXPECT_EQ(cost(), model.Copy(Lane::kH2d, op.bytes, Pages::kPageable, 1).nanoseconds);
    return;
  }
  FAIL() << "nothing is loaded";
}

TEST(CostModel, LogitsHaveTheirFormula) {
  Made made(16);
  const CostModel& model = *made;
  const absl::StatusOr<Schedule> prefill =
      BuildSchedule(made.spec, made.job, made.plan, PassKind::kPrefill);
  ASSERT_TRUE(prefill.ok());
  int64_t logits = 0;
  for (const Operation& op : prefill->first.operations) {
    if (op.kind != OperationKind::kLogits) continue;
    ++logits;  // of the last position of each sequence
    EXPECT_EQ(model.CostOf(*prefill, prefill->first, op).nanoseconds,
              model.Loss(op.chunk, made.job.micro_batch, false, 1).nanoseconds);
  }
  EXPECT_EQ(logits, 1);
}

}  // namespace
}  // namespace horizon

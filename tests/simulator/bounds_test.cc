// Closed forms against sums and timelines worked out by hand.
#include "simulator/bounds.h"

#include <gtest/gtest.h>

#include <array>
#include <string>
#include <tuple>
#include <vector>

#include "schedule/build/build_schedule.h"
#include "simulator/simulate.h"
#include "simulator/steady_state.h"
#include "tests/schedule/random_plans.h"
#include "tests/simulator/hand_schedule.h"
#include "tests/simulator/test_profile.h"

namespace horizon {
namespace {

constexpr size_t kCompute = static_cast<size_t>(Lane::kCompute);

TEST(StepBound, IsTheLargestOfItsParts) {
  StepBound bound;
  bound.busy_nanoseconds = {70, 50, 10, 60, 0};
  EXPECT_EQ(bound.nanoseconds(), 70);
  bound.turn_nanoseconds = 21;
  EXPECT_EQ(bound.nanoseconds(), 71);
  bound.dram_nanoseconds = 72.9;
  EXPECT_EQ(bound.nanoseconds(), 72);
}

// Lanes: h2d 5 + 6, compute 7. DRAM: (5 x 10 + 6 x 5) of 10 bytes/ns: 8 ns.
TEST(BoundOf, SumsTheSteadyStep) {
  const std::vector<HandOperation> steady = {
      {.lane = Lane::kH2d, .nanoseconds = 5, .draw = {0, 10, 0}},
      {.lane = Lane::kH2d, .nanoseconds = 6, .draw = {0, 5, 10}},
      {.lane = Lane::kCompute, .nanoseconds = 7}};
  const HandMade made = Repeating({{.lane = Lane::kHost, .nanoseconds = 1000}}, steady);
  const StepBound bound = BoundOf(made.schedule, made.costs);
  EXPECT_EQ(bound.busy_nanoseconds, (std::array<int64_t, kLaneCount>{11, 7, 0, 0, 0}));
  EXPECT_DOUBLE_EQ(bound.dram_nanoseconds, 8);
  EXPECT_EQ(bound.turn_nanoseconds, 0);
  // A pass that does not repeat has its only step.
  EXPECT_EQ(BoundOf(OneStep(steady).schedule, OneStep(steady).costs).nanoseconds(), 11);
}

// A tiny model, on a machine where only some things take time.
struct Case {
  ModelSpec spec = TinyModel(3);
  TrainingJob job;
  StreamPlan plan;
  HardwareProfile profile = TestProfile();

  Case() {
    job.device = DeviceKind::kCuda;
    job.activation_type = NumberType::kBf16;
    job.sequence = 16;
  }
  Schedule Build() const {
    absl::StatusOr<Schedule> schedule = BuildSchedule(spec, job, plan);
    EXPECT_TRUE(schedule.ok()) << schedule.status();
    return *std::move(schedule);
  }
};

// A layer has 4 x 64 + 3 x 128 + 16 = 656 parameters, 1312 bytes: 1000 + 131.2 ns on the link. Its
// forward is bound by launches: 15 000 ns, the last one's 19 000 (cost_model_test.cc).
TEST(ForwardOverlaps, ComparesALoadWithTheComputeBefore) {
  const Case test;
  const Schedule schedule = test.Build();
  const CostModel model(test.spec, schedule.job, schedule.plan, schedule.chunks, test.profile);
  const std::vector<Overlap> overlaps = ForwardOverlaps(schedule, model);
  ASSERT_EQ(overlaps.size(), 2u);
  EXPECT_EQ(overlaps[0].chunk, 2);
  EXPECT_EQ(overlaps[0].load_nanoseconds, 1131);
  EXPECT_EQ(overlaps[0].previous_compute_nanoseconds, 15009);  // attention over 136 pairs: 8.7
  EXPECT_TRUE(overlaps[0].hidden());
  EXPECT_EQ(overlaps[1].chunk, 3);
  EXPECT_EQ(overlaps[1].load_nanoseconds, 1133);  // with the final norm, 8 parameters more
  EXPECT_EQ(overlaps[1].previous_compute_nanoseconds, 15009);
}

TEST(ForwardOverlaps, ASlowLinkIsNotHidden) {
  Case test;
  test.profile.link.h2d_pinned = Scaled(test.profile.link.h2d_pinned, 0.01);  // 0.1 bytes/ns
  const Schedule schedule = test.Build();
  const CostModel model(test.spec, schedule.job, schedule.plan, schedule.chunks, test.profile);
  const Overlap overlap = ForwardOverlaps(schedule, model).front();
  EXPECT_EQ(overlap.load_nanoseconds, 1000 + 13120);
  EXPECT_TRUE(overlap.hidden());
  EXPECT_TRUE((Overlap{.load_nanoseconds = 5, .previous_compute_nanoseconds = 5}).hidden());
  EXPECT_FALSE((Overlap{.load_nanoseconds = 6, .previous_compute_nanoseconds = 5}).hidden());
}

TEST(ForwardOverlaps, ResidentChunksAreNotLoaded) {
  Case test;
  test.plan.resident_chunks = 2;  // the head, then the last layer
  const Schedule schedule = test.Build();
  const CostModel model(test.spec, schedule.job, schedule.plan, schedule.chunks, test.profile);
  const std::vector<Overlap> overlaps = ForwardOverlaps(schedule, model);
  ASSERT_EQ(overlaps.size(), 1u);
  EXPECT_EQ(overlaps[0].chunk, 2);
}

StepBound BoundOfCase(const Case& test) {
  const Schedule schedule = test.Build();
  const CostModel model(test.spec, schedule.job, schedule.plan, schedule.chunks, test.profile);
  return BoundStep(schedule.job, schedule.plan, schedule.chunks, model);
}

// The table (256 parameters) is on the device, so the turn is, one after the other:
//   d2h   its gradient, 512 bytes at 8              1000 + 64
//   host  accumulated, 512 + 512 bytes at 10        102.4
//   host  its norm, 512 bytes                       51.2
//   host  the factor, 30 tensors of one partial and a loss, 256 bytes   25.6
//   Adam  256 parameters at 0.1                     2560 (longer than tokens: 32 + 1000 + 32)
//   h2d   512 bytes at 10                           1000 + 51.2
TEST(BoundStep, TheTurnWithATableOnTheDevice) {
  Case test;
  test.plan.embedding_home = EmbeddingHome::kDevice;
  EXPECT_EQ(BoundOfCase(test).turn_nanoseconds, 1064 + 102 + 51 + 26 + 2560 + 1051);
  test.plan.embedding_home = EmbeddingHome::kStreamed;
  EXPECT_EQ(BoundOfCase(test).turn_nanoseconds, 1064 + 102 + 51 + 26 + 2560 + 1051);
  // After the step, the batch is fetched once everything is updated: three layers of 656 parameters
  // and a head of 264 too.
  test.job.optimizer_place = OptimizerPlace::kAfterStep;
  EXPECT_EQ(BoundOfCase(test).turn_nanoseconds,
            1064 + 102 + 51 + 26 + (2560 + 3 * 6560 + 2640) + 32 + 1032 + 1051);
}

// Without a clip Adam does not wait for norms, nor is anything kept.
TEST(BoundStep, TheTurnInBackward) {
  Case test;
  test.plan.embedding_home = EmbeddingHome::kDevice;
  test.job.optimizer_place = OptimizerPlace::kInBackward;
  test.job.clip_norm = 0;
  EXPECT_EQ(BoundOfCase(test).turn_nanoseconds, 1064 + 2560 + 1051);
  // With a fast Adam the tokens take longer: norm, factor, 320 bytes on the host and the link.
  for (Curve& adam : test.profile.host.adam) adam = Scaled(adam, 1000);
  EXPECT_EQ(BoundOfCase(test).turn_nanoseconds, 1064 + 51 + 26 + 32 + 1032 + 1051);
}

// The table is on the host; the first layer has 656 parameters.
//   d2h   its gradient 1312 bytes at 8: 1164; the rows' 16 x 8 x 2 = 256 bytes: 1032
//   host  table cleared and rows added 512 + 2 x 256 bytes: 102 (the layer's own gradient was added
//         and normed before); norm of the table: 51; factor: 26
//   Adam  table: 2560, layer: 6560, longer than gathering and loading rows (51 + 1026)
//   h2d   1312 bytes: 1131
TEST(BoundStep, TheTurnWithATableOnTheHost) {
  Case test;
  test.plan.embedding_home = EmbeddingHome::kHost;
  EXPECT_EQ(BoundOfCase(test).turn_nanoseconds, 1164 + 1032 + 102 + 51 + 26 + 2560 + 6560 + 1131);
  for (Curve& adam : test.profile.host.adam) adam = Scaled(adam, 1000);  // 3 ns for the table
  // Tokens: next batch 32, load 1032; gathering comes after the next batch, rows after both.
  EXPECT_EQ(BoundOfCase(test).turn_nanoseconds,
            1164 + 1032 + 102 + 51 + 26 + (32 + 1032) + 1026 + 1131);
}

// Rows of 16 tokens as one sample of 136 pairs, and as four of 10: the same operations, with less
// arithmetic in those that attend. The bound of the step that is not built yet knows it as well.
TEST(BoundStep, CountsAttentionOfPackedSamples) {
  const Case whole;
  Case packed;
  packed.job.sample_lengths = {{.length = 4, .samples = 1}};
  const Schedule one = whole.Build();
  const Schedule several = packed.Build();
  ASSERT_EQ(several.steady.operations.size(), one.steady.operations.size());
  for (size_t i = 0; i < one.steady.operations.size(); ++i) {
    const Operation& before = one.steady.operations[i];
    const Operation& now = several.steady.operations[i];
    EXPECT_EQ(now.kind, before.kind);
    EXPECT_EQ(now.bytes, before.bytes);
    const bool layer = before.kind == OperationKind::kForward ||
                       before.kind == OperationKind::kRecompute ||
                       before.kind == OperationKind::kBackward;
    const uint64_t each = before.kind == OperationKind::kBackward ? 10 : 4;  // flops of 8 channels
    EXPECT_EQ(before.flops - now.flops, layer ? each * 8 * (136 - 40) : 0) << ToString(now.kind);
  }
  EXPECT_EQ(several.memory.totals, one.memory.totals);
  const auto bound_of = [](const Case& test, const Schedule& schedule) {
    const CostModel model(test.spec, schedule.job, schedule.plan, schedule.chunks, test.profile);
    const StepBound built = BoundOf(schedule, CostsOf(schedule, model));
    const StepBound before = BoundStep(schedule.job, schedule.plan, schedule.chunks, model);
    EXPECT_EQ(before.busy_nanoseconds[kCompute], built.busy_nanoseconds[kCompute]);
    return before.busy_nanoseconds[kCompute];
  };
  EXPECT_LT(bound_of(packed, several), bound_of(whole, one));
}

TEST(BoundStep, OtherStrategiesHaveNone) {
  Case test;
  test.plan.strategy = Strategy::kReference;
  test.plan.embedding_home = EmbeddingHome::kDevice;
  test.job.optimizer_place = OptimizerPlace::kAfterStep;
  EXPECT_EQ(BoundOfCase(test).nanoseconds(), 0);
  test.plan.strategy = Strategy::kResident;
  EXPECT_GT(BoundOfCase(test).busy_nanoseconds[kCompute], 0);
  EXPECT_EQ(BoundOfCase(test).turn_nanoseconds, 0);
}

// The turn is not only a bound: where nothing is left over from before the last compute it is what
// happens. One layer, and a last compute so long that all gradients before have left.
class ExactTurn : public testing::TestWithParam<std::tuple<EmbeddingHome, OptimizerPlace>> {};

TEST_P(ExactTurn, IsTheGapBetweenTheStepsOfOneLayer) {
  Case test;
  test.spec = TinyModel(1);
  test.plan.embedding_home = std::get<0>(GetParam());
  test.job.optimizer_place = std::get<1>(GetParam());
  test.job.clip_norm = 0;
  test.profile.device.element_bytes_per_second.value = 5e7;
  const Schedule schedule = test.Build();
  const CostModel model(test.spec, schedule.job, schedule.plan, schedule.chunks, test.profile);
  const SteadyState steady =
      SimulateSteadyState(schedule, CostsOf(schedule, model), Contention::kNone);
  int64_t last_end = 0;
  int64_t first_start = -1;
  for (const TimelineEntry& entry : steady.simulation.timeline.entries) {
    if (entry.lane != Lane::kCompute) continue;
    if (entry.step == 1) last_end = entry.end_ns;
    if (entry.step == 2 && first_start < 0) first_start = entry.start_ns;
  }
  const StepBound bound = BoundStep(schedule.job, schedule.plan, schedule.chunks, model);
  EXPECT_EQ(first_start - last_end, bound.turn_nanoseconds);
}

INSTANTIATE_TEST_SUITE_P(
    All, ExactTurn,
    testing::Combine(testing::Values(EmbeddingHome::kHost, EmbeddingHome::kStreamed,
                                     EmbeddingHome::kDevice),
                     testing::Values(OptimizerPlace::kBehindForward, OptimizerPlace::kInBackward,
                                     OptimizerPlace::kAfterStep)));

}  // namespace
}  // namespace horizon

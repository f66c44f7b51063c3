// Training on a device that delays and reorders whatever the events allow, poisons what is not
// filled yet, and fails any call it is told to: the same bits, or one clear error.
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/kernel_table.h"
#include "tests/runtime/device/adversarial_device.h"
#include "tests/runtime/support/block_models.h"
#include "tests/runtime/support/small_training.h"

namespace horizon {
namespace {

constexpr int64_t kSteps = 4;

Clock& TestClock() {
  static RealClock clock;
  return clock;
}

// Every fifth seed also holds kernels to the memory their operations declare.
MakeDevice OnAdversary(uint64_t seed, int queue_bound = 64) {
  return [=](Bytes bytes) -> absl::StatusOr<std::unique_ptr<Device>> {
    ASSIGN_OR_RETURN(std::unique_ptr<AdversarialDevice> device,
                     AdversarialDevice::Create({.capacity = bytes,
                                                .seed = seed,
                                                .queue_bound = queue_bound,
                                                .clock = &TestClock(),
                                                .check_kernel_memory = seed % 5 == 0}));
    return device;
  };
}

struct Case {
  std::string name;
  ModelSpec spec = TinyLlama();
  TrainingJob job = TinyJob();
  StreamPlan plan;
  uint64_t seeds = 20;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  cases.push_back({.name = "default"});
  Case& deep = cases.emplace_back(Case{.name = "anchors on the host, one slab"});
  deep.plan.anchor_home = AnchorHome::kHost;
  deep.plan.gradient_slabs = 1;
  deep.plan.buffer_depth = 1;
  Case& many = cases.emplace_back(Case{.name = "chunk-major micro-batches"});
  many.job.accumulation = 2;
  many.plan.accumulation_order = AccumulationOrder::kChunkMajor;
  many.plan.buffer_depth = 4;
  Case& backward = cases.emplace_back(Case{.name = "in backward"});
  backward.job.optimizer_place = OptimizerPlace::kInBackward;
  backward.job.clip_norm = 0;
  backward.plan.embedding_home = EmbeddingHome::kStreamed;
  Case& resident = cases.emplace_back(Case{.name = "resident"});
  resident.plan.strategy = Strategy::kResident;
  resident.plan.embedding_home = EmbeddingHome::kDevice;
  Case& reference = cases.emplace_back(Case{.name = "reference"});
  reference.job.optimizer_place = OptimizerPlace::kAfterStep;
  reference.job.gradient_type = NumberType::kFp32;
  reference.plan.strategy = Strategy::kReference;
  reference.plan.embedding_home = EmbeddingHome::kDevice;
  Case& shards = cases.emplace_back(Case{.name = "layers in shards", .spec = TinyShards()});
  shards.spec.qkv_bias = true;
  shards.spec.qk_norm = QkNorm::kPerHead;
  shards.plan = ShardedPlan(shards.spec, shards.job);
  shards.plan.buffer_depth = 3;
  shards.plan.anchor_interval = 2;
  shards.plan.anchor_home = AnchorHome::kHost;
  Case& major = cases.emplace_back(Case{.name = "chunk-major shards", .spec = TinyShards()});
  major.job.accumulation = 2;
  major.plan = ShardedPlan(major.spec, major.job);
  major.plan.accumulation_order = AccumulationOrder::kChunkMajor;
  major.plan.buffer_depth = 4;
  major.plan.recompute = false;
  for (const BlockModel& model : BlockModels()) {
    Case& blocks = cases.emplace_back(Case{.name = model.name, .spec = model.spec});
    blocks.plan = ShardedPlan(blocks.spec, blocks.job);
    blocks.seeds = 5;
    for (const bool keeps : {true, false}) {
      Case& pieces =
          cases.emplace_back(Case{.name = StrCat(model.name, " in pieces"), .spec = model.spec});
      pieces.job.piece_tokens = 5;
      pieces.plan.keep_feed_forward = keeps;
      pieces.plan.recompute = !keeps;
      pieces.seeds = 2;
    }
  }
  return cases;
}

TEST(AdversarialTraining, GivesTheBitsOfTheHostDeviceUnderManySeeds) {
  for (const Case& test : Cases()) {
    SCOPED_TRACE(test.name);
    const absl::StatusOr<TrainingCaseOutcome> wanted =
        TrainTiny(test.spec, test.job, test.plan, kSteps);
    ASSERT_TRUE(wanted.ok()) << wanted.status();
    for (uint64_t seed = 1; seed <= test.seeds; ++seed) {
      SCOPED_TRACE(StrCat("seed ", seed));
      const absl::StatusOr<TrainingCaseOutcome> got = TrainTiny(
          test.spec, test.job, test.plan, kSteps, OnAdversary(seed, seed % 3 == 0 ? 4 : 64));
      ASSERT_TRUE(got.ok()) << got.status();
      ASSERT_EQ(got->digest, wanted->digest);
      for (int64_t step = 0; step < kSteps; ++step) {
        ASSERT_EQ(got->steps[step].loss, wanted->steps[step].loss) << "step " << step + 1;
      }
    }
  }
}

// A kernel that does its work and one thing more, to memory that its operation does not declare or
// only reads.
using Norm = absl::Status (*)(const KernelContext&, const RmsNormForward&);
absl::Status WriteBeforeOutput(const KernelContext& context, const RmsNormForward& args) {
  RETURN_IF_ERROR(HostKernels().rms_norm_forward(context, args));
  args.y.fp32()[-1] = 1;
  return absl::OkStatus();
}
absl::Status WriteWeights(const KernelContext& context, const RmsNormForward& args) {
  RETURN_IF_ERROR(HostKernels().rms_norm_forward(context, args));
  const_cast<float*>(args.weight.fp32())[0] += 1;
  return absl::OkStatus();
}

TEST(AdversarialTraining, AKernelThatTouchesWhatItsOperationDoesNotDeclareIsCaught) {
  struct Mutant {
    Norm norm;
    std::string words;
  };
  for (const Mutant& mutant : {Mutant{&WriteBeforeOutput, "did not declare"},
                               Mutant{&WriteWeights, "declared as only read"}}) {
    KernelTable kernels = HostKernels();
    kernels.rms_norm_forward = mutant.norm;
    const TrainingJob job = TinyJob();
    const absl::Status status =
        RunTrainingCase(
            {.spec = TinyLlama(),
             .job = job,
             .plan = {},
             .source = RandomSource(TinyLlama(), 3),
             .batch = [&](int64_t, int64_t) { return RandomTokens(TinyLlama(), job, 1); },
             .device = OnAdversary(5),
             .kernels = &kernels})
            .status();
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
    EXPECT_NE(status.message().find(mutant.words), std::string::npos) << status;
  }
}

// A run of `calls` calls of the device; 0: that none fails.
struct FailedRun {
  absl::Status status;
  uint64_t calls = 0;
};
FailedRun RunFailing(uint64_t call, DeviceFault fault) {
  FailedRun run;
  AdversarialDevice* adversary = nullptr;
  std::unique_ptr<Device> kept;
  const MakeDevice make = [&](Bytes bytes) -> absl::StatusOr<std::unique_ptr<Device>> {
    ASSIGN_OR_RETURN(
        std::unique_ptr<AdversarialDevice> device,
        AdversarialDevice::Create({.capacity = bytes, .seed = call, .clock = &TestClock()}));
    adversary = device.get();
    if (call > 0) device->FailCall(call, absl::UnavailableError("injected"), fault);
    return device;
  };
  const auto count = [&](int64_t, int64_t) {
    run.calls = adversary->calls();
    return RandomTokens(TinyLlama(), TinyJob(), 1);
  };
  run.status = RunTrainingCase({.spec = TinyLlama(),
                                .job = TinyJob(),
                                .plan = {},
                                .source = RandomSource(TinyLlama(), 3),
                                .batch = count,
                                .steps = 2,
                                .device = make})
                   .status();
  return run;
}

TEST(AdversarialTraining, EveryFailingCallIsOneClearErrorAndNoHang) {
  const FailedRun whole = RunFailing(0, DeviceFault::kOnce);
  ASSERT_TRUE(whole.status.ok()) << whole.status;
  for (const DeviceFault fault :
       {DeviceFault::kOnce, DeviceFault::kFromThereOn, DeviceFault::kLate}) {
    // Calls of setting up, of the first step, and some of the second.
    int64_t failed = 0;
    for (uint64_t call = 1; call < whole.calls + 100; call += 1 + call / 40) {
      const FailedRun run = RunFailing(call, fault);
      if (run.status.ok()) continue;  // nobody asked for what failed, such as an unregistering
      ++failed;
      EXPECT_EQ(run.status.code(), absl::StatusCode::kUnavailable) << run.status;
      EXPECT_NE(run.status.message().find("injected"), std::string::npos) << run.status;
    }
    EXPECT_GT(failed, 30);
  }
}

TEST(AdversarialTraining, AnErrorInAStepNamesStepAndOperation) {
  const FailedRun whole = RunFailing(0, DeviceFault::kOnce);
  int named = 0;
  for (uint64_t call = whole.calls + 1; call < whole.calls + 40; ++call) {
    const FailedRun run = RunFailing(call, DeviceFault::kLate);
    if (run.status.ok()) continue;
    EXPECT_EQ(std::string(run.status.message()).rfind("step ", 0), 0u)
        << run.status << " at call " << call - whole.calls;
    ++named;
  }
  EXPECT_GT(named, 10);
}

}  // namespace
}  // namespace horizon

// What the planner proposes, the runtime executes. Random models, jobs and machines, with device
// memory from far too little to plenty, are planned; one step of the plan is executed on the host
// device or on the fake CUDA, in an arena of exactly the planned size, and gives the bits of a plan
// that streams nothing.
#include <algorithm>
#include <cstdint>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/files/io.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/kernel_table.h"
#include "model/catalog.h"
#include "model/stages.h"
#include "planner/machines/machine_catalog.h"
#include "planner/make_plan.h"
#include "planner/planned_job.h"
#include "runtime/device/host_device.h"
#include "runtime/execution/trainer.h"
#include "schedule/build/build_schedule.h"
#include "schedule/check_runnable.h"
#include "schedule/chunk_table.h"
#include "schedule/lay_out_memory.h"
#include "schedule/verify/verify_schedule.h"
#include "tests/planner/small_cases.h"
#include "tests/runtime/support/run_on_cuda.h"
#include "tests/runtime/support/training_case.h"

namespace horizon {
namespace {

// HORIZON_LONG: of the long suite.
#ifdef HORIZON_LONG
constexpr uint64_t kHostCases = 5000;
constexpr uint64_t kCudaCases = 600;
constexpr SearchEffort kCatalogEffort = SearchEffort::kFull;
#else
constexpr uint64_t kHostCases = 120;
constexpr uint64_t kCudaCases = 40;
constexpr SearchEffort kCatalogEffort = SearchEffort::kQuick;
#endif

class Draw {
 public:
  explicit Draw(uint64_t seed) : random_(seed) {}
  int64_t From(int64_t least, int64_t most) {
    return least + static_cast<int64_t>(random_() % static_cast<uint64_t>(most - least + 1));
  }
  bool Flip() { return random_() % 2 == 0; }
  template <typename T>
  T Of(std::vector<T> values) {
    return values[random_() % values.size()];
  }

 private:
  std::mt19937_64 random_;
};

// What a layer is made of: every option that can be trained.
void DrawBlocks(Draw& draw, ModelSpec& spec) {
  spec.family = "gemma3_text";  // it has a name for every tensor
  spec.norm_place = draw.Of<NormPlace>({NormPlace::kBefore, NormPlace::kAfter, NormPlace::kBoth});
  spec.norm_adds_one = draw.Flip();
  spec.qk_norm = draw.Of<QkNorm>({QkNorm::kNone, QkNorm::kPerHead, QkNorm::kFullWidth});
  spec.activation = draw.Of<Activation>({Activation::kSilu, Activation::kGeluTanh});
  spec.attention_sinks = draw.Flip();
  if (draw.Flip()) spec.attention_scale = 0.25;
  if (draw.Flip()) spec.embedding_multiplier = 5.3;
  spec.embedding_multiplier_rounds = draw.Flip();
  if (draw.Flip()) spec.residual_multiplier = 0.3;
  if (draw.Flip()) spec.logit_multiplier = 0.5;
  if (draw.Flip()) spec.padding_token = draw.From(0, spec.vocab - 1);
  RopeSpec part{.rotary_dim = 2 * draw.From(1, spec.head_dim / 2)};
  if (draw.Flip()) {
    part.kind = RopeKind::kLongrope;
    part.original_max_positions = draw.From(2, 30);
    part.short_factors.assign(static_cast<size_t>(part.rotary_dim / 2), 1.5);
    part.long_factors.assign(static_cast<size_t>(part.rotary_dim / 2), 4.0);
  }
  const RopeSpec scaled{.theta = 1e6, .original_max_positions = 7, .query_scale_beta = 0.2};
  spec.ropes = draw.Of<std::vector<RopeSpec>>({{RopeSpec{}}, {part}, {scaled, part}});
  for (LayerSpec& layer : spec.layers) {
    layer.sliding_window = draw.Flip() ? draw.From(1, 20) : 0;
    layer.rope = static_cast<int32_t>(draw.From(-1, static_cast<int64_t>(spec.ropes.size()) - 1));
  }
}

// Experts in some layers, with any of what tells families apart.
void DrawExperts(Draw& draw, int64_t unit, ModelSpec& spec) {
  spec.experts.experts = unit * draw.From(1, 7);
  spec.experts.experts_per_token = draw.From(1, spec.experts.experts);
  spec.experts.intermediate = unit * draw.From(1, 48 / unit);
  spec.experts.normalise_top_k = draw.Flip();
  spec.experts.fused_tensors = draw.Flip();
  spec.expert_bias = draw.Flip();
  if (draw.Flip()) {
    spec.swiglu_limit = 0.5;
    spec.swiglu_alpha = 1.702;
  }
  for (LayerSpec& layer : spec.layers) layer.has_experts = draw.Flip();
}

// On the host any sizes; a CUDA device wants multiples of eight for all but the vocabulary, and for
// the heads where each has a sink.
ModelSpec RandomModel(Draw& draw, DeviceKind device) {
  const int64_t unit = device == DeviceKind::kCuda ? 8 : 1;
  ModelSpec spec;
  spec.name = "random";
  spec.head_dim = device == DeviceKind::kCuda ? 8 * draw.From(1, 3) : 2 * draw.From(1, 12);
  spec.kv_heads = draw.From(1, 3);
  spec.heads = spec.kv_heads * draw.From(1, 4);
  spec.hidden = unit * draw.From(1, 48 / unit);
  spec.intermediate = unit * draw.From(1, 160 / unit);
  // Less than a tile, some tiles, and one row more.
  spec.vocab =
      draw.Of<int64_t>({draw.From(1, 48), draw.From(1, 48), draw.From(1, 1400), 512, 1025});
  spec.max_positions = 256;
  spec.tied = draw.Flip();
  spec.qkv_bias = draw.Flip();
  spec.output_bias = draw.Flip();
  spec.mlp_bias = draw.Flip();
  spec.layers.resize(static_cast<size_t>(draw.From(1, 5)));
  DrawBlocks(draw, spec);
  if (draw.Flip()) DrawExperts(draw, unit, spec);
  if (spec.attention_sinks) spec.heads = std::lcm(spec.heads, unit);
  return spec;
}

TrainingJob RandomJob(Draw& draw, const HardwareProfile& machine, Strategy strategy) {
  TrainingJob job = JobFor(machine, strategy);
  job.sequence = draw.From(1, 40);
  job.micro_batch = draw.From(1, 3);
  job.accumulation = draw.From(1, 3);
  job.learning_rate = 1e-3;
  job.state_format = draw.Of<StateFormat>({StateFormat::kFp32, StateFormat::kBf16Moments,
                                           StateFormat::k8BitMoments, StateFormat::kBf16Weights});
  if (draw.Flip()) job.clip_norm = 0;
  if (draw.Flip()) job.router_aux_loss = 0.1;
  if (draw.Flip()) job.piece_tokens = draw.From(1, 60);
  const bool exact = job.state_format != StateFormat::kBf16Weights;
  if (machine.device.kind == DeviceKind::kHost && exact && draw.Flip()) {
    job.compute_type = NumberType::kFp32;
  }
  if (strategy != Strategy::kHorizon) return job;
  job.gradient_type = draw.Of<NumberType>({NumberType::kFp32, NumberType::kBf16});
  job.optimizer_place = draw.Of<OptimizerPlace>(
      {OptimizerPlace::kBehindForward, OptimizerPlace::kInBackward, OptimizerPlace::kAfterStep});
  if (job.optimizer_place == OptimizerPlace::kInBackward) {
    job.accumulation = 1;
    job.clip_norm = 0;
  }
  return job;
}

// A machine of the device's kind whose parts are faster or slower than each other at random.
HardwareProfile RandomMachine(Draw& draw, DeviceKind device) {
  HardwareProfile machine = SmallMachine(kSlowParts[draw.From(0, 4)]);
  if (device == DeviceKind::kHost) {
    machine = CatalogMachine("cpu-desktop");
    machine.host.cores = draw.From(1, 4);
  }
  return WithOverrides(std::move(machine),
                       {.link = BytesPerSecond{1e6 * static_cast<double>(draw.From(1, 20'000))}});
}

// About what the most frugal plan needs, beside what kernels work in taken `times`.
double DeviceBytes(const ModelSpec& spec, const TrainingJob& job, int64_t threads, double times) {
  StreamPlan plan;
  plan.chunk_bytes = LeastChunkBytes(ListStages(spec), job);
  plan.buffer_depth = 1;
  plan.gradient_slabs = 1;
  plan.anchor_home = AnchorHome::kHost;
  plan.compute_threads = threads;
  const absl::StatusOr<MemoryLayout> layout = LayOutMemory(spec, job, plan);
  EXPECT_TRUE(layout.ok()) << layout.status();
  double bytes = 0;
  for (const Buffer& buffer : layout->buffers) {
    if (buffer.memory != Memory::kDevice) continue;
    const bool scratch = buffer.kind == BufferKind::kTileScratch;
    bytes += static_cast<double>(buffer.bytes + Bytes(kBufferAlignment)) * (scratch ? 1 : times);
  }
  return bytes;
}

struct Planned {
  ModelSpec spec;
  TrainingJob job;
  PlanAnswer answer;
};

Planned RandomPlanned(uint64_t seed, DeviceKind device) {
  Draw draw(seed);
  const Strategy strategy =
      draw.Of<Strategy>({Strategy::kHorizon, Strategy::kHorizon, Strategy::kHorizon,
                         Strategy::kHorizon, Strategy::kReference, Strategy::kResident});
  HardwareProfile machine = RandomMachine(draw, device);
  Planned made{.spec = RandomModel(draw, device)};
  made.job = RandomJob(draw, machine, strategy);
  machine.device.memory_bytes.value =
      machine.device.reserved_bytes.value +
      DeviceBytes(made.spec, made.job, device == DeviceKind::kHost ? machine.host.cores : 1,
                  draw.Of<double>({0.8, 1, 1.1, 1.2, 1.4, 2, 5, 100}));
  absl::StatusOr<PlanAnswer> answer =
      MakePlan({.spec = made.spec,
                .job = made.job,
                .fixed = PlanFor(strategy),
                .setting = {.profile = machine},
                .all_strategies = strategy == Strategy::kHorizon && draw.Flip(),
                .effort = draw.Flip() ? SearchEffort::kFull : SearchEffort::kQuick});
  EXPECT_TRUE(answer.ok()) << answer.status();
  if (answer.ok()) made.answer = *std::move(answer);
  return made;
}

RunRequest StepOf(const Planned& made, const StreamPlan& plan) {
  return {.spec = made.spec,
          .job = made.job,
          .plan = plan,
          .source = RandomSource(made.spec, 3),
          .batch = [&made](int64_t step, int64_t mb) {
            return RandomTokens(made.spec, made.job, static_cast<uint64_t>(10 * step + mb), 3);
          }};
}

absl::StatusOr<TrainingCaseOutcome> RunStep(const Planned& made, const StreamPlan& plan,
                                            uint64_t seed) {
  const RunRequest request = StepOf(made, plan);
  return made.job.device == DeviceKind::kCuda ? RunOnCuda(request, seed) : RunTrainingCase(request);
}

// Held-out data is evaluated in the memory that training has.
absl::Status EvaluateBesideTraining(const Planned& made, const StreamPlan& plan) {
  ASSIGN_OR_RETURN(const MemoryLayout layout, LayOutMemory(made.spec, made.job, plan));
  RealClock clock;
  ASSIGN_OR_RETURN(
      const std::unique_ptr<HostDevice> device,
      HostDevice::Create(
          {.capacity = layout.totals[static_cast<size_t>(Memory::kDevice)], .clock = &clock}));
  ASSIGN_OR_RETURN(const std::unique_ptr<Trainer> trainer,
                   Trainer::Create(made.spec, made.job, plan,
                                   {.device = *device, .kernels = HostKernels(), .clock = clock}));
  return ModelPass::CreateBeside(
             {.spec = made.spec, .job = made.job, .plan = plan, .kind = PassKind::kEvaluate},
             trainer->pass())
      .status();
}

void ExpectEveryPlanRuns(DeviceKind device, uint64_t cases) {
  const StreamPlan resident = ResidentPlan();
  uint64_t ran = 0;
  uint64_t in_shards = 0;
  for (uint64_t seed = 1; seed <= cases; ++seed) {
    const Planned made = RandomPlanned(seed, device);
    SCOPED_TRACE(StrCat("seed ", seed, "\njob: ", WriteJob(made.job)));
    EXPECT_EQ(made.answer.planned_only, "");
    if (!made.answer.feasible) continue;
    const StreamPlan& plan = *made.answer.search.plan;
    SCOPED_TRACE(StrCat("plan: ", WritePlan(plan)));
    ASSERT_TRUE(CheckRunnable(made.spec, made.job, plan).ok());
    const absl::StatusOr<TrainingCaseOutcome> planned = RunStep(made, plan, seed);
    ASSERT_TRUE(planned.ok()) << planned.status();
    const absl::StatusOr<TrainingCaseOutcome> oracle = RunStep(made, resident, seed + 1);
    ASSERT_TRUE(oracle.ok()) << oracle.status();
    ASSERT_EQ(planned->steps[0].loss, oracle->steps[0].loss);
    ASSERT_EQ(planned->digest, oracle->digest);
    ++ran;
    if (device == DeviceKind::kHost) {
      const absl::Status evaluates = EvaluateBesideTraining(made, plan);
      ASSERT_TRUE(evaluates.ok()) << evaluates;
    }
    const ChunkTable chunks = *CutIntoChunks(made.spec, made.job, plan);
    in_shards += std::any_of(chunks.chunks.begin(), chunks.chunks.end(), [](const Chunk& chunk) {
      return chunk.group >= 0 && chunk.shards > 1;
    });
  }
  // Neither almost everything nor almost nothing fits, and some layers are cut.
  EXPECT_GE(ran, cases / 4);
  EXPECT_LT(ran, cases);
  EXPECT_GE(in_shards, cases / 20);
}

TEST(EveryPlanRuns, OnTheHostDevice) { ExpectEveryPlanRuns(DeviceKind::kHost, kHostCases); }

TEST(EveryPlanRuns, OnTheFakeCuda) { ExpectEveryPlanRuns(DeviceKind::kCuda, kCudaCases); }

bool HasExperts(const ModelSpec& spec) {
  return std::any_of(spec.layers.begin(), spec.layers.end(),
                     [](const LayerSpec& layer) { return layer.has_experts; });
}

// Each plan can be built, is right, and is one that `train` would not refuse; where nothing fits,
// more memory is what lacks.
TEST(EveryPlanRuns, OfTheCatalogsDenseModelsOnTheCatalogsMachines) {
  int planned = 0;
  int resident = 0;
  int in_shards = 0;
  for (const std::string& machine : MachineNames()) {
    const HardwareProfile profile = CatalogMachine(machine);
    for (const std::string& model : CatalogNames()) {
      const ModelSpec spec = CatalogModel(model);
      if (HasExperts(spec)) continue;
      for (const int64_t batch : {1, 8}) {
        SCOPED_TRACE(StrCat(model, " on ", machine, ", batch ", batch));
        TrainingJob job = JobFor(profile, Strategy::kHorizon);
        job.micro_batch = batch;
        const absl::StatusOr<PlanAnswer> answer =
            MakePlan({.spec = spec,
                      .job = job,
                      .fixed = PlanFor(Strategy::kHorizon),
                      .setting = {.profile = profile, .margin = 0.05},
                      .all_strategies = true,
                      .effort = kCatalogEffort});
        ASSERT_TRUE(answer.ok()) << answer.status();
        // The runtime executes it; only the machine may be one that horizon does not run on.
        EXPECT_EQ(answer->planned_only, profile.planned_only.value_or(""));
        if (!answer->feasible) {
          EXPECT_FALSE(answer->search.shortages.empty());
          continue;
        }
        ++planned;
        const StreamPlan& plan = *answer->search.plan;
        EXPECT_TRUE(CheckRunnable(spec, job, plan).ok());
        const absl::StatusOr<Schedule> schedule = BuildSchedule(spec, job, plan);
        ASSERT_TRUE(schedule.ok()) << schedule.status();
        EXPECT_TRUE(VerifySchedule(*schedule).ok());
        resident += plan.strategy == Strategy::kResident;
        in_shards +=
            schedule->chunks.groups.size() < static_cast<size_t>(schedule->chunks.layers.size());
      }
    }
  }
  RecordProperty("planned", planned);
  RecordProperty("in_shards", in_shards);
  EXPECT_GT(planned, 200);
  // Small models on large devices, and only these.
  EXPECT_GT(resident, 20);
  EXPECT_LT(resident, planned / 2);
}

}  // namespace
}  // namespace horizon

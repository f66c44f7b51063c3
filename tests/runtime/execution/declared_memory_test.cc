// Operations reach memory through their accesses alone. A schedule is run one operation at a time;
// around each of them all memory of the pass, on the device and on the host, is poison but for what
// the operation declares, and nothing it does not say it writes may change. So a body that reads
// what it does not declare computes NaN, and one that writes it is named.
#include <array>
#include <bit>
#include <cstring>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/threads/workers.h"
#include "gtest/gtest.h"
#include "kernels/kernel_table.h"
#include "runtime/device/host_device.h"
#include "runtime/execution/model_pass.h"
#include "schedule/lay_out_memory.h"
#include "tests/runtime/device/memory_guard.h"
#include "tests/runtime/support/block_models.h"
#include "tests/runtime/support/small_training.h"

namespace horizon {
namespace {

constexpr int64_t kSteps = 3;

// A training pass on the host device whose operations are called one by one.
class GuardedRun {
 public:
  GuardedRun(const ModelSpec& spec, const TrainingJob& job) : spec_(spec), job_(job) {}

  absl::Status Make(const StreamPlan& plan) {
    ASSIGN_OR_RETURN(const MemoryLayout layout, LayOutMemory(spec_, job_, plan));
    const Bytes bytes = layout.totals[static_cast<size_t>(Memory::kDevice)];
    ASSIGN_OR_RETURN(device_, HostDevice::Create({.capacity = bytes, .clock = &clock_}));
    ASSIGN_OR_RETURN(
        pass_, ModelPass::Create({.spec = spec_, .job = job_, .plan = plan},
                                 {.device = *device_, .kernels = HostKernels(), .clock = clock_}));
    return pass_->store().Fill(RandomSource(spec_, 3));
  }

  // In the order in which the operations stand, in which they could run one by one.
  absl::Status Run(const KernelTable& kernels) {
    const Schedule& schedule = pass_->schedule();
    for (int64_t step = 1; step <= kSteps; ++step) {
      RETURN_IF_ERROR(RunPhase(step == 1 ? schedule.first : schedule.steady, step, kernels));
    }
    return RunPhase(schedule.drain, kSteps + 1, kernels);
  }

  ModelPass& pass() { return *pass_; }
  const std::vector<double>& losses() const { return losses_; }

 private:
  StepInput InputOf(int64_t step) const {
    StepInput input{.number = step, .learning_rate = job_.learning_rate};
    for (int64_t mb = 0; mb < job_.accumulation; ++mb) {
      const std::vector<TokenRecord> batch =
          RandomTokens(spec_, job_, static_cast<uint64_t>(10 * step + mb), 3);
      input.tokens.insert(input.tokens.end(), batch.begin(), batch.end());
    }
    for (const TokenRecord& token : input.tokens) input.counted += token.label >= 0;
    return input;
  }

  absl::Status RunPhase(const Phase& phase, int64_t step, const KernelTable& kernels) {
    const StepInput input = InputOf(step);
    const StepInput previous = InputOf(step - 1);
    StepResult result;
    for (const Operation& operation : phase.operations) {
      const OperationBodies::Call call{.phase = phase,
                                       .operation = operation,
                                       .input = input,
                                       .previous_input = previous,
                                       .previous_result = step == 1 ? nullptr : &before_,
                                       .result = result};
      RETURN_IF_ERROR(RunGuarded(call, kernels));
    }
    losses_.push_back(result.loss);
    before_ = result;
    return absl::OkStatus();
  }

  absl::Status RunGuarded(const OperationBodies::Call& call, const KernelTable& kernels) {
    const OperationBodies& bodies = pass_->bodies();
    MemoryGuard guard(AllMemory(), Declared(call));
    absl::Status status;
    if (bodies.IsTransfer(call.operation.kind)) {
      const OperationBodies::Transfer copy = bodies.TransferOf(call);
      const bool to_device = call.operation.lane == Lane::kH2d;
      std::memcpy(to_device ? copy.device : copy.host, to_device ? copy.host : copy.device,
                  copy.bytes.value());
    } else {
      const KernelContext context{.workers = workers_.get(),
                                  .scratch = bodies.ScratchOf(call.operation.lane)};
      status = bodies.Run(call, kernels, context);
    }
    const absl::Status kept = guard.Finish(pass_->schedule().NameOf(call.operation));
    return status.ok() ? kept : status;
  }

  // The three memories, each from its first buffer to its last.
  std::vector<std::span<std::byte>> AllMemory() const {
    const MemoryLayout& layout = pass_->schedule().memory;
    std::array<std::byte*, kMemoryCount> begins{};
    for (size_t id = 0; id < layout.buffers.size(); ++id) {
      const Buffer& buffer = layout.buffers[id];
      begins[static_cast<size_t>(buffer.memory)] =
          pass_->memory().places()[id].begin - buffer.offset;
    }
    std::vector<std::span<std::byte>> all;
    for (size_t m = 0; m < begins.size(); ++m) {
      if (layout.totals[m] > 0_B) all.emplace_back(begins[m], layout.totals[m].value());
    }
    return all;
  }

  std::vector<KernelMemory> Declared(const OperationBodies::Call& call) const {
    std::map<BufferId, KernelMemory> declared;
    for (const Access& access : call.phase.AccessesOf(call.operation)) {
      const BufferPlace& place = pass_->memory().places()[access.buffer];
      KernelMemory& one = declared[access.buffer];
      one.memory = {place.begin, place.bytes.value()};
      (access.mode == AccessMode::kRead ? one.reads : one.writes) = true;
    }
    std::vector<KernelMemory> list;
    list.reserve(declared.size());
    for (const auto& [buffer, one] : declared) list.push_back(one);
    return list;
  }

  const ModelSpec& spec_;
  const TrainingJob& job_;
  RealClock clock_;
  std::unique_ptr<HostDevice> device_;
  std::unique_ptr<ModelPass> pass_;
  const std::unique_ptr<Workers> workers_ = Workers::Inline();
  StepResult before_;
  std::vector<double> losses_;
};

struct Case {
  std::string name;
  ModelSpec spec = TinyShards();
  TrainingJob job = TinyJob();
  StreamPlan plan;
};

std::vector<Case> Cases() {
  std::vector<Case> cases;
  const auto add = [&](std::string name, const std::function<void(Case&)>& change) {
    change(cases.emplace_back(Case{.name = std::move(name)}));
  };
  add("as it comes", [](Case&) {});
  add("layers in shards, biases and head norms, anchors on the host", [](Case& it) {
    it.spec.qkv_bias = true;
    it.spec.qk_norm = QkNorm::kPerHead;
    it.plan = ShardedPlan(it.spec, it.job);
    it.plan.anchor_home = AnchorHome::kHost;
    it.plan.anchor_interval = 2;
  });
  add("a tied table streamed in shards, two micro-batches, chunk-major", [](Case& it) {
    it.spec.vocab = 1100;
    it.spec.tied = true;
    it.job.accumulation = 2;
    it.job.state_format = StateFormat::k8BitMoments;
    it.plan.chunk_bytes = 13_KiB;
    it.plan.embedding_home = EmbeddingHome::kStreamed;
    it.plan.accumulation_order = AccumulationOrder::kChunkMajor;
    it.plan.buffer_depth = 4;
  });
  add("in backward, no recompute, embedding on the device, fp32", [](Case& it) {
    it.job.optimizer_place = OptimizerPlace::kInBackward;
    it.job.clip_norm = 0;
    it.job.compute_type = NumberType::kFp32;
    it.plan.recompute = false;
    it.plan.embedding_home = EmbeddingHome::kDevice;
    it.plan.resident_chunks = 2;
  });
  add("resident", [](Case& it) {
    it.plan.strategy = Strategy::kResident;
    it.plan.embedding_home = EmbeddingHome::kDevice;
    it.plan.recompute = false;
  });
  add("reference", [](Case& it) {
    it.job.optimizer_place = OptimizerPlace::kAfterStep;
    it.job.gradient_type = NumberType::kFp32;
    it.job.state_format = StateFormat::kBf16Weights;
    it.plan.strategy = Strategy::kReference;
    it.plan.embedding_home = EmbeddingHome::kDevice;
    it.plan.anchor_interval = 2;
  });
  for (const BlockModel& model : BlockModels()) {
    add(model.name, [&](Case& it) { it.spec = model.spec; });
    add(StrCat(model.name, " in shards, embedding on the device, no recompute"), [&](Case& it) {
      it.spec = model.spec;
      it.plan = ShardedPlan(it.spec, it.job);
      it.plan.embedding_home = EmbeddingHome::kDevice;
      it.plan.recompute = false;
    });
  }
  for (const BlockModel& model : BlockModels()) {
    for (const bool keeps : {true, false}) {
      add(StrCat(model.name, " in pieces, gate and up ", keeps ? "kept" : "not kept"),
          [&](Case& it) {
            it.spec = model.spec;
            it.job.piece_tokens = 5;
            it.plan.keep_feed_forward = keeps;
          });
    }
  }
  return cases;
}

TEST(DeclaredMemory, IsAllThatOperationsNeed) {
  for (const Case& test : Cases()) {
    SCOPED_TRACE(test.name);
    const absl::StatusOr<TrainingCaseOutcome> wanted =
        TrainTiny(test.spec, test.job, test.plan, kSteps);
    ASSERT_TRUE(wanted.ok()) << wanted.status();
    GuardedRun run(test.spec, test.job);
    absl::Status status = run.Make(test.plan);
    ASSERT_TRUE(status.ok()) << status;
    status = run.Run(HostKernels());
    ASSERT_TRUE(status.ok()) << status;
    for (int64_t step = 0; step < kSteps; ++step) {
      EXPECT_EQ(run.losses()[static_cast<size_t>(step)],
                wanted->steps[static_cast<size_t>(step)].loss);
    }
    EXPECT_EQ(*run.pass().store().Digest(), wanted->digest);
  }
}

// Where a mutant finds memory that its operation has nothing to do with.
std::byte* somewhere = nullptr;

// Adds zero times a weight: nothing, unless the weight is poison.
absl::Status AddNothingToNorm(const KernelContext& context, const SquaredNorm& args) {
  RETURN_IF_ERROR(HostKernels().squared_norm(context, args));
  const uint32_t bits = *reinterpret_cast<const uint16_t*>(somewhere);
  args.partials[0] += 0.0 * double{std::bit_cast<float>(bits << 16)};
  return absl::OkStatus();
}
absl::Status ChangeSomethingInScatter(const KernelContext& context, const ScatterRows& args) {
  RETURN_IF_ERROR(HostKernels().scatter_rows(context, args));
  *somewhere ^= std::byte{1};
  return absl::OkStatus();
}
absl::Status ChangeSomethingInGemm(const KernelContext& context, const Gemm& args) {
  RETURN_IF_ERROR(HostKernels().gemm(context, args));
  *somewhere ^= std::byte{1};
  return absl::OkStatus();
}

TEST(DeclaredMemory, AMutantThatTouchesAnythingElseIsCaught) {
  const Case test{.name = "as it comes"};
  const absl::StatusOr<TrainingCaseOutcome> good =
      TrainTiny(test.spec, test.job, test.plan, kSteps);
  ASSERT_TRUE(good.ok()) << good.status();
  struct Mutant {
    std::string name;
    BufferKind touched;
    void (*change)(KernelTable&);
    std::string words;  // empty: it reads poison, and the numbers show it
  };
  const Mutant mutants[] = {
      {"norm reads weights", BufferKind::kWeightsHi,
       [](KernelTable& table) { table.squared_norm = &AddNothingToNorm; }, ""},
      {"scatter writes moments", BufferKind::kMoments,
       [](KernelTable& table) { table.scatter_rows = &ChangeSomethingInScatter; },
       "did not declare"},
      {"gemm writes tokens", BufferKind::kTokens,
       [](KernelTable& table) { table.gemm = &ChangeSomethingInGemm; }, "declared as only read"},
      {"gemm writes a kept gradient", BufferKind::kKeptGradient,
       [](KernelTable& table) { table.gemm = &ChangeSomethingInGemm; }, "did not declare"},
  };
  for (const Mutant& mutant : mutants) {
    SCOPED_TRACE(mutant.name);
    GuardedRun run(test.spec, test.job);
    ASSERT_TRUE(run.Make(test.plan).ok());
    const RunMemory& memory = run.pass().memory();
    const BufferId touched =
        memory.Find(mutant.touched, mutant.touched == BufferKind::kTokens ? 0 : 1);
    ASSERT_GE(touched, 0);
    somewhere = memory.At(touched);
    KernelTable kernels = HostKernels();
    mutant.change(kernels);
    const absl::Status status = run.Run(kernels);
    if (mutant.words.empty()) {
      EXPECT_NE(*run.pass().store().Digest(), good->digest);
      continue;
    }
    EXPECT_EQ(status.code(), absl::StatusCode::kInternal) << status;
    EXPECT_NE(std::string(status.message()).find(mutant.words), std::string::npos) << status;
  }
}

}  // namespace
}  // namespace horizon

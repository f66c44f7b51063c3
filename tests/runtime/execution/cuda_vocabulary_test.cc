// Vocabularies that are no multiple of 8 on the fake CUDA, whose rows of logits are padded:
// training and evaluation under every cut of the head, and generation.
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "common/clock.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "gtest/gtest.h"
#include "kernels/kernel_table.h"
#include "runtime/device/cuda_device.h"
#include "runtime/device/host_device.h"
#include "runtime/inference/evaluate.h"
#include "runtime/inference/generator.h"
#include "schedule/chunk_table.h"
#include "schedule/lay_out_memory.h"
#include "tests/fake_cuda/fake_cuda_control.h"
#include "tests/runtime/support/run_on_cuda.h"
#include "tests/runtime/support/small_training.h"

namespace horizon {
namespace {

ModelSpec ModelOf(int64_t vocab) {
  ModelSpec spec = TinyLlama();
  spec.hidden = 16;
  spec.intermediate = 24;
  spec.head_dim = 8;
  spec.vocab = vocab;
  spec.max_positions = 128;
  spec.layers.resize(1);
  return spec;
}

// 150 tokens, two tiles of the loss.
TrainingJob HostJob() {
  TrainingJob job = TinyJob();
  job.sequence = 75;
  job.micro_batch = 2;
  job.accumulation = 2;
  return job;
}

StreamPlan PlanInShards() {
  StreamPlan plan;
  plan.chunk_bytes = 17_KiB;  // 544 rows of the vocabulary
  return plan;
}

std::vector<std::pair<std::string, StreamPlan>> Plans() {
  std::vector<std::pair<std::string, StreamPlan>> plans = {{"as it comes", StreamPlan()}};
  StreamPlan plan;
  plan.loss_chunk_tokens = 128;
  plans.emplace_back("two loss chunks", plan);
  plans.emplace_back("head in shards", PlanInShards());
  plan = PlanInShards();
  plan.loss_chunk_tokens = 128;
  plans.emplace_back("both", plan);
  plan = {};
  plan.accumulation_order = AccumulationOrder::kChunkMajor;
  plan.loss_chunk_tokens = 128;
  plans.emplace_back("chunk-major", plan);
  plan = {};
  plan.recompute = false;
  plan.embedding_home = EmbeddingHome::kDevice;
  plan.buffer_depth = 1;
  plans.emplace_back("keeps activations", plan);
  plans.emplace_back("resident", ResidentPlan());
  return plans;
}

class CudaVocabulary : public testing::TestWithParam<int64_t> {};

// The bounds are those of bf16 compute on the host device.
TEST_P(CudaVocabulary, EveryPlanTrainsToTheSameBitsAndTheHostsLoss) {
  for (const bool tied : {false, true}) {
    ModelSpec spec = ModelOf(GetParam());
    spec.tied = tied;
    const TrainingJob host_job = HostJob();
    const TrainingJob job = OnCuda(host_job);
    const auto request = [&](const TrainingJob& of, const StreamPlan& plan) {
      return RunRequest{.spec = spec,
                        .job = of,
                        .plan = plan,
                        .source = RandomSource(spec, 3),
                        .batch =
                            [&](int64_t step, int64_t mb) {
                              return RandomTokens(spec, job, static_cast<uint64_t>(10 * step + mb),
                                                  7);
                            },
                        .steps = 2};
    };
    const absl::StatusOr<TrainingCaseOutcome> host =
        RunTrainingCase(request(host_job, StreamPlan()));
    ASSERT_TRUE(host.ok()) << host.status();
    std::optional<TrainingCaseOutcome> first;
    uint64_t seed = 0;
    for (const auto& [name, plan] : Plans()) {
      SCOPED_TRACE(StrCat(name, tied ? ", tied" : ""));
      absl::StatusOr<TrainingCaseOutcome> outcome = RunOnCuda(request(job, plan), ++seed);
      ASSERT_TRUE(outcome.ok()) << outcome.status();
      if (!first.has_value()) first = *outcome;
      ExpectEqualRuns(*outcome, *first);
      for (size_t step = 0; step < 2; ++step) {
        const StepResult& got = outcome->steps[step];
        const StepResult& wanted = host->steps[step];
        EXPECT_LT(RelativeError(got.loss, wanted.loss), 2e-3);
        EXPECT_LT(RelativeError(got.gradient_norm, wanted.gradient_norm), 2e-2);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, CudaVocabulary, testing::Values(13, 513, 1029, 1061),
                         [](const auto& vocab) { return StrCat(vocab.param, "_words"); });

// What the cases above are: a last shard of more than a tile, and of less.
TEST(CudaVocabularyCut, TheLastShardIsOdd) {
  const auto last_rows = [](int64_t vocab) {
    const ChunkTable chunks = *CutIntoChunks(ModelOf(vocab), OnCuda(HostJob()), PlanInShards());
    EXPECT_GT(chunks.head.size(), 1);
    const UnitRange rows = chunks.PiecesOf(chunks.chunks[chunks.head.end - 1]).front().units;
    return rows.end - rows.begin;
  };
  EXPECT_EQ(last_rows(1029), 517);
  EXPECT_EQ(last_rows(1061), 37);
}

// A device of either kind, the fake CUDA begun anew.
struct World {
  RealClock clock;
  std::unique_ptr<DeviceContext> context;
  std::unique_ptr<Device> device;

  World(DeviceKind kind, Bytes bytes, uint64_t seed) {
    if (kind == DeviceKind::kHost) {
      device = *HostDevice::Create({.capacity = bytes, .clock = &clock});
      return;
    }
    fake_cuda::Reset({.seed = seed});
    context = *CudaKernels().make_device_context();
    device = *MakeCudaDevice({.capacity = bytes, .clock = &clock});
  }

  RunEnvironment environment() {
    return {.device = *device,
            .kernels = context == nullptr ? HostKernels() : CudaKernels(),
            .clock = clock,
            .device_context = context.get()};
  }
};

absl::StatusOr<std::vector<float>> TokenLosses(const ModelSpec& spec, const TrainingJob& job,
                                               const StreamPlan& plan, uint64_t seed) {
  ASSIGN_OR_RETURN(const MemoryLayout layout, LayOutMemory(spec, job, plan, PassKind::kEvaluate));
  World world(job.device, layout.totals[static_cast<size_t>(Memory::kDevice)], seed);
  ASSIGN_OR_RETURN(
      const std::unique_ptr<ModelPass> pass,
      ModelPass::Create({.spec = spec, .job = job, .plan = plan, .kind = PassKind::kEvaluate},
                        world.environment()));
  RETURN_IF_ERROR(pass->store().Fill(RandomSource(spec, 3)));
  std::vector<float> all;
  bool given = false;
  RETURN_IF_ERROR(Evaluate(
                      *pass,
                      [&]() -> absl::StatusOr<std::optional<std::vector<TokenRecord>>> {
                        if (std::exchange(given, true)) return std::nullopt;
                        return RandomTokens(spec, job, 5, 7);
                      },
                      [&](std::span<const TokenRecord>, std::span<const float> losses) {
                        all.assign(losses.begin(), losses.end());
                      })
                      .status());
  return all;
}

TEST(CudaVocabularyEvaluation, TokensHaveTheHostsLossesAndTheSameBitsUnderEveryCut) {
  const ModelSpec spec = ModelOf(1029);
  TrainingJob host_job = HostJob();
  host_job.accumulation = 1;
  const absl::StatusOr<std::vector<float>> host = TokenLosses(spec, host_job, {}, 1);
  ASSERT_TRUE(host.ok()) << host.status();
  std::vector<float> first;
  uint64_t seed = 0;
  for (const auto& [name, plan] : Plans()) {
    SCOPED_TRACE(name);
    const absl::StatusOr<std::vector<float>> cuda =
        TokenLosses(spec, OnCuda(host_job), plan, ++seed);
    ASSERT_TRUE(cuda.ok()) << cuda.status();
    if (first.empty()) first = *cuda;
    EXPECT_EQ(*cuda, first);
    for (size_t i = 0; i < host->size(); ++i) EXPECT_NEAR((*cuda)[i], (*host)[i], 2e-2) << i;
  }
}

struct Generated {
  std::vector<std::vector<int32_t>> ids;                // by text
  std::vector<std::vector<std::vector<float>>> logits;  // by text and token
};

absl::StatusOr<Generated> Generate(const ModelSpec& spec, const GenerationSetup& setup,
                                   uint64_t seed) {
  const std::vector<std::vector<int32_t>> prompts = {{1, 5, 9, 2}, {7}, {0, 3, 3, 8, 11, 6, 4}};
  ASSIGN_OR_RETURN(const InferenceBytes bytes, GenerationBytes(spec, setup));
  World world(setup.device, bytes.device, seed);
  ASSIGN_OR_RETURN(const std::unique_ptr<Generator> generator,
                   Generator::Create(spec, setup, world.environment()));
  RETURN_IF_ERROR(generator->store().Fill(RandomSource(spec, 3)));
  Generated generated;
  generated.logits.resize(prompts.size());
  ASSIGN_OR_RETURN(const std::vector<Answer> answers,
                   generator->Generate(prompts, {.max_tokens = 10}, {},
                                       [&](size_t text, std::span<const float> logits) {
                                         generated.logits[text].emplace_back(logits.begin(),
                                                                             logits.end());
                                       }));
  for (const Answer& answer : answers) generated.ids.push_back(answer.ids);
  return generated;
}

// The host's logits within the roundings of bf16 activations, so its tokens; a text may part from
// the host's where two logits are nearer to each other than that. Returns how many tokens are
// equal.
int64_t ExpectTheHostsText(const Generated& got, const Generated& host, int64_t vocab) {
  int64_t equal = 0;
  for (size_t text = 0; text < host.ids.size(); ++text) {
    for (size_t token = 0; token < host.ids[text].size(); ++token) {
      SCOPED_TRACE(StrCat("text ", text, ", token ", token));
      const std::vector<float>& logits = got.logits[text][token];
      const std::vector<float>& wanted = host.logits[text][token];
      EXPECT_EQ(logits.size(), static_cast<size_t>(vocab));
      if (logits.size() != wanted.size()) return equal;
      std::vector<float> sorted = wanted;
      std::sort(sorted.begin(), sorted.end(), std::greater<>());
      const float tolerance = 0x1p-6F * std::max(sorted.front(), -sorted.back());
      for (size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(logits[i], wanted[i], tolerance) << i;
      if (got.ids[text][token] != host.ids[text][token]) {
        EXPECT_LE(sorted[0] - sorted[1], 2 * tolerance);
        break;
      }
      ++equal;
    }
  }
  return equal;
}

TEST(CudaVocabularyGeneration, GreedyTextIsTheHostsAndLogitsAreTheSameBitsInShards) {
  for (const int64_t vocab : {13, 513, 1029, 1061}) {
    SCOPED_TRACE(StrCat(vocab, " words"));
    const ModelSpec spec = ModelOf(vocab);
    GenerationSetup setup{.batch = 3, .capacity = 24, .longest_prompt = 7};
    const absl::StatusOr<Generated> host = Generate(spec, setup, 1);
    ASSERT_TRUE(host.ok()) << host.status();
    setup.device = DeviceKind::kCuda;
    const absl::StatusOr<Generated> whole = Generate(spec, setup, 1);
    ASSERT_TRUE(whole.ok()) << whole.status();
    setup.plan = PlanInShards();
    const absl::StatusOr<Generated> in_shards = Generate(spec, setup, 2);
    ASSERT_TRUE(in_shards.ok()) << in_shards.status();
    EXPECT_GE(ExpectTheHostsText(*whole, *host, vocab), 20);
    EXPECT_EQ(in_shards->ids, whole->ids);
    EXPECT_EQ(in_shards->logits, whole->logits);
  }
}

}  // namespace
}  // namespace horizon

// Training on the CUDA device and its kernels, run by the fake CUDA: PyTorch's goldens, and the
// same bits under every plan.
#include <algorithm>
#include <cmath>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/failure_source.h"
#include "common/text/str_cat.h"
#include "gtest/gtest.h"
#include "tests/runtime/support/run_on_cuda.h"
#include "tests/runtime/support/small_training.h"
#include "tests/runtime/support/training_case.h"

namespace horizon {
namespace {

class CudaTraining : public testing::TestWithParam<std::string> {
 protected:
  RunRequest Request(const TrainingJob& job, const StreamPlan& plan, int64_t steps) {
    return {.spec = golden_.spec,
            .job = job,
            .plan = plan,
            .source = SourceOf(golden_),
            .batch = [this](int64_t step, int64_t) { return golden_.batches[step - 1]; },
            .steps = steps};
  }

  const Golden golden_ = LoadGolden(GetParam());
  const TrainingJob job_ = OnCuda(golden_.job);
};

// The bounds are those of bf16 compute on the host device, for three layers. Here activations are
// rounded too: their errors are independent, so that they grow with the root of the number of
// layers, and the part of a gradient that points elsewhere with its square. (PyTorch in bf16 has
// cosines from 0.9987 on for gemma3, which has seven.)
TEST_P(CudaTraining, MeetsPyTorchsLossAndGradients) {
  const double depth = std::max(1.0, static_cast<double>(golden_.spec.layer_count()) / 3);
  const StreamPlan plan;
  const absl::StatusOr<TrainingCaseOutcome> cuda = RunOnCuda(Request(job_, plan, 1), 1);
  ASSERT_TRUE(cuda.ok()) << cuda.status();
  const absl::StatusOr<TrainingCaseOutcome> host = RunTrainingCase(Request(golden_.job, plan, 1));
  ASSERT_TRUE(host.ok()) << host.status();
  EXPECT_LT(RelativeError(cuda->steps[0].loss, golden_.first_loss), 1e-3);
  for (const auto& [name, norm] : NormsOnDisk(golden_, *cuda)) {
    EXPECT_LT(RelativeError(norm, golden_.gradient_norms.at(name)), 2e-2 * std::sqrt(depth))
        << name;
  }
  for (const std::string& name : cuda->tensor_names) {
    EXPECT_GE(Cosine(cuda->gradients.at(name), host->gradients.at(name)), 1 - 1e-3 * depth) << name;
  }
}

class CudaTrainingPlans : public CudaTraining {};

// With two micro-batches a step, so that gradients are also summed, on the host and on the device;
// streams, blocks and threads run in another order each time.
TEST_P(CudaTrainingPlans, EveryPlanAndOrderGivesTheSameBits) {
  constexpr int64_t kSteps = 2;
  TrainingJob job = job_;
  job.accumulation = 2;
  StreamPlan deep;
  deep.buffer_depth = 3;
  deep.gradient_slabs = 1;
  deep.anchor_home = AnchorHome::kHost;
  StreamPlan on_device;
  on_device.embedding_home = EmbeddingHome::kDevice;
  on_device.anchor_interval = 2;
  StreamPlan chunk_major;
  chunk_major.accumulation_order = AccumulationOrder::kChunkMajor;
  StreamPlan keeps;
  keeps.recompute = false;
  keeps.buffer_depth = 1;
  StreamPlan again;
  again.keep_feed_forward = false;
  again.anchor_interval = 2;
  const StreamPlan resident = ResidentPlan();
  const auto batch = [this](int64_t step, int64_t micro_batch) {
    return golden_.batches[2 * (step - 1) + micro_batch];
  };
  TrainingJob host_job = golden_.job;
  host_job.accumulation = 2;
  const StreamPlan host_plan;
  RunRequest on_host = Request(host_job, host_plan, kSteps);
  on_host.batch = batch;
  const absl::StatusOr<TrainingCaseOutcome> host = RunTrainingCase(on_host);
  ASSERT_TRUE(host.ok()) << host.status();
  std::vector<TrainingCaseOutcome> outcomes;
  uint64_t seed = 0;
  for (const StreamPlan& plan :
       {StreamPlan(), StreamPlan(), deep, on_device, chunk_major, keeps, again, resident}) {
    RunRequest request = Request(job, plan, kSteps);
    request.batch = batch;
    absl::StatusOr<TrainingCaseOutcome> outcome = RunOnCuda(std::move(request), ++seed);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    outcomes.push_back(*std::move(outcome));
    EXPECT_EQ(outcomes.back().digest, outcomes.front().digest) << "seed " << seed;
    for (size_t step = 0; step < kSteps; ++step) {
      const StepResult& got = outcomes.back().steps[step];
      EXPECT_EQ(got.loss, outcomes.front().steps[step].loss) << "seed " << seed;
      EXPECT_EQ(got.norms, outcomes.front().steps[step].norms) << "seed " << seed;
      EXPECT_LT(RelativeError(got.loss, host->steps[step].loss), 2e-3) << "seed " << seed;
    }
  }
}

// 80 tokens in five pieces and a tail: the host's loss and gradients, and the same bits whether
// gate and up are kept and wherever gradients are summed.
TEST_P(CudaTrainingPlans, PiecesOfTokensGiveTheSameBitsUnderEveryPlan) {
  TrainingJob job = job_;
  job.piece_tokens = 15;
  job.accumulation = 2;
  TrainingJob host_job = golden_.job;
  host_job.accumulation = 2;
  const auto batch = [this](int64_t, int64_t micro_batch) { return golden_.batches[micro_batch]; };
  const StreamPlan host_plan;
  RunRequest on_host = Request(host_job, host_plan, 1);
  on_host.batch = batch;
  const absl::StatusOr<TrainingCaseOutcome> host = RunTrainingCase(on_host);
  ASSERT_TRUE(host.ok()) << host.status();
  StreamPlan again;
  again.keep_feed_forward = false;
  StreamPlan keeps;
  keeps.recompute = false;
  StreamPlan keeps_less = keeps;
  keeps_less.keep_feed_forward = false;
  StreamPlan chunk_major = again;
  chunk_major.accumulation_order = AccumulationOrder::kChunkMajor;
  const StreamPlan resident = ResidentPlan();
  uint64_t seed = 0;
  uint64_t digest = 0;
  for (const StreamPlan& plan : {StreamPlan(), again, keeps, keeps_less, chunk_major, resident}) {
    RunRequest request = Request(job, plan, 1);
    request.batch = batch;
    const absl::StatusOr<TrainingCaseOutcome> outcome = RunOnCuda(std::move(request), ++seed);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    if (seed == 1) digest = outcome->digest;
    EXPECT_EQ(outcome->digest, digest) << "plan " << seed;
    EXPECT_LT(RelativeError(outcome->steps[0].loss, host->steps[0].loss), 2e-3) << "plan " << seed;
    EXPECT_LT(RelativeError(outcome->steps[0].gradient_norm, host->steps[0].gradient_norm), 2e-2)
        << "plan " << seed;
  }
}

// The device finds it after the call; the run must end in the same step and name the tensor.
TEST(CudaTrainingRefused, AnUpdateThatBf16CannotHoldEndsTheRun) {
  const Golden golden = LoadGolden("llama");
  TrainingJob job = OnCuda(golden.job);
  job.learning_rate = 1000;
  job.learning_rate_schedule = LearningRateSchedule::kConstant;
  job.warmup_steps = 0;
  job.weight_decay = 0.01;  // w = -9 w
  ASSERT_FALSE(golden.spec.tied);
  std::set<int32_t> used;
  for (const TokenRecord& token : golden.batches[0]) used.insert(token.id);
  int32_t unused = 0;
  while (used.contains(unused)) ++unused;
  const auto huge = static_cast<uint64_t>(unused * golden.spec.hidden + 5);
  const ParameterStore::Source source = [&, original = SourceOf(golden)](const TensorSpec& tensor,
                                                                         uint64_t first,
                                                                         std::span<float> into) {
    absl::Status status = original(tensor, first, into);
    if (tensor.name == "model.embed_tokens.weight" && huge >= first && huge < first + into.size()) {
      into[huge - first] = 1e38F;
    }
    return status;
  };
  const StreamPlan resident = ResidentPlan();
  for (const StreamPlan& plan : {StreamPlan(), resident}) {
    const absl::Status status =
        RunOnCuda({.spec = golden.spec,
                   .job = job,
                   .plan = plan,
                   .source = source,
                   .batch = [&](int64_t, int64_t) { return golden.batches[0]; },
                   .steps = 2},
                  1)
            .status();
    EXPECT_EQ(FailureSourceOf(status), FailureSource::kNumerics) << status;
    const std::string message(status.message());
    const std::string wanted =
        StrCat("updating model.embed_tokens.weight: Adam: parameter ", huge, " would");
    EXPECT_NE(message.find(wanted), std::string::npos) << message;
  }
}

// 300 tokens are three tiles of the loss, and 1056 words three of the vocabulary.
TEST(CudaTrainingCut, ChunksOfTheLossAndShardsOfTheHeadGiveTheSameBitsAndTheHostsLoss) {
  ModelSpec spec = TinyLlama();
  spec.hidden = 16;
  spec.intermediate = 24;
  spec.head_dim = 8;
  spec.vocab = 1056;
  spec.max_positions = 128;
  spec.layers.resize(1);
  TrainingJob host_job = TinyJob();
  host_job.sequence = 100;
  host_job.micro_batch = 3;
  host_job.accumulation = 2;
  const TrainingJob job = OnCuda(host_job);
  StreamPlan chunks;
  chunks.loss_chunk_tokens = 128;
  StreamPlan shards;
  shards.chunk_bytes = 20_KiB;
  StreamPlan both = shards;
  both.loss_chunk_tokens = 256;
  const auto request = [&](const TrainingJob& of, const StreamPlan& plan) {
    return RunRequest{.spec = spec,
                      .job = of,
                      .plan = plan,
                      .source = RandomSource(spec, 3),
                      .batch = [&](int64_t step, int64_t mb) {
                        return RandomTokens(spec, job, static_cast<uint64_t>(10 * step + mb), 7);
                      }};
  };
  const absl::StatusOr<TrainingCaseOutcome> host = RunTrainingCase(request(host_job, StreamPlan()));
  ASSERT_TRUE(host.ok()) << host.status();
  uint64_t digest = 0;
  uint64_t seed = 0;
  for (const StreamPlan& plan : {StreamPlan(), chunks, shards, both}) {
    const absl::StatusOr<TrainingCaseOutcome> outcome = RunOnCuda(request(job, plan), ++seed);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    if (seed == 1) digest = outcome->digest;
    EXPECT_EQ(outcome->digest, digest) << "plan " << seed;
    EXPECT_LT(RelativeError(outcome->steps[0].loss, host->steps[0].loss), 1e-3) << "plan " << seed;
    EXPECT_LT(RelativeError(outcome->steps[0].gradient_norm, host->steps[0].gradient_norm), 2e-2)
        << "plan " << seed;
  }
}

// Every matrix of a layer is a chunk of its own.
TEST(CudaTrainingCut, LayersInShardsGiveTheSameBitsAndTheHostsLoss) {
  ModelSpec spec = TinyShards();
  spec.hidden = 16;
  spec.heads = 8;
  spec.kv_heads = 4;
  spec.head_dim = 8;
  spec.intermediate = spec.vocab = 32;
  spec.qkv_bias = true;
  spec.attention_sinks = true;
  spec.qk_norm = QkNorm::kPerHead;
  TrainingJob host_job = TinyJob();
  host_job.accumulation = 2;
  const TrainingJob job = OnCuda(host_job);
  const StreamPlan shards = ShardedPlan(spec, job);
  StreamPlan deep = shards;
  deep.buffer_depth = 4;
  deep.anchor_interval = 2;
  deep.anchor_home = AnchorHome::kHost;
  StreamPlan keeps = shards;
  keeps.recompute = false;
  keeps.buffer_depth = 1;
  StreamPlan chunk_major = shards;
  chunk_major.accumulation_order = AccumulationOrder::kChunkMajor;
  chunk_major.buffer_depth = 8;  // a layer, and the final norm
  const StreamPlan resident = ResidentPlan();
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
  const absl::StatusOr<TrainingCaseOutcome> host = RunTrainingCase(request(host_job, StreamPlan()));
  ASSERT_TRUE(host.ok()) << host.status();
  uint64_t digest = 0;
  uint64_t seed = 0;
  for (const StreamPlan& plan : {StreamPlan(), shards, deep, keeps, chunk_major, resident}) {
    const absl::StatusOr<TrainingCaseOutcome> outcome = RunOnCuda(request(job, plan), ++seed);
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    if (seed == 1) digest = outcome->digest;
    EXPECT_EQ(outcome->digest, digest) << "plan " << seed;
    EXPECT_LT(RelativeError(outcome->steps[1].loss, host->steps[1].loss), 1e-3) << "plan " << seed;
  }
}

TEST(CudaTrainingRefused, WhatTheDeviceCannotRunIsNamed) {
  const Golden golden = LoadGolden("llama");
  const auto refused = [&](const ModelSpec& spec, const StreamPlan& plan) {
    const absl::StatusOr<TrainingCaseOutcome> outcome =
        RunOnCuda({.spec = spec,
                   .job = OnCuda(golden.job),
                   .plan = plan,
                   .source = RandomSource(spec, 1),
                   .batch = [&](int64_t, int64_t) { return golden.batches[0]; }},
                  1);
    EXPECT_TRUE(absl::IsFailedPrecondition(outcome.status())) << outcome.status();
    return std::string(outcome.status().message());
  };
  ModelSpec odd = golden.spec;
  odd.intermediate = 172;
  EXPECT_NE(refused(odd, {}).find("intermediate size 172"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Families, CudaTraining, testing::ValuesIn(DenseGoldens()),
                         [](const auto& family) { return family.param; });
// Between them these have every block.
INSTANTIATE_TEST_SUITE_P(Families, CudaTrainingPlans,
                         testing::Values("qwen2", "olmo3", "exaone4", "granite", "phi3_longrope",
                                         "mistral3_wrapper", "gemma3_wrapper"),
                         [](const auto& family) { return family.param; });

}  // namespace
}  // namespace horizon

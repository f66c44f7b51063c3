// The plan that evaluation and generation run with: whatever memory there is, what is found fits it
// and gives the losses of a model that stays on the device.
#include "runtime/inference/inference_plan.h"

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "gtest/gtest.h"
#include "runtime/device/host_device.h"
#include "runtime/execution/model_pass.h"
#include "runtime/inference/evaluate.h"
#include "schedule/chunk_table.h"
#include "schedule/lay_out_memory.h"
#include "tests/runtime/support/small_training.h"

namespace horizon {
namespace {

TrainingJob Job() {
  TrainingJob job = TinyJob();
  job.accumulation = 1;
  return job;
}

absl::StatusOr<InferenceBytes> BytesUnder(const ModelSpec& spec, const StreamPlan& plan) {
  ASSIGN_OR_RETURN(const MemoryLayout layout, LayOutMemory(spec, Job(), plan, PassKind::kEvaluate));
  return InferenceBytes{.device = layout.totals[static_cast<size_t>(Memory::kDevice)],
                        .host = layout.totals[static_cast<size_t>(Memory::kPinned)] +
                                layout.totals[static_cast<size_t>(Memory::kHost)]};
}

absl::StatusOr<InferencePlan> PlanFor(const ModelSpec& spec, std::optional<Bytes> device) {
  return PlanInference(spec, Job().compute_type, {.device = device},
                       [&](const StreamPlan& plan) { return BytesUnder(spec, plan); });
}

absl::StatusOr<double> LossUnder(const ModelSpec& spec, const InferencePlan& found) {
  RealClock clock;
  const TrainingJob job = Job();
  ASSIGN_OR_RETURN(const std::unique_ptr<HostDevice> device,
                   HostDevice::Create({.capacity = found.bytes.device, .clock = &clock}));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<ModelPass> pass,
      ModelPass::Create({.spec = spec, .job = job, .plan = found.plan, .kind = PassKind::kEvaluate},
                        {.device = *device, .kernels = HostKernels(), .clock = clock}));
  RETURN_IF_ERROR(pass->store().Fill(RandomSource(spec, 3)));
  bool given = false;
  ASSIGN_OR_RETURN(
      const Evaluation evaluation,
      Evaluate(*pass, [&]() -> absl::StatusOr<std::optional<std::vector<TokenRecord>>> {
        if (given) return std::nullopt;
        given = true;
        return RandomTokens(spec, job, 1);
      }));
  return evaluation.loss();
}

TEST(InferencePlan, WhateverFitsGivesTheLossOfAResidentModel) {
  const ModelSpec spec = TinyShards();
  const absl::StatusOr<InferencePlan> resident = PlanFor(spec, std::nullopt);
  ASSERT_TRUE(resident.ok()) << resident.status();
  EXPECT_EQ(resident->plan.strategy, Strategy::kResident);
  const absl::StatusOr<double> wanted = LossUnder(spec, *resident);
  ASSERT_TRUE(wanted.ok()) << wanted.status();
  // From all that a resident model takes down to where nothing fits, in small steps.
  std::set<uint64_t> chunks;
  int refused = 0;
  for (Bytes bytes = resident->bytes.device; refused < 3; bytes -= 700_B) {
    SCOPED_TRACE(bytes.value());
    const absl::StatusOr<InferencePlan> found = PlanFor(spec, bytes);
    if (!found.ok()) {
      EXPECT_EQ(found.status().code(), absl::StatusCode::kFailedPrecondition) << found.status();
      EXPECT_NE(found.status().message().find("matrix by matrix"), std::string::npos);
      ++refused;
      continue;
    }
    EXPECT_EQ(refused, 0) << "less fitted, more does not";
    ASSERT_LE(found->bytes.device, bytes);
    chunks.insert(found->plan.chunk_bytes.value());
    const absl::StatusOr<double> loss = LossUnder(spec, *found);
    ASSERT_TRUE(loss.ok()) << loss.status();
    EXPECT_EQ(*loss, *wanted) << found->summary;
  }
  // Layers, stages, and matrices one by one.
  EXPECT_GE(chunks.size(), 3u);
  EXPECT_TRUE(chunks.contains(ShardedPlan(spec, Job()).chunk_bytes.value()));
}

// A table whose tile is larger than a layer.
TEST(InferencePlan, ATinyModelWithALargeVocabularyStreams) {
  ModelSpec spec = TinyLlama();
  spec.vocab = 4000;
  const absl::StatusOr<InferencePlan> resident = PlanFor(spec, std::nullopt);
  ASSERT_TRUE(resident.ok()) << resident.status();
  const absl::StatusOr<InferencePlan> found = PlanFor(spec, resident->bytes.device - 1_B);
  ASSERT_TRUE(found.ok()) << found.status();
  EXPECT_EQ(*LossUnder(spec, *found), *LossUnder(spec, *resident));
}

}  // namespace
}  // namespace horizon

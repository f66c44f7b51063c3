// The device's memory does not grow with the depth of the model.
#include "gtest/gtest.h"
#include "model/stages.h"
#include "schedule/lay_out_memory.h"
#include "tests/runtime/support/small_training.h"

namespace horizon {
namespace {

StreamPlan DeepPlan() {
  StreamPlan plan;
  plan.anchor_home = AnchorHome::kHost;
  plan.anchor_interval = 1;
  return plan;
}

ModelSpec OfDepth(int64_t layers) {
  ModelSpec spec = TinyLlama();
  spec.layers.assign(layers, LayerSpec{});
  return spec;
}

Bytes Total(const ModelSpec& spec, Memory memory) {
  return LayOutMemory(spec, TinyJob(), DeepPlan())->totals[static_cast<size_t>(memory)];
}

TEST(DeepTraining, NinetySixLayersTrainInTheArenaOfFour) {
  const Bytes arena = Total(OfDepth(4), Memory::kDevice);
  EXPECT_EQ(Total(OfDepth(96), Memory::kDevice), arena);
  const MakeDevice exactly = [&](Bytes) { return OnHostDevice()(arena); };
  const absl::StatusOr<TrainingCaseOutcome> outcome =
      TrainTiny(OfDepth(96), TinyJob(), DeepPlan(), 3, exactly);
  ASSERT_TRUE(outcome.ok()) << outcome.status();
  EXPECT_EQ(outcome->steps.size(), 3u);
  EXPECT_TRUE(outcome->steps[2].applied);
}

// 14 bytes a parameter with a clip, 12 without gradients kept: what depth adds to the host, besides
// the anchors, alignment and the partial norms of each tensor.
TEST(DeepTraining, EachLayerAddsFourteenBytesAParameterToTheHost) {
  const uint64_t parameters = (CountParameters(ListStages(OfDepth(96))).total -
                               CountParameters(ListStages(OfDepth(4))).total) /
                              92;
  const auto host = [](const ModelSpec& spec, const TrainingJob& job) {
    const MemoryLayout layout = *LayOutMemory(spec, job, DeepPlan());
    uint64_t bytes = 0;
    for (const Buffer& buffer : layout.buffers) {
      if (buffer.memory != Memory::kDevice && buffer.kind != BufferKind::kAnchor &&
          buffer.kind != BufferKind::kNormPartials) {
        bytes += buffer.bytes.value();
      }
    }
    return bytes;
  };
  TrainingJob job = TinyJob();
  EXPECT_EQ(host(OfDepth(96), job) - host(OfDepth(4), job), uint64_t{92} * 14 * parameters);
  job.optimizer_place = OptimizerPlace::kInBackward;
  job.clip_norm = 0;
  EXPECT_EQ(host(OfDepth(96), job) - host(OfDepth(4), job), uint64_t{92} * 12 * parameters);
}

}  // namespace
}  // namespace horizon

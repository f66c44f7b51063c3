#include "planner/save_estimate.h"

#include <gtest/gtest.h>

#include "model/stages.h"
#include "runtime/checkpoint/checkpoint_layout.h"
#include "tests/model/model_specs.h"

namespace horizon {
namespace {

// The estimate is the checkpoint's own layout without its headers.
TEST(EstimateSave, CountsTheBytesThatACheckpointHas) {
  const ModelSpec spec = TinySpec("llama");
  for (const StateFormat format : {StateFormat::kFp32, StateFormat::kBf16Moments,
                                   StateFormat::k8BitMoments, StateFormat::kBf16Weights}) {
    TrainingJob job;
    job.state_format = format;
    std::vector<SavedTensor> tensors;
    for (const Stage& stage : ListStages(spec)) {
      for (const TensorSpec& tensor : stage.tensors) tensors.push_back({tensor.name, tensor.shape});
    }
    const absl::StatusOr<CheckpointLayout> layout =
        LayOutCheckpoint(tensors, format, SaveMode::kFull);
    ASSERT_TRUE(layout.ok()) << layout.status();
    uint64_t bytes = 0;
    uint64_t weights = 0;
    for (const CheckpointEntry& entry : layout->entries) {
      bytes += entry.bytes.value();
      if (entry.part == StatePart::kHi) weights += entry.bytes.value();
    }
    HardwareProfile profile;
    const SaveEstimate estimate = EstimateSave(spec, job, profile);
    EXPECT_EQ(estimate.bytes, Bytes(bytes));
    EXPECT_EQ(estimate.weights_bytes, Bytes(weights));
    EXPECT_TRUE(estimate.assumed);
    EXPECT_DOUBLE_EQ(estimate.seconds(), static_cast<double>(bytes) / kAssumedDiskBytesPerSecond);
    profile.disks.push_back({.write_bytes_per_second = {.value = 5e8}});
    EXPECT_DOUBLE_EQ(EstimateSave(spec, job, profile).seconds(), static_cast<double>(bytes) / 5e8);
  }
}

}  // namespace
}  // namespace horizon

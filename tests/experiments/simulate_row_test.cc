#include "experiments/simulate_row.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "common/files/io.h"
#include "model/load_model_spec.h"
#include "model/stages.h"
#include "planner/machines/machine_catalog.h"
#include "planner/planned_job.h"
#include "schedule/lay_out_memory.h"

namespace horizon {
namespace {

PublishedRow SevenB() {
  PublishedRow row;
  row.id = "7B";
  row.system = "megatrain";
  row.machine = "gh200";
  row.model = "qwen2.5-7b";
  row.batch = 16;
  row.published = 250;
  return row;
}

class SimulateRowTest : public testing::Test {
 protected:
  RowResult Simulate(const PublishedRow& row) {
    const absl::StatusOr<std::optional<RowResult>> result =
        SimulateRow(*io_, row, BuiltInCalibration());
    EXPECT_TRUE(result.ok()) << result.status();
    EXPECT_TRUE(result->has_value());
    return **result;
  }

  const std::unique_ptr<Io> io_ = MakePosixIo();
};

TEST_F(SimulateRowTest, AMetricIsWhatThePredictionSays) {
  PublishedRow row = SevenB();
  const RowResult rate = Simulate(row);
  EXPECT_EQ(rate.batch, 16);
  EXPECT_EQ(*rate.simulated, rate.prediction.model_tflops);
  EXPECT_DOUBLE_EQ(*rate.error, rate.prediction.model_tflops / 250 - 1);
  row.metric = Metric::kStepSeconds;
  EXPECT_EQ(*Simulate(row).simulated, rate.prediction.step_seconds);
  row.metric = Metric::kTokensPerSecond;
  EXPECT_EQ(*Simulate(row).simulated, rate.prediction.tokens_per_second);
  EXPECT_DOUBLE_EQ(rate.prediction.tokens_per_second * rate.prediction.step_seconds, 16 * 1024);
  row.metric = Metric::kStatus;
  EXPECT_EQ(Simulate(row).simulated, std::nullopt);
  EXPECT_EQ(Simulate(row).error, std::nullopt);
}

TEST_F(SimulateRowTest, HostMemoryOfThePublishedSystemIsSampledWithoutGradients) {
  PublishedRow row = SevenB();
  row.metric = Metric::kHostGib;
  const double gib = 1024.0 * 1024 * 1024;
  const RowResult ours = Simulate(row);
  const MemoryEstimate& memory = ours.prediction.memory;
  const Bytes gradients = memory.BytesOf(BufferKind::kKeptGradient);
  EXPECT_GE(gradients, 2_B * uint64_t{7'615'616'512});
  EXPECT_DOUBLE_EQ(*ours.simulated, static_cast<double>(memory.host_bytes() - gradients) / gib);
  row.system = "fsdp_offload";
  const RowResult theirs = Simulate(row);
  EXPECT_DOUBLE_EQ(*theirs.simulated,
                   static_cast<double>(theirs.prediction.memory.host_bytes()) / gib);
}

TEST_F(SimulateRowTest, ARunThatDoesNotFitIsTimedAllTheSame) {
  PublishedRow row = SevenB();
  row.layers = 180;
  row.batch = 94;
  const RowResult result = Simulate(row);
  EXPECT_FALSE(result.fits);
  EXPECT_FALSE(result.status_agrees);
  EXPECT_GT(result.prediction.step_seconds, 0);
  EXPECT_TRUE(result.error.has_value());
  row.status = RunStatus::kOutOfMemory;
  EXPECT_TRUE(Simulate(row).status_agrees);
  EXPECT_EQ(Simulate(row).error, std::nullopt);
  row.status = RunStatus::kUnknown;
  EXPECT_TRUE(Simulate(row).status_agrees);
}

TEST_F(SimulateRowTest, SettingsOfTheRowAreUsed) {
  PublishedRow row = SevenB();
  const double usual = Simulate(row).prediction.step_seconds;
  row.buffer_depth = 1;
  EXPECT_GT(Simulate(row).prediction.step_seconds, usual);
  row = SevenB();
  row.anchor_interval = 1;
  EXPECT_GT(Simulate(row).prediction.memory.device_bytes(),
            Simulate(SevenB()).prediction.memory.device_bytes());
  row = SevenB();
  row.gradient_slabs = 1;
  EXPECT_LT(Simulate(row).prediction.memory.pinned_bytes(),
            Simulate(SevenB()).prediction.memory.pinned_bytes());
}

TEST_F(SimulateRowTest, UnknownSystemsModelsAndMachines) {
  PublishedRow row = SevenB();
  row.system = "ratel_ssd";
  const absl::StatusOr<std::optional<RowResult>> none =
      SimulateRow(*io_, row, BuiltInCalibration());
  ASSERT_TRUE(none.ok()) << none.status();
  EXPECT_FALSE(none->has_value());
  row = SevenB();
  row.model = "qwen2.5-8b";
  EXPECT_TRUE(absl::IsNotFound(SimulateRow(*io_, row, BuiltInCalibration()).status()));
  row = SevenB();
  row.machine = "gh201";
  EXPECT_TRUE(absl::IsNotFound(SimulateRow(*io_, row, BuiltInCalibration()).status()));
}

TEST_F(SimulateRowTest, AModelGetsTheRowsShape) {
  PublishedRow row = SevenB();
  row.model = "qwen2.5-1.5b";
  row.layers = 3;
  row.hidden = 3072;
  row.ffn = 1000;
  row.sequence = 1 << 20;
  const ModelSpec narrow = LoadModelSpec(*io_, "qwen2.5-1.5b")->spec;
  const ModelSpec spec = *SpecOf(*io_, row);
  EXPECT_EQ(spec.layer_count(), 3);
  EXPECT_EQ(spec.hidden, 3072);
  EXPECT_EQ(spec.head_dim, narrow.head_dim);
  EXPECT_EQ(spec.heads, 2 * narrow.heads);
  EXPECT_EQ(spec.kv_heads, 2 * narrow.kv_heads);
  EXPECT_EQ(spec.intermediate, 1000);
  EXPECT_EQ(spec.max_positions, 1 << 20);
}

// The same sum as in calibration.h, written once more: one more sequence would not fit.
TEST_F(SimulateRowTest, TheLargestBatchFitsAndOneMoreDoesNot) {
  const ModelSpec spec = LoadModelSpec(*io_, "qwen2.5-3b")->spec;
  const double parameters = static_cast<double>(CountParameters(ListStages(spec)).total);
  for (const char* machine : {"gh200", "rtx3090"}) {
    const HardwareProfile profile = *LoadMachine(*io_, machine);
    for (const Strategy strategy : {Strategy::kReference, Strategy::kZero3Offload}) {
      const TrainingJob job = JobFor(profile, strategy);
      StreamPlan plan = PlanFor(strategy);
      plan.loss_chunk_tokens = 128;
      for (const double share : {0.6, 1.0}) {
        for (const double reserve : {0.0, 3.0}) {
          const StrategyCalibration calibration{
              .batch_share = share, .batch_reserve_bytes = reserve, .batch_logit_bytes = 2};
          const auto buffers = [&](int64_t batch) {
            TrainingJob with = job;
            with.micro_batch = batch;
            StreamPlan scaled = plan;
            scaled.loss_chunk_tokens = 128 * batch;
            const MemoryLayout layout = *LayOutMemory(spec, with, scaled);
            return static_cast<double>(layout.totals[static_cast<size_t>(Memory::kDevice)]) +
                   2.0 * static_cast<double>(batch * job.sequence * spec.vocab);
          };
          const double room = share * (profile.device.memory_bytes.value - reserve * parameters) +
                              (reserve > 0 ? 2 * buffers(1) - buffers(2) : 0);
          const int64_t batch = LargestBatch(spec, job, plan, profile, calibration);
          ASSERT_GT(batch, 1) << machine;
          EXPECT_LE(buffers(batch), room) << machine << " " << batch;
          EXPECT_GT(buffers(batch + 1), room) << machine << " " << batch;
        }
      }
    }
  }
}

TEST_F(SimulateRowTest, TheLargestBatchIsOneWhereNothingFits) {
  const ModelSpec spec = LoadModelSpec(*io_, "qwen2.5-72b")->spec;
  const HardwareProfile profile = *LoadMachine(*io_, "t4");
  const TrainingJob job = JobFor(profile, Strategy::kReference);
  EXPECT_EQ(LargestBatch(spec, job, PlanFor(Strategy::kReference), profile, {.batch_share = 0.01}),
            1);
}

TEST_F(SimulateRowTest, WithoutAPublishedBatchTheLargestIsUsed) {
  PublishedRow row = SevenB();
  row.batch.reset();
  const RowResult largest = Simulate(row);
  EXPECT_GT(largest.batch, 16);
  row.batch = largest.batch;
  EXPECT_EQ(Simulate(row).prediction.step_seconds, largest.prediction.step_seconds);
}

}  // namespace
}  // namespace horizon

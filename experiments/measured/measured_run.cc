#include "experiments/measured/measured_run.h"

#include <algorithm>
#include <memory>
#include <span>
#include <utility>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "kernels/embedding.h"
#include "kernels/kernel_table.h"
#include "planner/calibration.h"
#include "planner/machine_catalog.h"
#include "planner/process_estimate.h"
#include "runtime/device/host_device.h"
#include "runtime/operation_bodies.h"
#include "runtime/process_memory.h"
#include "runtime/random_init.h"
#include "runtime/trainer.h"
#include "schedule/build_schedule.h"

namespace horizon {
namespace {

constexpr int64_t kSeed = 1;

// Tokens of a step, all of them counted.
StepInput InputOf(const ModelSpec& spec, const TrainingJob& job, int64_t step) {
  StepInput input{.number = step, .learning_rate = job.learning_rate};
  uint64_t state = static_cast<uint64_t>(step) * 0x9E3779B97F4A7C15U + 1;
  const auto draw = [&] {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<int32_t>((state >> 33) % static_cast<uint64_t>(spec.vocab));
  };
  const auto each = static_cast<size_t>(job.micro_batch_tokens());
  input.tokens.resize(each * static_cast<size_t>(job.accumulation));
  for (size_t i = 0; i < input.tokens.size(); ++i) {
    input.tokens[i] = {.id = draw(),
                       .label = draw(),
                       .position = static_cast<int32_t>(i % static_cast<size_t>(job.sequence))};
  }
  for (size_t begin = 0; begin < input.tokens.size(); begin += each) {
    LinkSameTokens(std::span(input.tokens).subspan(begin, each));
  }
  input.counted = static_cast<int64_t>(input.tokens.size());
  return input;
}

double Median(std::vector<double> values) {
  CHECK(!values.empty());
  std::nth_element(values.begin(), values.begin() + static_cast<int64_t>(values.size() / 2),
                   values.end());
  return values[values.size() / 2];
}

}  // namespace

ModelSpec ModelOf(const ModelShape& shape) {
  CHECK(shape.hidden % kHeadDim == 0);
  ModelSpec spec;
  spec.name = StrCat(shape.layers, " x ", shape.hidden);
  spec.hidden = shape.hidden;
  spec.intermediate = shape.intermediate;
  spec.heads = spec.kv_heads = shape.hidden / kHeadDim;
  spec.head_dim = kHeadDim;
  spec.vocab = shape.vocab;
  spec.max_positions = 1 << 16;
  spec.layers.resize(static_cast<size_t>(shape.layers));
  return spec;
}

absl::StatusOr<MeasuredRun> RunMeasured(const MeasuredCase& wanted,
                                        const MeasuredOptions& options) {
  CHECK(options.steps >= 2);
  ASSIGN_OR_RETURN(const Schedule schedule, BuildSchedule(wanted.spec, wanted.job, wanted.plan));
  RETURN_IF_ERROR(CheckRunnable(wanted.spec, schedule));
  ASSIGN_OR_RETURN(const MachineSpeed speed,
                   MeasureSpeed(options.clock, options.profile, options.profile.host.cores));
  const HardwareProfile profile =
      WithOverrides(AtSpeed(options.profile, speed), {.link_limit = wanted.link});
  Software software = BuiltInCalibration().SoftwareOf(wanted.plan.strategy);
  ASSIGN_OR_RETURN(const ProcessMemory before, ReadProcessMemory(options.io));
  software.process_bytes = ProcessBytesOfRun(before, wanted.plan, DeviceKind::kHost);
  const PredictedRun predicted =
      PredictRun(wanted.spec, schedule, {.profile = profile, .software = software});
  MeasuredRun run{.speed_before = speed,
                  .prediction = predicted.prediction,
                  .predicted_host_bytes = predicted.prediction.memory.host_bytes(),
                  .arena_bytes = schedule.memory.totals[static_cast<size_t>(Memory::kDevice)]};
  for (const Operation& operation : schedule.steady.operations) {
    if (operation.lane == Lane::kH2d) run.h2d_bytes += operation.bytes;
    if (operation.lane == Lane::kD2h) run.d2h_bytes += operation.bytes;
  }
  ResetPeakMemory(options.io).IgnoreError();
  ASSIGN_OR_RETURN(const std::unique_ptr<HostDevice> device,
                   HostDevice::Create({.capacity = run.arena_bytes,
                                       .to_device = wanted.link,
                                       .to_host = wanted.link,
                                       .clock = &options.clock}));
  ASSIGN_OR_RETURN(
      const std::unique_ptr<Trainer> trainer,
      Trainer::Create(wanted.spec, wanted.job, wanted.plan,
                      {.device = *device, .kernels = HostKernels(), .clock = options.clock}));
  RETURN_IF_ERROR(
      trainer->store().Fill([&](const TensorSpec& tensor, uint64_t first, std::span<float> into) {
        FillRandomTensor(wanted.spec, tensor, kSeed, first, into);
        return absl::OkStatus();
      }));
  std::vector<double> seconds;
  MedianDurations durations(static_cast<size_t>(options.steps));
  RETURN_IF_ERROR(trainer->Train(
      1, options.steps,
      [&](int64_t step) -> absl::StatusOr<StepInput> {
        return InputOf(wanted.spec, wanted.job, step);
      },
      [&](const Trainer::Report& report) -> absl::StatusOr<Trainer::Next> {
        run.losses.push_back(report.result.loss);
        if (report.result.number > 1) {
          seconds.push_back(report.seconds);
          durations.Add(DurationsOf(trainer->schedule(), report.timeline, 0));
        }
        return Trainer::Next::kGoOn;
      }));
  run.step_seconds = Median(std::move(seconds));
  run.operations = CompareDurations(
      schedule,
      DurationsOf(schedule, predicted.steady.simulation.timeline, predicted.steady.reported_step),
      durations.Median());
  ASSIGN_OR_RETURN(const ProcessMemory after, ReadProcessMemory(options.io));
  run.host_peak_bytes = after.peak_resident.value();
  run.device_peak_bytes = device->high_water();
  ASSIGN_OR_RETURN(run.speed_after,
                   MeasureSpeed(options.clock, options.profile, options.profile.host.cores));
  return run;
}

}  // namespace horizon

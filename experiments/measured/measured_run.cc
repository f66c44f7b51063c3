#include "experiments/measured/measured_run.h"

#include <algorithm>
#include <cmath>
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
#include "runtime/process_memory.h"
#include "runtime/random_init.h"
#include "runtime/trainer.h"
#include "schedule/build_schedule.h"
#include "schedule/check_runnable.h"

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
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

// The median of what `of` says of each burst.
template <typename Of>
double MedianOver(const std::vector<MeasuredBurst>& bursts, Of of) {
  std::vector<double> values;
  values.reserve(bursts.size());
  for (const MeasuredBurst& burst : bursts) values.push_back(of(burst));
  return Median(std::move(values));
}

MachineSpeed Mean(std::span<const MachineSpeed> speeds) {
  MachineSpeed sum{.products = 0, .memory = 0};
  for (const MachineSpeed& speed : speeds) {
    sum.products += speed.products;
    sum.memory += speed.memory;
  }
  const auto count = static_cast<double>(speeds.size());
  return {.products = sum.products / count, .memory = sum.memory / count};
}
MachineSpeed Mean(const MachineSpeed& a, const MachineSpeed& b) {
  const MachineSpeed both[] = {a, b};
  return Mean(both);
}

// What a case is predicted to take, at any speed of the machine.
class Predictor {
 public:
  Predictor(const MeasuredCase& wanted, const Schedule& schedule, const HardwareProfile& profile,
            const Software& software)
      : wanted_(wanted), schedule_(schedule), profile_(profile), software_(software) {}

  PredictedRun At(const MachineSpeed& speed) const {
    const HardwareProfile profile =
        WithOverrides(AtSpeed(profile_, speed), {.link_limit = wanted_.link});
    return PredictRun(wanted_.spec, schedule_, {.profile = profile, .software = software_});
  }
  double SecondsAt(const MachineSpeed& speed) const { return At(speed).prediction.step_seconds; }

 private:
  const MeasuredCase& wanted_;
  const Schedule& schedule_;
  const HardwareProfile& profile_;
  const Software software_;
};

}  // namespace

double MeasuredRun::predicted_seconds() const {
  return MedianOver(bursts, [](const MeasuredBurst& burst) { return burst.predicted; });
}
double MeasuredRun::step_seconds() const {
  return MedianOver(bursts, [](const MeasuredBurst& burst) { return burst.measured; });
}
double MeasuredRun::step_error() const {
  return MedianOver(bursts,
                    [](const MeasuredBurst& burst) { return burst.measured / burst.predicted; }) -
         1;
}
double MeasuredRun::other_error() const {
  return MedianOver(
             bursts,
             [](const MeasuredBurst& burst) { return burst.measured / burst.predicted_by_other; }) -
         1;
}
double MeasuredRun::error_during() const {
  return MedianOver(
             bursts,
             [](const MeasuredBurst& burst) { return burst.measured / burst.predicted_during; }) -
         1;
}
MachineSpeed MeasuredRun::mean_speed() const {
  std::vector<MachineSpeed> speeds;
  speeds.reserve(bursts.size());
  for (const MeasuredBurst& burst : bursts) speeds.push_back(Mean(burst.before, burst.after));
  return Mean(speeds);
}
double MeasuredRun::drift() const {
  double furthest = 0;
  for (const MeasuredBurst& burst : bursts) {
    const double moved = burst.after.products / burst.before.products - 1;
    if (std::abs(moved) > std::abs(furthest)) furthest = moved;
  }
  return furthest;
}

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
  RETURN_IF_ERROR(CheckRunnable(wanted.spec, wanted.job, wanted.plan));
  ASSIGN_OR_RETURN(const Schedule schedule, BuildSchedule(wanted.spec, wanted.job, wanted.plan));
  const auto look = [&](double times) {
    return MeasureSpeed(options.clock, options.profile, options.profile.host.cores,
                        Seconds{times * options.look.value});
  };
  ASSIGN_OR_RETURN(const MachineSpeed first_look, look(2));
  std::vector<MachineSpeed> looks = {first_look};
  Software software = BuiltInCalibration().SoftwareOf(wanted.plan.strategy);
  ASSIGN_OR_RETURN(const ProcessMemory before, ReadProcessMemory(options.io));
  software.process_bytes = ProcessBytesOfRun(before, wanted.plan, DeviceKind::kHost);
  const Predictor predictor(wanted, schedule, options.profile, software);
  const PredictedRun predicted = predictor.At(first_look);
  MeasuredRun run{.prediction = predicted.prediction,
                  .usual_step_seconds = predictor.SecondsAt({}),
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
  MedianDurations durations(static_cast<size_t>(options.steps));
  for (int64_t first = 1; first <= options.steps;) {
    // What is left over and makes no whole burst goes with the last one.
    const int64_t left = options.steps - first + 1;
    const int64_t last = first + (left < 2 * kBurstSteps ? left : kBurstSteps) - 1;
    std::vector<double> seconds;
    RETURN_IF_ERROR(trainer->Train(
        first, last,
        [&](int64_t step) -> absl::StatusOr<StepInput> {
          return InputOf(wanted.spec, wanted.job, step);
        },
        [&](const Trainer::Report& report) -> absl::StatusOr<Trainer::Next> {
          run.losses.push_back(report.result.loss);
          if (report.result.number > first) {
            seconds.push_back(report.seconds);
            durations.Add(DurationsOf(trainer->schedule(), report.timeline, 0));
          }
          return Trainer::Next::kGoOn;
        }));
    // Looking takes memory that is no part of the run.
    ASSIGN_OR_RETURN(const ProcessMemory after, ReadProcessMemory(options.io));
    run.host_peak_bytes = std::max(run.host_peak_bytes, after.peak_resident.value());
    ASSIGN_OR_RETURN(const MachineSpeed now, look(1));
    ResetPeakMemory(options.io).IgnoreError();
    const MachineSpeed recent =
        Mean(std::span(std::as_const(looks)).last(std::min(looks.size(), kRecentLooks)));
    run.bursts.push_back({.before = looks.back(),
                          .after = now,
                          .predicted = predictor.SecondsAt(recent),
                          .predicted_during = predictor.SecondsAt(Mean(looks.back(), now)),
                          .measured = Median(std::move(seconds))});
    if (options.other != nullptr) {
      run.bursts.back().predicted_by_other =
          Predictor(wanted, schedule, *options.other, software)
              .SecondsAt(AsShareOf(*options.other, options.profile, recent));
    }
    looks.push_back(now);
    first = last + 1;
  }
  run.durations = durations.Median();
  run.operations = CompareDurations(
      schedule,
      DurationsOf(schedule, predicted.steady.simulation.timeline, predicted.steady.reported_step),
      run.durations);
  run.device_peak_bytes = device->high_water();
  run.schedule = schedule;
  run.software = software;
  return run;
}

}  // namespace horizon

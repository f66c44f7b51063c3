#include "experiments/measured/measured_run.h"

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "common/check.h"
#include "common/process_memory.h"
#include "common/statistics.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/embedding/embedding.h"
#include "planner/machines/machine_catalog.h"
#include "runtime/execution/trainer.h"
#include "schedule/build/build_schedule.h"
#include "schedule/check_runnable.h"
#include "training/initial_weights.h"
#include "training/open_trainer.h"
#include "training/run_software.h"

namespace horizon {
namespace {

constexpr int64_t kSeed = 1;

// The lengths of samples that are packed one after the other: each length of the job in turn, as
// often as the job says.
class SamplesInTurn {
 public:
  // `job` outlives this. Without sample lengths every sample fills a row.
  explicit SamplesInTurn(const TrainingJob& job) : job_(job) {}

  int64_t NextLength() {
    if (job_.sample_lengths.empty()) return job_.sequence;
    const SampleLength& entry = job_.sample_lengths[entry_];
    if (++taken_ == entry.samples) {
      taken_ = 0;
      entry_ = (entry_ + 1) % job_.sample_lengths.size();
    }
    return entry.length;
  }

 private:
  const TrainingJob& job_;
  size_t entry_ = 0;
  int64_t taken_ = 0;  // samples of this entry
};

// Lays samples over the rows: positions begin again with each sample and each row. The last token
// of a sample that shares its row has no label, as in PackedSource.
void PackSamples(const TrainingJob& job, std::span<TokenRecord> tokens) {
  SamplesInTurn samples(job);
  const auto sequence = static_cast<size_t>(job.sequence);
  for (size_t begin = 0; begin < tokens.size();) {
    const size_t left = sequence - begin % sequence;
    const size_t length = std::min(left, static_cast<size_t>(samples.NextLength()));
    for (size_t t = 0; t < length; ++t) tokens[begin + t].position = static_cast<int32_t>(t);
    begin += length;
    if (length < sequence) tokens[begin - 1].label = TokenRecord().label;
  }
}

// Tokens of a step. All of them have a label but the last ones of packed samples.
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
    input.tokens[i] = {.id = draw(), .label = draw()};
  }
  PackSamples(job, input.tokens);
  for (size_t begin = 0; begin < input.tokens.size(); begin += each) {
    LinkSameTokens(std::span(input.tokens).subspan(begin, each));
  }
  input.counted = std::count_if(input.tokens.begin(), input.tokens.end(),
                                [](const TokenRecord& token) { return token.label >= 0; });
  return input;
}

// The median of what `of` says of each burst.
template <typename Of>
double MedianOver(const std::vector<MeasuredBurst>& bursts, Of of) {
  std::vector<double> values;
  values.reserve(bursts.size());
  for (const MeasuredBurst& burst : bursts) values.push_back(of(burst));
  return Median(std::move(values));
}

MachineSpeed Mean(const MachineSpeed& a, const MachineSpeed& b) {
  return {.gemm = (a.gemm + b.gemm) / 2, .memory = (a.memory + b.memory) / 2};
}

// What a case is predicted to take, at any speed of a machine.
struct Predictor {
  const MeasuredCase& wanted;
  const HardwareProfile& profile;
  const Software& software;

  PredictedRun At(const Schedule& schedule, const MachineSpeed& speed) const {
    const HardwareProfile now = WithOverrides(AtSpeed(profile, speed), {.link_limit = wanted.link});
    return PredictRun(wanted.spec, schedule, {.profile = now, .software = software});
  }
  double SecondsAt(const Schedule& schedule, const MachineSpeed& speed) const {
    return At(schedule, speed).prediction.step_seconds;
  }
};

// Measures the speed of the machine for `times` times the usual time.
absl::StatusOr<MachineSpeed> MeasureSpeedNow(const MeasuredOptions& options, double times) {
  return MeasureSpeed(options.clock, options.profile, options.profile.host.cores,
                      {.time = Seconds{times * options.speed_time.value}});
}

// What is known of a run before its first step.
MeasuredRun BeforeSteps(const Schedule& schedule, const PredictedRun& predicted,
                        const Predictor& predictor) {
  MeasuredRun run{.prediction = predicted.prediction,
                  .usual_step_seconds = predictor.SecondsAt(schedule, {}),
                  .predicted_host_bytes = predicted.prediction.memory.host_bytes(),
                  .arena_bytes = ArenaBytes(schedule),
                  .software = predictor.software};
  for (const Operation& operation : schedule.steady.operations) {
    if (operation.lane == Lane::kH2d) run.h2d_bytes += operation.bytes;
    if (operation.lane == Lane::kD2h) run.d2h_bytes += operation.bytes;
  }
  return run;
}

// What was measured of steps in a row.
struct Steps {
  std::vector<double> losses;
  std::vector<double> seconds;           // of all but the first
  std::vector<StepDurations> durations;  // likewise
};

absl::StatusOr<Steps> MakeSteps(Trainer& trainer, const MeasuredCase& wanted, int64_t first,
                                int64_t last) {
  Steps made;
  RETURN_IF_ERROR(trainer.Train(
      first, last,
      [&](int64_t step) -> absl::StatusOr<StepInput> {
        return InputOf(wanted.spec, wanted.job, step);
      },
      [&](const Trainer::Report& report) -> absl::StatusOr<Trainer::Next> {
        made.losses.push_back(report.result.loss);
        if (report.result.number > first) {
          made.seconds.push_back(report.seconds);
          made.durations.push_back(DurationsOf(trainer.schedule(), report.timeline, 0));
        }
        return Trainer::Next::kContinue;
      }));
  return made;
}

// A burst between the last measured speed and the one `after` it, with its predictions.
MeasuredBurst CompareBurst(const Predictor& predictor, const MeasuredOptions& options,
                           const Schedule& schedule, std::span<const MachineSpeed> speeds,
                           const MachineSpeed& after, const std::vector<double>& seconds) {
  const MachineSpeed recent = ExpectSpeed(
      options.profile, speeds.last(std::min(speeds.size(), kRecentSpeeds)), options.speed_time);
  MeasuredBurst burst{.before = speeds.back(),
                      .after = after,
                      .predicted = predictor.SecondsAt(schedule, recent),
                      .predicted_during = predictor.SecondsAt(schedule, Mean(speeds.back(), after)),
                      .measured = MeanWithoutOutliers(seconds)};
  if (options.other != nullptr) {
    const Predictor other{predictor.wanted, *options.other, predictor.software};
    burst.predicted_by_other =
        other.SecondsAt(schedule, SpeedRelativeTo(*options.other, options.profile, recent));
  }
  return burst;
}

// Steps of a burst that takes `step_seconds` each.
int64_t StepsOfBurst(const MeasuredCase& wanted, const MeasuredOptions& options,
                     double step_seconds) {
  const double lasting = 1 + options.burst_time.value / step_seconds;
  return std::max(wanted.burst_steps,
                  static_cast<int64_t>(std::min(lasting, static_cast<double>(kMostBurstSteps))));
}

// All steps, in bursts; adds to `run` what each shows.
absl::Status MakeBursts(Trainer& trainer, const Predictor& predictor,
                        const MeasuredOptions& options, const MachineSpeed& first_speed,
                        MeasuredRun& run) {
  std::vector<MachineSpeed> speeds = {first_speed};
  const int64_t burst = StepsOfBurst(predictor.wanted, options, run.usual_step_seconds);
  const int64_t steps = burst == kBurstSteps
                            ? options.steps
                            : burst * std::max<int64_t>(1, options.steps / kBurstSteps);
  MeanDurations durations(static_cast<size_t>(steps));
  for (int64_t first = 1, last = 0; first <= steps; first = last + 1) {
    // Steps that do not fill a burst are made with the last one.
    const int64_t left = steps - first + 1;
    last = first + (left < 2 * burst ? left : burst) - 1;
    ASSIGN_OR_RETURN(Steps made, MakeSteps(trainer, predictor.wanted, first, last));
    // Measuring the speed takes memory that is no part of the run.
    ASSIGN_OR_RETURN(const ProcessMemory memory, ReadProcessMemory(options.io));
    run.host_peak_bytes = std::max(run.host_peak_bytes, memory.peak_resident);
    ASSIGN_OR_RETURN(const MachineSpeed now, MeasureSpeedNow(options, 1));
    ResetPeakMemory(options.io).IgnoreError();
    run.losses.insert(run.losses.end(), made.losses.begin(), made.losses.end());
    for (StepDurations& step : made.durations) durations.Add(std::move(step));
    run.bursts.push_back(
        CompareBurst(predictor, options, trainer.schedule(), speeds, now, made.seconds));
    speeds.push_back(now);
  }
  run.durations = durations.Mean();
  run.expected_speed = ExpectSpeed(options.profile, speeds, options.speed_time);
  return absl::OkStatus();
}

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
double MeasuredRun::drift() const {
  double furthest = 0;
  for (const MeasuredBurst& burst : bursts) {
    const double moved = burst.after.gemm / burst.before.gemm - 1;
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
  CHECK(options.steps >= 2 && wanted.burst_steps >= 2);
  RETURN_IF_ERROR(CheckRunnable(wanted.spec, wanted.job, wanted.plan));
  ASSIGN_OR_RETURN(Schedule schedule, BuildSchedule(wanted.spec, wanted.job, wanted.plan));
  ASSIGN_OR_RETURN(const MachineSpeed first_speed, MeasureSpeedNow(options, 2));
  ASSIGN_OR_RETURN(const ProcessMemory before, ReadProcessMemory(options.io));
  const Software software = SoftwareOfRun(before, wanted.plan, DeviceKind::kHost);
  const Predictor predictor{wanted, options.profile, software};
  const MachineSpeed expected = ExpectSpeed(options.profile, std::span(&first_speed, 1),
                                            Seconds{2 * options.speed_time.value});
  const PredictedRun predicted = predictor.At(schedule, expected);
  const Bytes needed = predicted.prediction.memory.host_bytes();
  const Bytes usable(static_cast<uint64_t>(options.profile.usable_host_bytes()));
  if (needed > usable) {
    return absl::ResourceExhaustedError(
        StrCat("it needs ", ToString(needed), " of RAM and ", ToString(usable), " may be used"));
  }
  MeasuredRun run = BeforeSteps(schedule, predicted, predictor);
  ResetPeakMemory(options.io).IgnoreError();
  ASSIGN_OR_RETURN(
      const OpenedTrainer opened,
      OpenTrainer(wanted.spec, std::move(schedule), {.link = wanted.link, .clock = options.clock}));
  Trainer& trainer = *opened.trainer;
  RETURN_IF_ERROR(trainer.store().Fill(OpenWeights(RandomWeights{.seed = kSeed}, wanted.spec)));
  RETURN_IF_ERROR(MakeBursts(trainer, predictor, options, first_speed, run));
  run.schedule = trainer.schedule();
  run.operations = CompareDurations(run.schedule,
                                    DurationsOf(run.schedule, predicted.steady.simulation.timeline,
                                                predicted.steady.reported_step),
                                    run.durations);
  run.device_peak_bytes = opened.device().high_water();
  return run;
}

}  // namespace horizon

// How long building and verifying a step takes, and that it grows with the number of layers only
// linearly. The layers are those of Llama 3.1 405B; a ring of 4 slots, 8 micro-batches. What is
// promised: a step of the real model (126 layers) in less than 1 s and 500 MB.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>

#include "common/check.h"
#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "model/load_model_spec.h"
#include "schedule/build/build_schedule.h"
#include "schedule/verify/verify_schedule.h"

namespace horizon {
namespace {

constexpr int64_t kLayersOf405B = 126;

ModelSpec SpecOf(int64_t layers) {
  const std::unique_ptr<Io> io = MakePosixIo();
  absl::StatusOr<ModelConfig> config = LoadModelSpec(*io, "llama-3.1-405b");
  CHECK(config.ok());
  ModelSpec spec = std::move(config->spec);
  CHECK(spec.layer_count() == kLayersOf405B);
  spec.layers.resize(layers);
  return spec;
}

TrainingJob Job() {
  TrainingJob job;
  job.device = DeviceKind::kCuda;
  job.activation_type = NumberType::kBf16;
  job.sequence = 4096;
  job.accumulation = 8;
  return job;
}

StreamPlan Plan() {
  StreamPlan plan;
  plan.chunk_bytes = 8_GiB;  // a layer is 6.4 GB of bf16
  plan.buffer_depth = 4;
  plan.anchor_home = AnchorHome::kHost;
  return plan;
}

Schedule Build(const ModelSpec& spec) {
  absl::StatusOr<Schedule> schedule = BuildSchedule(spec, Job(), Plan());
  CHECK(schedule.ok());
  return *std::move(schedule);
}

int64_t OperationsIn(const Schedule& schedule) {
  return static_cast<int64_t>(schedule.first.operations.size() + schedule.steady.operations.size() +
                              schedule.drain.operations.size());
}

// The largest resident set this process has had, in bytes; 0 where the system does not say.
double PeakMemory() {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string text = ReadTextFile(*io, "/proc/self/status").value_or("");
  const size_t found = text.find("VmHWM:");
  return found == std::string::npos ? 0 : 1024.0 * std::stod(text.substr(found + 6));
}

void Report(benchmark::State& state, int64_t operations) {
  state.SetComplexityN(state.range(0));
  state.counters["operations"] = static_cast<double>(operations);
  state.counters["operations/s"] = benchmark::Counter(
      static_cast<double>(operations), benchmark::Counter::kIsIterationInvariantRate);
}

// First, so that the peak is its own.
void BuildAndVerify405B(benchmark::State& state) {
  const ModelSpec spec = SpecOf(kLayersOf405B);
  int64_t operations = 0;
  for (auto _ : state) {
    const Schedule schedule = Build(spec);
    CHECK(VerifySchedule(schedule).ok());
    operations = OperationsIn(schedule);
  }
  state.counters["operations"] = static_cast<double>(operations);
  state.counters["peak_bytes"] = PeakMemory();
}
BENCHMARK(BuildAndVerify405B)->Unit(benchmark::kMillisecond);

void BuildStep(benchmark::State& state) {
  const ModelSpec spec = SpecOf(state.range(0));
  int64_t operations = 0;
  for (auto _ : state) {
    const Schedule schedule = Build(spec);
    benchmark::DoNotOptimize(schedule.steady.operations.data());
    operations = OperationsIn(schedule);
  }
  Report(state, operations);
}
BENCHMARK(BuildStep)
    ->Arg(32)
    ->Arg(128)
    ->Arg(512)
    ->Arg(2048)
    ->Unit(benchmark::kMillisecond)
    ->Complexity(benchmark::oN);

void VerifyStep(benchmark::State& state) {
  const Schedule schedule = Build(SpecOf(state.range(0)));
  for (auto _ : state) CHECK(VerifySchedule(schedule).ok());
  Report(state, OperationsIn(schedule));
}
BENCHMARK(VerifyStep)
    ->Arg(32)
    ->Arg(128)
    ->Arg(512)
    ->Arg(2048)
    ->Unit(benchmark::kMillisecond)
    ->Complexity(benchmark::oN);

}  // namespace
}  // namespace horizon

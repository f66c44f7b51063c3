// How fast the event simulator is: operations a second on one core, and how many bytes an operation
// takes. The layers are those of Llama 3.1 405B with 64 micro-batches, each matrix a chunk, on a
// GH200. What is promised: 1,000,000 operations/s, and memory linear in the operations.
#include <benchmark/benchmark.h>

#include <memory>
#include <string>
#include <utility>

#include "common/check.h"
#include "common/files/io.h"
#include "model/load_model_spec.h"
#include "planner/machines/machine_catalog.h"
#include "schedule/build/build_schedule.h"
#include "simulator/bounds.h"
#include "simulator/simulate.h"

namespace horizon {
namespace {

constexpr int64_t kLayersOf405B = 126;

struct Case {
  ModelSpec spec;
  HardwareProfile profile;
  Schedule schedule;
  CostTable costs;
};

Case Make(int64_t layers) {
  const std::unique_ptr<Io> io = MakePosixIo();
  absl::StatusOr<ModelConfig> config = LoadModelSpec(*io, "llama-3.1-405b");
  absl::StatusOr<HardwareProfile> profile = LoadMachine(*io, "gh200");
  CHECK(config.ok() && profile.ok());
  Case made{.spec = std::move(config->spec), .profile = *std::move(profile)};
  made.spec.layers.resize(layers);
  TrainingJob job;
  job.device = DeviceKind::kCuda;
  job.activation_type = NumberType::kBf16;
  job.sequence = 4096;
  job.accumulation = 64;
  StreamPlan plan;
  plan.chunk_bytes = 1700_MiB;
  plan.buffer_depth = 4;
  plan.anchor_home = AnchorHome::kHost;
  plan.host_threads = plan.optimizer_threads = 16;
  absl::StatusOr<Schedule> schedule = BuildSchedule(made.spec, job, plan);
  CHECK(schedule.ok());
  made.schedule = *std::move(schedule);
  const CostModel model(made.spec, made.schedule.job, made.schedule.plan, made.schedule.chunks,
                        made.profile);
  made.costs = CostsOf(made.schedule, model);
  return made;
}

void Report(benchmark::State& state, size_t operations) {
  state.counters["operations"] = static_cast<double>(operations);
  state.counters["operations/s"] = benchmark::Counter(
      static_cast<double>(operations), benchmark::Counter::kIsIterationInvariantRate);
}

void SimulateSteps(benchmark::State& state, Contention contention) {
  const Case made = Make(kLayersOf405B);
  size_t operations = 0;
  for (auto _ : state) {
    const Simulation simulation =
        Simulate(made.schedule, made.costs, StepsOf(made.schedule, 3), contention);
    operations = simulation.timeline.entries.size();
  }
  Report(state, operations);
}
BENCHMARK_CAPTURE(SimulateSteps, shared, Contention::kShared)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(SimulateSteps, alone, Contention::kNone)->Unit(benchmark::kMillisecond);

// The resident set of this process now, in bytes; 0 where the system does not say.
double MemoryNow() {
  const std::unique_ptr<Io> io = MakePosixIo();
  const std::string text = ReadTextFile(*io, "/proc/self/status").value_or("");
  const size_t found = text.find("VmRSS:");
  return found == std::string::npos ? 0 : 1024.0 * std::stod(text.substr(found + 6));
}

// What a simulation leaves behind, for two sizes: the same bytes an operation if memory is linear.
// Besides its result it holds one number an operation while it runs.
void MemoryOfSteps(benchmark::State& state) {
  const Case made = Make(state.range(0));
  size_t operations = 0;
  double bytes = 0;
  for (auto _ : state) {
    const double before = MemoryNow();
    const Simulation simulation = Simulate(made.schedule, made.costs, StepsOf(made.schedule, 8));
    bytes = MemoryNow() - before;
    operations = simulation.timeline.entries.size();
  }
  Report(state, operations);
  state.counters["bytes/operation"] = bytes / static_cast<double>(operations);
}
BENCHMARK(MemoryOfSteps)->Arg(63)->Arg(kLayersOf405B)->Iterations(1)->Unit(benchmark::kMillisecond);

void CostsOfStep(benchmark::State& state) {
  const Case made = Make(kLayersOf405B);
  const CostModel model(made.spec, made.schedule.job, made.schedule.plan, made.schedule.chunks,
                        made.profile);
  for (auto _ : state) benchmark::DoNotOptimize(CostsOf(made.schedule, model));
  Report(state, made.costs.first.size() + made.costs.steady.size() + made.costs.drain.size());
}
BENCHMARK(CostsOfStep)->Unit(benchmark::kMillisecond);

// The closed form that spares the planner a simulation.
void BoundOfStep(benchmark::State& state) {
  const Case made = Make(kLayersOf405B);
  const CostModel model(made.spec, made.schedule.job, made.schedule.plan, made.schedule.chunks,
                        made.profile);
  for (auto _ : state) {
    benchmark::DoNotOptimize(
        BoundStep(made.schedule.job, made.schedule.plan, made.schedule.chunks, model));
  }
  Report(state, made.schedule.steady.operations.size());
}
BENCHMARK(BoundOfStep)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace horizon

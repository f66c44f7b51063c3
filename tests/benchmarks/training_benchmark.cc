// Whole training steps on device `host`, for the shapes a user would compare with PyTorch:
//   bazel run -c opt //tests/benchmarks:training_benchmark -- --benchmark_filter=134m/keep
// tokens/s, the share of this machine's sgemm rate (measured in the same run) that 6 x parameters a
// token make, and the process's peak memory: one shape a process, or the peak is the largest's.
#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "benchmark/benchmark.h"
#include "common/check.h"
#include "common/clock.h"
#include "common/files/io.h"
#include "common/process_memory.h"
#include "common/text/str_cat.h"
#include "kernels/embedding/embedding.h"
#include "kernels/gemm/gemm.h"
#include "model/stages.h"
#include "runtime/device/host_device.h"
#include "runtime/execution/trainer.h"
#include "runtime/parameters/random_init.h"
#include "schedule/lay_out_memory.h"

namespace horizon {
namespace {

constexpr int kThreads = 2;

struct Shape {
  std::string name;
  int64_t vocab, hidden, layers, heads, kv_heads, intermediate;
  bool tied;
  int64_t batch, sequence;
  int64_t chunk_parameters;  // 0: the table whole
};
const Shape kShapes[] = {
    {"22m", 8192, 384, 8, 6, 6, 1536, true, 8, 256, 0},
    {"134m", 32000, 768, 12, 12, 12, 2048, false, 4, 256, 0},
    {"qwen2.5-0.5b", 151936, 896, 24, 14, 2, 4864, true, 1, 512, 15'000'000},
};

ModelSpec SpecOf(const Shape& shape) {
  ModelSpec spec;
  spec.name = shape.name;
  spec.family = "qwen2";
  spec.hidden = shape.hidden;
  spec.intermediate = shape.intermediate;
  spec.heads = shape.heads;
  spec.kv_heads = shape.kv_heads;
  spec.head_dim = shape.hidden / shape.heads;
  spec.vocab = shape.vocab;
  spec.max_positions = 32768;
  spec.tied = shape.tied;
  spec.qkv_bias = true;
  spec.layers.resize(shape.layers);
  return spec;
}

double SgemmFlops() {
  const std::unique_ptr<Workers> workers = *Workers::Create("sgemm", kThreads);
  std::vector<std::byte> scratch(kThreads * kWorkerScratchBytes);
  const KernelContext context{.workers = workers.get(), .scratch = scratch};
  constexpr int64_t kSize = 2048;
  std::vector<float> a(kSize * kSize, 0.5f), b(kSize * kSize, 0.25f), c(kSize * kSize);
  double best = 1e9;
  for (int i = 0; i < 6; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    CHECK(GemmHost(context, {.form = GemmForm::kForward,
                             .m = kSize,
                             .n = kSize,
                             .k = kSize,
                             .a = a.data(),
                             .a_stride = kSize,
                             .b = b.data(),
                             .b_stride = kSize,
                             .c = c.data(),
                             .c_stride = kSize})
              .ok());
    best = std::min(
        best, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
  }
  return 2.0 * kSize * kSize * kSize / best;
}

void TrainSteps(benchmark::State& state, const Shape& shape, bool recompute, StateFormat format) {
  const ModelSpec spec = SpecOf(shape);
  TrainingJob job;
  job.sequence = shape.sequence;
  job.micro_batch = shape.batch;
  job.state_format = format;
  StreamPlan plan;
  plan.recompute = recompute;
  // The last block is not recomputed, so larger blocks mean less work.
  if (recompute) plan.anchor_interval = 3;
  plan.compute_threads = kThreads;
  plan.loss_chunk_tokens = 256;
  if (shape.chunk_parameters > 0) {
    plan.chunk_bytes = Bytes(CheckedU64(2 * shape.chunk_parameters));
  } else {
    plan.chunk_bytes = Bytes(CheckedU64(uint64_t{1} << 30));
    plan.resident_chunks = 1;
  }
  const MemoryLayout layout = *LayOutMemory(spec, job, plan);
  RealClock clock;
  const std::unique_ptr<HostDevice> device = *HostDevice::Create(
      {.capacity = layout.totals[static_cast<size_t>(Memory::kDevice)], .clock = &clock});
  const std::unique_ptr<Trainer> trainer = *Trainer::Create(
      spec, job, plan, {.device = *device, .kernels = HostKernels(), .clock = clock});
  CHECK(trainer->store()
            .Fill([&](const TensorSpec& tensor, uint64_t first, std::span<float> into) {
              FillRandomTensor(spec, tensor, 1, first, into);
              return absl::OkStatus();
            })
            .ok());
  StepInput input{.learning_rate = 1e-4};
  for (int64_t i = 0; i < job.micro_batch_tokens(); ++i) {
    const int32_t id = static_cast<int32_t>((i * 7919 + 13) % spec.vocab);
    input.tokens.push_back({.id = id, .label = id});
  }
  LinkSameTokens(input.tokens);
  input.counted = job.micro_batch_tokens();
  std::vector<double> seconds;
  for (auto _ : state) {
    CHECK(trainer
              ->Train(
                  1, 6, [&](int64_t) { return input; },
                  [&](const Trainer::Report& report) {
                    if (report.result.number > 1) seconds.push_back(report.seconds);
                    return Trainer::Next::kContinue;
                  })
              .ok());
  }
  std::sort(seconds.begin(), seconds.end());
  const double step = seconds[seconds.size() / 2];
  const double tokens = static_cast<double>(job.micro_batch_tokens());
  const double parameters = static_cast<double>(CountParameters(ListStages(spec)).total);
  const double sgemm = SgemmFlops();
  const std::unique_ptr<Io> io = MakePosixIo();
  state.counters["tokens/s"] = tokens / step;
  state.counters["sgemm"] = sgemm;
  state.counters["share_6N"] = 6 * parameters * tokens / step / sgemm;
  state.counters["peak_GiB"] =
      static_cast<double>(ReadProcessMemory(*io)->peak_resident.value()) / (1 << 30);
  state.counters["arena_GiB"] = static_cast<double>(device->used()) / (1 << 30);
}

void Register() {
  for (const Shape& shape : kShapes) {
    for (const bool recompute : {false, true}) {
      for (const StateFormat format : {StateFormat::kFp32, StateFormat::kBf16Moments}) {
        benchmark::RegisterBenchmark(
            StrCat(shape.name, recompute ? "/recompute/" : "/keep/", std::string(ToString(format)))
                .c_str(),
            [=, &shape](benchmark::State& state) { TrainSteps(state, shape, recompute, format); })
            ->Iterations(1)
            ->Unit(benchmark::kMillisecond);
      }
    }
  }
}

[[maybe_unused]] const bool kRegistered = (Register(), true);

}  // namespace
}  // namespace horizon

// Attention of the host device as a share of the rate of sgemm. Both are measured in turns, in one
// process with the same number of workers: every iteration times a GEMM of 2048^3, attention
// forward and attention backward, and the counters are medians over iterations.
//
//   forward, backward          flop/s of attention / flop/s of the GEMM
//   forward_cpu, backward_cpu  the same by processor time, for a machine that others use too
//
// Flops are those of the pairs that are seen, as model/stage_work.h counts them: 4 x head_dim a
// pair forward, 2.5 times as many backward. There is one key head a worker. The names with `avx2`
// hold attention to AVX2, which is what OpenBLAS 0.3.21 uses on processors it does not know.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <memory>
#include <random>
#include <vector>

#include "common/check.h"
#include "common/kernel_context.h"
#include "common/threads/workers.h"
#include "hwy/highway.h"
#include "hwy/targets.h"
#include "kernels/attention/attention.h"
#include "kernels/gemm/gemm.h"

namespace horizon {
namespace {

constexpr int64_t kGemmSize = 2048;
constexpr int64_t kSamples = 8;
constexpr int64_t kWindow = 512;

enum class Rows { kOneSample, kPacked, kSliding };

std::vector<float> Random(int64_t size) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> values(static_cast<size_t>(size));
  for (float& value : values) value = uniform(random);
  return values;
}

struct Seconds {
  double elapsed = 0;
  double processor = 0;

  Seconds operator-(const Seconds& before) const {
    return {elapsed - before.elapsed, processor - before.processor};
  }
};

Seconds Now() {
  const auto read = [](clockid_t clock) {
    timespec time{};
    CHECK(clock_gettime(clock, &time) == 0);
    return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
  };
  return {read(CLOCK_MONOTONIC), read(CLOCK_PROCESS_CPUTIME_ID)};
}

template <typename Body>
Seconds Time(const Body& body) {
  const Seconds begin = Now();
  CHECK(body().ok());
  return Now() - begin;
}

class Lane {
 public:
  explicit Lane(int workers)
      : workers_(*Workers::Create("bench", workers)),
        scratch_(static_cast<size_t>(workers) * kWorkerScratchBytes + 64) {}

  KernelContext context() {
    void* begin = scratch_.data();
    size_t room = scratch_.size();
    std::align(64, room - 64, begin, room);
    return {.workers = workers_.get(), .scratch = {static_cast<std::byte*>(begin), room}};
  }

 private:
  std::unique_ptr<Workers> workers_;
  std::vector<std::byte> scratch_;
};

struct Arrays {
  AttentionShape shape;
  std::vector<TokenRecord> records;
  std::vector<float> q, k, v, gradient, output, log_sum_exp, dot, dq, dk, dv;

  Arrays(const AttentionShape& the_shape, Rows rows) : shape(the_shape) {
    const int64_t tokens = shape.sequence;
    records.resize(static_cast<size_t>(tokens));
    int64_t begin = 0;
    for (int64_t sample = 0; sample < kSamples && rows == Rows::kPacked; ++sample) {
      // Of unequal lengths, so that samples do not begin where tiles do.
      const int64_t end = sample + 1 < kSamples ? tokens * (sample + 1) / kSamples + 7 * sample : 0;
      for (int64_t t = begin; t < (end > 0 ? end : tokens); ++t) {
        records[static_cast<size_t>(t)].position = static_cast<int32_t>(t - begin);
      }
      begin = end;
    }
    for (int64_t t = 0; t < tokens && rows != Rows::kPacked; ++t) {
      records[static_cast<size_t>(t)].position = static_cast<int32_t>(t);
    }
    q = gradient = output = dq = Random(tokens * shape.heads * shape.head_dim);
    k = v = dk = dv = Random(tokens * shape.kv_heads * shape.head_dim);
    log_sum_exp = dot = Random(tokens * shape.heads);
  }
  double ForwardFlops() const {
    double pairs = 0;
    for (const TokenRecord& record : records) {
      const int64_t seen = int64_t{record.position} + 1;
      pairs += static_cast<double>(shape.window > 0 ? std::min(shape.window, seen) : seen);
    }
    return 4.0 * pairs * static_cast<double>(shape.heads * shape.head_dim);
  }
  AttentionForward Forward() {
    return {.shape = shape,
            .records = records.data(),
            .q = q.data(),
            .k = k.data(),
            .v = v.data(),
            .output = output.data(),
            .log_sum_exp = log_sum_exp.data()};
  }
  AttentionBackward Backward() {
    return {.shape = shape,
            .records = records.data(),
            .q = q.data(),
            .k = k.data(),
            .v = v.data(),
            .output = output.data(),
            .log_sum_exp = log_sum_exp.data(),
            .output_gradient = gradient.data(),
            .output_dot = dot.data(),
            .q_gradient = dq.data(),
            .k_gradient = dk.data(),
            .v_gradient = dv.data()};
  }
};

// Holds Highway to these instruction sets; 0: all that the processor has.
void ChooseTargets(int64_t targets) {
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
}

double Median(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Calls a pass so often that it takes some 10 ms, which is `flops` each time.
template <typename Body>
Seconds TimeOfOne(double flops, const Body& body) {
  const int repeats = static_cast<int>(std::max(1.0, 2e9 / flops));
  const Seconds all = Time([&] {
    for (int i = 1; i < repeats; ++i) CHECK(body().ok());
    return body();
  });
  return {all.elapsed / repeats, all.processor / repeats};
}

// Arguments: tokens, head_dim, heads that share a key head, workers.
void AttentionShare(benchmark::State& state, Rows rows, int64_t targets) {
  const int64_t head_dim = state.range(1);
  const int64_t workers = state.range(3);
  Lane lane(static_cast<int>(workers));
  Arrays arrays({.batch = 1,
                 .sequence = state.range(0),
                 .heads = workers * state.range(2),
                 .kv_heads = workers,
                 .head_dim = head_dim,
                 .window = rows == Rows::kSliding ? kWindow : 0,
                 .scale = 1 / std::sqrt(static_cast<float>(head_dim))},
                rows);
  const std::vector<float> a = Random(kGemmSize * kGemmSize);
  std::vector<float> c(a.size());
  const Gemm gemm = {.m = kGemmSize,
                     .n = kGemmSize,
                     .k = kGemmSize,
                     .a = a.data(),
                     .a_stride = kGemmSize,
                     .b = a.data(),
                     .b_stride = kGemmSize,
                     .c = c.data(),
                     .c_stride = kGemmSize};
  const double gemm_flops = 2.0 * std::pow(static_cast<double>(kGemmSize), 3);
  const double forward_flops = arrays.ForwardFlops();
  std::vector<double> gemm_rate, forward, forward_cpu, backward, backward_cpu;
  for ([[maybe_unused]] auto iteration : state) {
    const Seconds of_gemm = Time([&] { return GemmHost(lane.context(), gemm); });
    ChooseTargets(targets);
    const Seconds of_forward = TimeOfOne(
        forward_flops, [&] { return AttentionForwardHost(lane.context(), arrays.Forward()); });
    const Seconds of_backward = TimeOfOne(2.5 * forward_flops, [&] {
      return AttentionBackwardHost(lane.context(), arrays.Backward());
    });
    ChooseTargets(0);
    const double as_forward = forward_flops / gemm_flops;
    gemm_rate.push_back(gemm_flops / of_gemm.elapsed);
    forward.push_back(as_forward * of_gemm.elapsed / of_forward.elapsed);
    forward_cpu.push_back(as_forward * of_gemm.processor / of_forward.processor);
    backward.push_back(2.5 * as_forward * of_gemm.elapsed / of_backward.elapsed);
    backward_cpu.push_back(2.5 * as_forward * of_gemm.processor / of_backward.processor);
  }
  state.counters["sgemm_flop/s"] = Median(gemm_rate);
  state.counters["forward"] = Median(forward);
  state.counters["forward_cpu"] = Median(forward_cpu);
  state.counters["backward"] = Median(backward);
  state.counters["backward_cpu"] = Median(backward_cpu);
}

void Shapes(benchmark::internal::Benchmark* benchmark, int64_t group) {
  benchmark->ArgNames({"tokens", "head_dim", "group", "workers"});
  benchmark->Unit(benchmark::kMillisecond)->UseRealTime();
  for (const int64_t workers : {1, 2}) {
    for (const int64_t head_dim : {64, 128}) {
      for (int64_t tokens = 1024; tokens <= 32768; tokens *= 2) {
        benchmark->Args({tokens, head_dim, group, workers});
      }
    }
  }
}
void OfOneHead(benchmark::internal::Benchmark* benchmark) { Shapes(benchmark, 1); }
void OfAGroup(benchmark::internal::Benchmark* benchmark) { Shapes(benchmark, 4); }

BENCHMARK_CAPTURE(AttentionShare, causal, Rows::kOneSample, 0)->Apply(OfOneHead)->MinTime(3);
BENCHMARK_CAPTURE(AttentionShare, packed, Rows::kPacked, 0)->Apply(OfOneHead)->MinTime(3);
BENCHMARK_CAPTURE(AttentionShare, window, Rows::kSliding, 0)->Apply(OfOneHead)->MinTime(3);
BENCHMARK_CAPTURE(AttentionShare, group, Rows::kOneSample, 0)->Apply(OfAGroup)->MinTime(3);
#if HWY_ARCH_X86
BENCHMARK_CAPTURE(AttentionShare, causal_avx2, Rows::kOneSample, HWY_AVX2)
    ->Apply(OfOneHead)
    ->MinTime(3);
BENCHMARK_CAPTURE(AttentionShare, packed_avx2, Rows::kPacked, HWY_AVX2)
    ->Apply(OfOneHead)
    ->MinTime(3);
BENCHMARK_CAPTURE(AttentionShare, window_avx2, Rows::kSliding, HWY_AVX2)
    ->Apply(OfOneHead)
    ->MinTime(3);
#endif

}  // namespace
}  // namespace horizon

// The matrix kernels of the host device: flop/s, and the share of what a product of 2048^3 reaches
// in the same run with the same number of workers. Arguments are sizes; 2 workers.
#include <benchmark/benchmark.h>
#include <cblas.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <new>
#include <random>
#include <span>
#include <vector>

#include "common/check.h"
#include "common/kernel_context.h"
#include "common/threads/workers.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/cached_attention.h"
#include "kernels/gemm/gemm.h"
#include "kernels/head/head_loss.h"

namespace horizon {
namespace {

constexpr int kWorkers = 2;

std::vector<float> Random(int64_t size) {
  std::mt19937 random(1);
  std::uniform_real_distribution<float> uniform(-1.0f, 1.0f);
  std::vector<float> values(static_cast<size_t>(size));
  for (float& value : values) value = uniform(random);
  return values;
}

struct Lane {
  std::unique_ptr<Workers> workers = *Workers::Create("bench", kWorkers);
  std::vector<std::byte> scratch = std::vector<std::byte>(kWorkers * kWorkerScratchBytes + 64);

  KernelContext context() {
    void* begin = scratch.data();
    size_t room = scratch.size();
    std::align(64, kWorkers * kWorkerScratchBytes, begin, room);
    return {.workers = workers.get(),
            .scratch = {static_cast<std::byte*>(begin), kWorkers * kWorkerScratchBytes}};
  }
};

double Seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

// The least of several runs: what the machine can do when nobody else is on it.
template <typename Body>
double LeastSeconds(int runs, const Body& body) {
  double least = std::numeric_limits<double>::infinity();
  for (int i = 0; i < runs; ++i) {
    const double begin = Seconds();
    body();
    least = std::min(least, Seconds() - begin);
  }
  return least;
}

constexpr int64_t kPeakSize = 2048;

Gemm PeakProduct(const std::vector<float>& a, std::vector<float>& c) {
  return {.m = kPeakSize,
          .n = kPeakSize,
          .k = kPeakSize,
          .a = a.data(),
          .a_stride = kPeakSize,
          .b = a.data(),
          .b_stride = kPeakSize,
          .c = c.data(),
          .c_stride = kPeakSize};
}

// flop/s of the largest product, measured when first asked for.
double Peak() {
  static const double peak = [] {
    Lane lane;
    const std::vector<float> a = Random(kPeakSize * kPeakSize);
    std::vector<float> c(a.size());
    const double seconds =
        LeastSeconds(8, [&] { CHECK(GemmHost(lane.context(), PeakProduct(a, c)).ok()); });
    return 2.0 * std::pow(static_cast<double>(kPeakSize), 3) / seconds;
  }();
  return peak;
}

// Runs `body` and reports by the fastest iteration, which is what the peak was taken by.
template <typename Body>
void Report(benchmark::State& state, double flops, const Body& body) {
  const double peak = Peak();
  double least = std::numeric_limits<double>::infinity();
  for ([[maybe_unused]] auto iteration : state) {
    least = std::min(least, LeastSeconds(1, body));
  }
  state.counters["best_flop/s"] = flops / least;
  state.counters["share_of_peak"] = flops / least / peak;
}

void SgemmPeak(benchmark::State& state) {
  Lane lane;
  const std::vector<float> a = Random(kPeakSize * kPeakSize);
  std::vector<float> c(a.size());
  Report(state, 2.0 * std::pow(static_cast<double>(kPeakSize), 3),
         [&] { CHECK(GemmHost(lane.context(), PeakProduct(a, c)).ok()); });
}

// Arguments: tokens, outputs, inputs of a linear layer. Beside it what OpenBLAS does with threads
// of its own, in turns.
void LinearLayer(benchmark::State& state, GemmForm form) {
  Lane lane;
  const int64_t tokens = state.range(0);
  const int64_t outputs = state.range(1);
  const int64_t inputs = state.range(2);
  const std::vector<float> x = Random(tokens * inputs);
  const std::vector<float> w = Random(outputs * inputs);
  const std::vector<float> y = Random(tokens * outputs);
  std::vector<float> result(
      static_cast<size_t>(std::max({tokens * inputs, outputs * inputs, tokens * outputs})));
  Gemm gemm = {.form = form, .m = tokens, .n = outputs, .k = inputs, .a = x.data(), .b = w.data()};
  if (form == GemmForm::kInputGradient) {
    gemm = {.form = form, .m = tokens, .n = inputs, .k = outputs, .a = y.data(), .b = w.data()};
  } else if (form == GemmForm::kWeightGradient) {
    gemm = {.form = form, .m = outputs, .n = inputs, .k = tokens, .a = y.data(), .b = x.data()};
  }
  gemm.a_stride = form == GemmForm::kWeightGradient ? gemm.m : gemm.k;
  gemm.b_stride = form == GemmForm::kForward ? gemm.k : gemm.n;
  gemm.c = result.data();
  gemm.c_stride = gemm.n;
  const double flops = 2.0 * static_cast<double>(gemm.m * gemm.n) * static_cast<double>(gemm.k);
  double blas = std::numeric_limits<double>::infinity();
  double ours = std::numeric_limits<double>::infinity();
  for ([[maybe_unused]] auto iteration : state) {
    openblas_set_num_threads(kWorkers);
    blas = std::min(
        blas, LeastSeconds(2, [&] {
          cblas_sgemm(CblasRowMajor, form == GemmForm::kWeightGradient ? CblasTrans : CblasNoTrans,
                      form == GemmForm::kForward ? CblasTrans : CblasNoTrans,
                      static_cast<int>(gemm.m), static_cast<int>(gemm.n), static_cast<int>(gemm.k),
                      1.0f, gemm.a, static_cast<int>(gemm.a_stride), gemm.b,
                      static_cast<int>(gemm.b_stride), 0.0f, gemm.c,
                      static_cast<int>(gemm.c_stride));
        }));
    openblas_set_num_threads(1);
    ours = std::min(ours, LeastSeconds(2, [&] { CHECK(GemmHost(lane.context(), gemm).ok()); }));
  }
  state.counters["best_flop/s"] = flops / ours;
  state.counters["share_of_peak"] = flops / ours / Peak();
  state.counters["share_of_openblas"] = blas / ours;
}

// Arguments as above; stored as bf16.
void WeightGradientStored(benchmark::State& state) {
  Lane lane;
  const int64_t tokens = state.range(0);
  const int64_t outputs = state.range(1);
  const int64_t inputs = state.range(2);
  const std::vector<float> x = Random(tokens * inputs);
  const std::vector<float> y = Random(tokens * outputs);
  std::vector<uint16_t> leaving(static_cast<size_t>(outputs * inputs));
  Report(state, 2.0 * static_cast<double>(tokens * outputs) * static_cast<double>(inputs), [&] {
    CHECK(WeightGradientHost(lane.context(), {.m = outputs,
                                              .n = inputs,
                                              .k = tokens,
                                              .output_gradient = y.data(),
                                              .output_stride = outputs,
                                              .input = x.data(),
                                              .input_stride = inputs,
                                              .gradient = {.bf16 = leaving.data()}})
              .ok());
  });
}

// Arguments: tokens, width. Bytes read.
void BiasGradientStored(benchmark::State& state) {
  Lane lane;
  const int64_t tokens = state.range(0);
  const int64_t width = state.range(1);
  const std::vector<float> y = Random(tokens * width);
  std::vector<float> sum(static_cast<size_t>(width));
  for ([[maybe_unused]] auto iteration : state) {
    CHECK(BiasGradientHost(lane.context(), {.tokens = tokens,
                                            .width = width,
                                            .output_gradient = y.data(),
                                            .gradient = {.sum = sum.data()}})
              .ok());
  }
  state.SetBytesProcessed(state.iterations() * tokens * width * 4);
}

// Arguments: batch, sequence, heads, key heads, head_dim, window. Flops of the pairs that are seen:
// 2 products forward, 5 backward.
struct AttentionArrays {
  AttentionShape shape;
  std::vector<TokenRecord> records;
  std::vector<float> q, k, v, gradient, output, log_sum_exp, dot, dq, dk, dv;

  explicit AttentionArrays(const benchmark::State& state) {
    shape = {.batch = state.range(0),
             .sequence = state.range(1),
             .heads = state.range(2),
             .kv_heads = state.range(3),
             .head_dim = state.range(4),
             .window = state.range(5),
             .scale = 1 / std::sqrt(static_cast<float>(state.range(4)))};
    const int64_t tokens = shape.batch * shape.sequence;
    for (int64_t t = 0; t < tokens; ++t) {
      records.push_back({.position = static_cast<int32_t>(t % shape.sequence)});
    }
    q = gradient = output = dq = Random(tokens * shape.heads * shape.head_dim);
    k = v = dk = dv = Random(tokens * shape.kv_heads * shape.head_dim);
    log_sum_exp = dot = Random(tokens * shape.heads);
  }
  double FlopsOfAProduct() const {
    double pairs = 0;
    for (int64_t t = 0; t < shape.sequence; ++t) {
      pairs += static_cast<double>(shape.window > 0 ? std::min(shape.window, t + 1) : t + 1);
    }
    return 2.0 * pairs * static_cast<double>(shape.batch * shape.heads * shape.head_dim);
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

void AttendForward(benchmark::State& state) {
  Lane lane;
  AttentionArrays arrays(state);
  Report(state, 2 * arrays.FlopsOfAProduct(),
         [&] { CHECK(AttentionForwardHost(lane.context(), arrays.Forward()).ok()); });
}

void AttendBackward(benchmark::State& state) {
  Lane lane;
  AttentionArrays arrays(state);
  CHECK(AttentionForwardHost(lane.context(), arrays.Forward()).ok());
  Report(state, 5 * arrays.FlopsOfAProduct(),
         [&] { CHECK(AttentionBackwardHost(lane.context(), arrays.Backward()).ok()); });
}

// Arguments: rows, places, heads, key heads, head_dim. Bytes of keys and values read.
void AttendToCache(benchmark::State& state) {
  Lane lane;
  const int64_t rows = state.range(0);
  const int64_t places = state.range(1);
  const int64_t heads = state.range(2);
  const int64_t kv_heads = state.range(3);
  const int64_t width = state.range(4);
  std::vector<float> k = Random(rows * places * kv_heads * width);
  std::vector<float> v = k;
  const std::vector<float> q = Random(rows * heads * width);
  std::vector<float> output(q.size());
  const std::vector<TokenRecord> records(static_cast<size_t>(rows),
                                         TokenRecord{.position = static_cast<int32_t>(places - 1)});
  for ([[maybe_unused]] auto iteration : state) {
    CHECK(CachedAttentionHost(lane.context(), {.cache = {.batch = rows,
                                                         .places = places,
                                                         .kv_heads = kv_heads,
                                                         .head_dim = width,
                                                         .k = k.data(),
                                                         .v = v.data()},
                                               .heads = heads,
                                               .scale = 0.125f,
                                               .records = records.data(),
                                               .q = q.data(),
                                               .output = output.data()})
              .ok());
  }
  state.SetBytesProcessed(state.iterations() * rows * places * kv_heads * width * 8);
}

// Adds up an array with all workers: how fast it can be read at all.
void PlainRead(Workers& workers, const std::vector<float>& values, std::vector<double>& sums) {
  workers.Run(kWorkers, [&](int64_t piece, int) {
    const size_t part = values.size() / kWorkers;
    const float* from = values.data() + static_cast<size_t>(piece) * part;
    float lanes[32] = {};
    for (size_t i = 0; i + 32 <= part; i += 32) {
      for (size_t j = 0; j < 32; ++j) lanes[j] += from[i + j];
    }
    for (const float each : lanes) sums[static_cast<size_t>(piece)] += double{each};
  });
}

// Arguments: tokens, outputs, inputs. Few tokens are bound by reading the weights.
void LinearLayerOfFewTokens(benchmark::State& state) {
  Lane lane;
  const int64_t tokens = state.range(0);
  const int64_t outputs = state.range(1);
  const int64_t inputs = state.range(2);
  const std::vector<float> x = Random(tokens * inputs);
  const std::vector<float> w = Random(outputs * inputs);
  std::vector<float> y(static_cast<size_t>(tokens * outputs));
  double ours = std::numeric_limits<double>::infinity();
  double plain = ours;
  std::vector<double> sums(kWorkers);
  const Gemm gemm = {.m = tokens,
                     .n = outputs,
                     .k = inputs,
                     .a = x.data(),
                     .a_stride = inputs,
                     .b = w.data(),
                     .b_stride = inputs,
                     .c = y.data(),
                     .c_stride = outputs};
  for ([[maybe_unused]] auto iteration : state) {
    ours = std::min(ours, LeastSeconds(1, [&] { CHECK(GemmHost(lane.context(), gemm).ok()); }));
    plain = std::min(plain, LeastSeconds(1, [&] { PlainRead(*lane.workers, w, sums); }));
    benchmark::DoNotOptimize(sums.data());
  }
  state.counters["best_bytes/s"] = 4.0 * static_cast<double>(w.size()) / ours;
  state.counters["share_of_plain_read"] = plain / ours;
}

// Arguments: tokens, hidden, vocabulary. Three products.
void LossOfHead(benchmark::State& state) {
  Lane lane;
  const int64_t tokens = state.range(0);
  const int64_t hidden = state.range(1);
  const int64_t rows = state.range(2);
  const std::vector<float> input = Random(tokens * hidden);
  const std::vector<float> weights = Random(rows * hidden);
  std::vector<TokenRecord> records(static_cast<size_t>(tokens), TokenRecord{.label = 3});
  std::vector<TokenSums> sums(static_cast<size_t>(tokens));
  std::vector<float> logits(static_cast<size_t>(tokens * rows));
  std::vector<float> input_gradient(input.size());
  std::vector<float> weight_gradient(weights.size());
  LossSum loss;
  Report(state, 6.0 * static_cast<double>(tokens * hidden) * static_cast<double>(rows), [&] {
    CHECK(HeadLossHost(lane.context(), {.shape = {.tokens = tokens, .hidden = hidden, .rows = rows},
                                        .input = input.data(),
                                        .weights = weights.data(),
                                        .records = records.data(),
                                        .sums = sums.data(),
                                        .logits = logits.data(),
                                        .loss = &loss,
                                        .input_gradient = input_gradient.data(),
                                        .weight_gradient = weight_gradient.data(),
                                        .first_chunk = true})
              .ok());
  });
}

// Of models of 22M, 134M and 0.5G parameters.
void Layers(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"tokens", "out", "in"});
  for (const auto& [out, in] : {std::pair<int64_t, int64_t>{384, 384},
                                {1152, 384},
                                {384, 1536},
                                {576, 576},
                                {1536, 576},
                                {896, 896},
                                {4864, 896},
                                {896, 4864}}) {
    benchmark->Args({1024, out, in});
  }
}

BENCHMARK(SgemmPeak)->Unit(benchmark::kMillisecond)->UseRealTime();
BENCHMARK_CAPTURE(LinearLayer, forward, GemmForm::kForward)->Apply(Layers)->UseRealTime();
BENCHMARK_CAPTURE(LinearLayer, input_gradient, GemmForm::kInputGradient)
    ->Apply(Layers)
    ->UseRealTime();
BENCHMARK_CAPTURE(LinearLayer, weight_gradient, GemmForm::kWeightGradient)
    ->Apply(Layers)
    ->UseRealTime();
BENCHMARK(WeightGradientStored)->Apply(Layers)->UseRealTime();
BENCHMARK(BiasGradientStored)->Args({1024, 896})->Args({1024, 4864})->UseRealTime();

void Attentions(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"batch", "sequence", "heads", "kv_heads", "head_dim", "window"});
  benchmark->Args({8, 256, 6, 6, 64, 0});
  benchmark->Args({4, 256, 9, 3, 64, 0});
  benchmark->Args({1, 512, 14, 2, 64, 0});
  benchmark->Args({1, 1024, 14, 2, 64, 0});
  benchmark->Args({1, 4096, 2, 2, 128, 0});
  benchmark->Args({1, 4096, 2, 2, 64, 1024});
}
BENCHMARK(AttendForward)->Apply(Attentions)->UseRealTime();
BENCHMARK(AttendBackward)->Apply(Attentions)->UseRealTime();

BENCHMARK(AttendToCache)
    ->ArgNames({"rows", "places", "heads", "kv_heads", "head_dim"})
    ->Args({1, 1024, 9, 3, 64})
    ->Args({1, 8192, 14, 2, 64})
    ->Args({8, 1024, 32, 8, 128})
    ->UseRealTime();
BENCHMARK(LinearLayerOfFewTokens)
    ->ArgNames({"tokens", "out", "in"})
    ->ArgsProduct({{1, 2, 4, 8, 9, 16}, {49152}, {576}})
    ->Args({1, 14336, 4096})
    ->UseRealTime();

BENCHMARK(LossOfHead)
    ->ArgNames({"tokens", "hidden", "vocabulary"})
    ->Args({128, 896, 16384})
    ->Args({512, 896, 16384})
    ->Args({1024, 384, 16384})
    ->Args({1024, 576, 16384})
    ->Unit(benchmark::kMillisecond)
    ->UseRealTime();

}  // namespace
}  // namespace horizon

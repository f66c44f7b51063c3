// A stage of experts on the host device as a share of the rate of sgemm. All are measured in turns,
// in one process with the same number of workers: every iteration times a dense GEMM with as many
// flops as a forward pass of the stage, the stage's grouped multiplies and its other passes, and
// the counters are medians over iterations.
//
//   forward, input_gradient, weight_gradient   flop/s of the grouped multiplies / flop/s of the
//   GEMM sort_forward, sort_backward                dispatch and combine as a share of the time of
//   all
//                                              passes of the stage
//   rest_forward, rest_backward                the same of the router and the gated linear unit
//   ..._cpu                                    the same by processor time, for a machine that
//                                              others use too
//
// Tokens are routed by random logits, so experts have unequal numbers of rows: on average tokens x
// top / experts. The names with `avx2` hold the kernels to AVX2, which is what OpenBLAS 0.3.21 uses
// on processors it does not know.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "common/check.h"
#include "common/kernel_context.h"
#include "common/threads/workers.h"
#include "hwy/highway.h"
#include "hwy/targets.h"
#include "kernels/experts/dispatch.h"
#include "kernels/experts/expert_gemm.h"
#include "kernels/experts/expert_glu.h"
#include "kernels/experts/router.h"
#include "kernels/gemm/gemm.h"

namespace horizon {
namespace {

std::vector<float> Random(int64_t size) {
  std::mt19937 random(static_cast<uint32_t>(size));
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
  Seconds operator+(const Seconds& other) const {
    return {elapsed + other.elapsed, processor + other.processor};
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

// The weights of an expert are gate and up [2 x width, hidden], and down [hidden, width].
struct Stage {
  int64_t tokens, hidden, experts, width, top;
  int64_t rows = tokens * top;
  std::vector<float> x = Random(tokens * hidden);
  std::vector<float> weights = Random(experts * 3 * width * hidden);
  std::vector<float> weight_gradients = Random(experts * 3 * width * hidden);
  std::vector<float> logits = Random(tokens * experts);
  std::vector<float> probabilities = std::vector<float>(logits.size());
  std::vector<float> logit_gradients = std::vector<float>(logits.size());
  std::vector<int32_t> chosen = std::vector<int32_t>(static_cast<size_t>(rows));
  std::vector<float> pair_weights = Random(rows);
  std::vector<float> pair_gradients = Random(rows);
  std::vector<int32_t> begins = std::vector<int32_t>(static_cast<size_t>(experts) + 1);
  std::vector<int32_t> row_pairs = chosen;
  std::vector<int32_t> row_tokens = chosen;
  std::vector<int32_t> pair_rows = chosen;
  std::vector<float> gate_up = Random(rows * 2 * width);
  std::vector<float> gate_up_gradients = Random(rows * 2 * width);
  std::vector<float> activated = Random(rows * width);
  std::vector<float> activated_gradients = Random(rows * width);
  std::vector<float> wide_rows = Random(rows * hidden);  // outputs, or gradients of the input
  std::vector<float> sum = Random(tokens * hidden);

  double Flops() const { return 2.0 * static_cast<double>(rows * 3 * width * hidden); }

  ExpertGemm Rows(const float* a, int64_t a_stride, bool gathered, int64_t n, float* c) const {
    return {.experts = experts,
            .begins = begins.data(),
            .most_rows = rows,
            .n = n,
            .k = a_stride,
            .a = a,
            .a_stride = a_stride,
            .a_rows = gathered ? row_tokens.data() : nullptr,
            .b_expert_stride = 3 * width * hidden,
            .c = c,
            .c_stride = n};
  }
  const float* Down() const { return weights.data() + 2 * width * hidden; }

  absl::Status Route(const KernelContext& context) {
    return RouterForwardHost(context, {.tokens = tokens,
                                       .experts = experts,
                                       .per_token = top,
                                       .logits = logits.data(),
                                       .probabilities = probabilities.data(),
                                       .chosen = chosen.data(),
                                       .weights = pair_weights.data()});
  }
  absl::Status RouteBackward(const KernelContext& context) {
    return RouterBackwardHost(context, {.tokens = tokens,
                                        .experts = experts,
                                        .per_token = top,
                                        .probabilities = probabilities.data(),
                                        .chosen = chosen.data(),
                                        .weights = pair_weights.data(),
                                        .weight_gradient = pair_gradients.data(),
                                        .logit_gradient = logit_gradients.data()});
  }
  absl::Status Sort(const KernelContext& context) {
    return DispatchHost(context, {.tokens = tokens,
                                  .experts = experts,
                                  .per_token = top,
                                  .chosen = chosen.data(),
                                  .begins = begins.data(),
                                  .row_pairs = row_pairs.data(),
                                  .row_tokens = row_tokens.data(),
                                  .pair_rows = pair_rows.data()});
  }
  absl::Status Combine(const KernelContext& context) {
    return CombinePairsHost(context, {.tokens = tokens,
                                      .per_token = top,
                                      .width = hidden,
                                      .end_expert = experts,
                                      .chosen = chosen.data(),
                                      .pair_rows = pair_rows.data(),
                                      .rows = wide_rows.data(),
                                      .sum = sum.data()});
  }
  absl::Status Forward(const KernelContext& context) {
    ExpertGemm into = Rows(x.data(), hidden, true, 2 * width, gate_up.data());
    into.b = weights.data();
    into.b_transposed = Transposed::kYes;
    into.b_stride = hidden;
    CHECK(ExpertGemmHost(context, into).ok());
    return Output(context);
  }
  absl::Status Output(const KernelContext& context) {
    ExpertGemm out = Rows(activated.data(), width, false, hidden, wide_rows.data());
    out.b = Down();
    out.b_transposed = Transposed::kYes;
    out.b_stride = width;
    return ExpertGemmHost(context, out);
  }
  absl::Status InputGradient(const KernelContext& context) {
    ExpertGemm out = Rows(x.data(), hidden, true, width, activated_gradients.data());
    out.b = Down();
    out.b_stride = width;
    CHECK(ExpertGemmHost(context, out).ok());
    ExpertGemm into = Rows(gate_up_gradients.data(), 2 * width, false, hidden, wide_rows.data());
    into.b = weights.data();
    into.b_stride = hidden;
    return ExpertGemmHost(context, into);
  }
  absl::Status WeightGradient(const KernelContext& context) {
    ExpertWeightGradient of = {.experts = experts,
                               .begins = begins.data(),
                               .most_rows = rows,
                               .m = 2 * width,
                               .n = hidden,
                               .a = gate_up_gradients.data(),
                               .a_stride = 2 * width,
                               .b = x.data(),
                               .b_stride = hidden,
                               .b_rows = row_tokens.data(),
                               .gradient = {.sum = weight_gradients.data()},
                               .gradient_expert_stride = 3 * width * hidden};
    CHECK(ExpertWeightGradientHost(context, of).ok());
    of.m = hidden;
    of.n = width;
    of.a = x.data();
    of.a_stride = hidden;
    of.a_rows = row_tokens.data();
    of.b = activated.data();
    of.b_stride = width;
    of.b_rows = nullptr;
    of.gradient = of.gradient.From(2 * width * hidden);
    return ExpertWeightGradientHost(context, of);
  }
  ExpertGluShape Shape() const {
    return {.width = width,
            .experts = experts,
            .begins = begins.data(),
            .most_rows = rows,
            .row_pairs = row_pairs.data(),
            .weights = pair_weights.data()};
  }
  absl::Status Activate(const KernelContext& context) {
    return ExpertGluForwardHost(
        context, {.shape = Shape(), .gate_up = gate_up.data(), .output = activated.data()});
  }
  absl::Status ActivateBackward(const KernelContext& context) {
    return ExpertGluBackwardHost(context, {.shape = Shape(),
                                           .gate_up = gate_up.data(),
                                           .output_gradient = activated_gradients.data(),
                                           .output = activated.data(),
                                           .gate_up_gradient = gate_up_gradients.data(),
                                           .weight_gradient = pair_gradients.data()});
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

struct Ratios {
  std::vector<double> elapsed;
  std::vector<double> processor;

  void Add(const Seconds& part, const Seconds& whole) {
    elapsed.push_back(part.elapsed / whole.elapsed);
    processor.push_back(part.processor / whole.processor);
  }
  void Report(benchmark::State& state, const std::string& name) const {
    state.counters[name] = Median(elapsed);
    state.counters[name + "_cpu"] = Median(processor);
  }
};

// Arguments: tokens, hidden, experts, width of an expert, experts of a token, workers.
void ExpertsShare(benchmark::State& state, int64_t targets) {
  Stage stage = {.tokens = state.range(0),
                 .hidden = state.range(1),
                 .experts = state.range(2),
                 .width = state.range(3),
                 .top = state.range(4)};
  Lane lane(static_cast<int>(state.range(5)));
  const KernelContext context = lane.context();
  // The layer that each token would meet if all its experts were one.
  const int64_t dense_width = stage.top * 3 * stage.width;
  const std::vector<float> dense = Random(dense_width * stage.hidden);
  std::vector<float> dense_output(static_cast<size_t>(stage.tokens * dense_width));
  const Gemm gemm = {.m = stage.tokens,
                     .n = dense_width,
                     .k = stage.hidden,
                     .a = stage.x.data(),
                     .a_stride = stage.hidden,
                     .b = dense.data(),
                     .b_stride = stage.hidden,
                     .c = dense_output.data(),
                     .c_stride = dense_width};
  std::vector<double> gemm_rate;
  Ratios forward, input_gradient, weight_gradient;
  Ratios sort_forward, sort_backward, rest_forward, rest_backward;
  for ([[maybe_unused]] auto iteration : state) {
    const Seconds of_gemm = Time([&] { return GemmHost(context, gemm); });
    ChooseTargets(targets);
    const Seconds of_router = Time([&] { return stage.Route(context); });
    const Seconds of_sort = Time([&] { return stage.Sort(context); });
    const Seconds of_forward = Time([&] { return stage.Forward(context); });
    const Seconds of_glu = Time([&] { return stage.Activate(context); });
    const Seconds of_combine = Time([&] { return stage.Combine(context); });
    const Seconds of_input = Time([&] { return stage.InputGradient(context); });
    const Seconds of_weights = Time([&] { return stage.WeightGradient(context); });
    const Seconds of_glu_backward = Time([&] { return stage.ActivateBackward(context); });
    const Seconds of_combine_backward = Time([&] { return stage.Combine(context); });
    const Seconds of_router_backward = Time([&] { return stage.RouteBackward(context); });
    ChooseTargets(0);
    gemm_rate.push_back(stage.Flops() / of_gemm.elapsed);
    forward.Add(of_gemm, of_forward);
    input_gradient.Add(of_gemm, of_input);
    weight_gradient.Add(of_gemm, of_weights);
    const Seconds all_forward = of_router + of_sort + of_forward + of_glu + of_combine;
    const Seconds all_backward =
        of_input + of_weights + of_glu_backward + of_combine_backward + of_router_backward;
    sort_forward.Add(of_sort + of_combine, all_forward);
    sort_backward.Add(of_combine_backward, all_backward);
    rest_forward.Add(of_router + of_glu, all_forward);
    rest_backward.Add(of_router_backward + of_glu_backward, all_backward);
  }
  state.counters["sgemm_flop/s"] = Median(gemm_rate);
  forward.Report(state, "forward");
  input_gradient.Report(state, "input_gradient");
  weight_gradient.Report(state, "weight_gradient");
  sort_forward.Report(state, "sort_forward");
  sort_backward.Report(state, "sort_backward");
  rest_forward.Report(state, "rest_forward");
  rest_backward.Report(state, "rest_backward");
}

void Shapes(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"tokens", "hidden", "experts", "width", "top", "workers"});
  benchmark->Unit(benchmark::kMillisecond)->UseRealTime()->MinTime(3);
  for (const int64_t workers : {1, 2}) {
    for (const int64_t top : {8, 4, 2, 1}) {
      benchmark->Args({2048, 1024, 128, 96, top, workers});
    }
    benchmark->Args({2048, 2048, 32, 768, 4, workers});
    benchmark->Args({8, 1024, 128, 96, 8, workers});
  }
}

BENCHMARK_CAPTURE(ExpertsShare, all, 0)->Apply(Shapes);
#if HWY_ARCH_X86
BENCHMARK_CAPTURE(ExpertsShare, avx2, HWY_AVX2)->Apply(Shapes);
#endif

}  // namespace
}  // namespace horizon

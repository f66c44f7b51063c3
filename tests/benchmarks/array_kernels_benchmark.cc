#include <benchmark/benchmark.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "common/check.h"
#include "common/kernel_context.h"
#include "kernels/activation/glu.h"
#include "kernels/elementwise/convert.h"
#include "kernels/embedding/embedding.h"
#include "kernels/norm/rms_norm.h"
#include "kernels/optimizer/adam.h"
#include "kernels/optimizer/squared_norm.h"
#include "kernels/rotary/rotary.h"

// Every kernel's bytes/s, and as `share_of_copy` its part of the rate at which the same number of
// workers copies a large array in the same run (bytes read plus bytes written, both times). The
// machine's best copy is taken, so a share above 1 means that something slowed the copies.
namespace horizon {
namespace {

constexpr int64_t kParameters = int64_t{16} << 20;

// Workers with their scratch.
class Lane {
 public:
  explicit Lane(int workers) {
    auto created = Workers::Create("benchmark", workers);
    CHECK(created.ok());
    workers_ = std::move(*created);
    scratch_.resize(static_cast<size_t>(workers) * kWorkerScratchBytes / sizeof(Line));
  }
  KernelContext context() {
    return {.workers = workers_.get(), .scratch = std::as_writable_bytes(std::span(scratch_))};
  }

 private:
  struct alignas(64) Line {
    std::array<std::byte, 64> bytes;
  };
  std::unique_ptr<Workers> workers_;
  std::vector<Line> scratch_;
};

// Bytes read and written in a second by a copy of 256 MiB; measured once for a number of workers.
double CopyRate(int workers) {
  static std::array<double, 64> rates = {};
  double& rate = rates.at(static_cast<size_t>(workers));
  if (rate > 0.0) return rate;
  Lane lane(workers);
  const std::vector<char> from(size_t{256} << 20, 1);
  std::vector<char> to(from.size());
  for (int repeat = 0; repeat < 15; ++repeat) {
    const auto begin = std::chrono::steady_clock::now();
    CHECK(CopyBytesHost(
              lane.context(),
              {.bytes = static_cast<int64_t>(from.size()), .from = from.data(), .to = to.data()})
              .ok());
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
    rate = std::max(rate, 2.0 * static_cast<double>(from.size()) / passed.count());
  }
  return rate;
}

// Runs `kernel(context)`, which moves `bytes`, with as many workers as the argument says.
template <class Kernel>
void Measure(benchmark::State& state, int64_t bytes, const Kernel& kernel) {
  const int workers = static_cast<int>(state.range(0));
  const double copy_rate = CopyRate(workers);
  Lane lane(workers);
  const KernelContext context = lane.context();
  CHECK(kernel(context).ok());
  const auto begin = std::chrono::steady_clock::now();
  for (auto _ : state) CHECK(kernel(context).ok());
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin;
  const double moved = static_cast<double>(bytes) * static_cast<double>(state.iterations());
  state.SetBytesProcessed(static_cast<int64_t>(moved));
  state.counters["share_of_copy"] = moved / passed.count() / copy_rate;
}

std::vector<float> Values(int64_t count) {
  std::vector<float> values(static_cast<size_t>(count));
  uint32_t x = 1;
  for (float& value : values) {
    x = x * 1664525 + 1013904223;
    value = static_cast<float>(static_cast<int32_t>(x)) * 0x1p-31f;
  }
  return values;
}

void BM_CopyBytes(benchmark::State& state) {
  const std::vector<float> from = Values(kParameters);
  std::vector<float> to(from.size());
  const int64_t bytes = kParameters * 4;
  Measure(state, 2 * bytes, [&](const KernelContext& context) {
    return CopyBytesHost(context, {.bytes = bytes, .from = from.data(), .to = to.data()});
  });
}

// Arguments: workers, whether the low half is there.
void BM_ExpandWeights(benchmark::State& state) {
  const std::vector<uint16_t> hi(kParameters, 0x3F80);
  const std::vector<int16_t> lo(kParameters, 1);
  std::vector<float> weights(kParameters);
  const bool both = state.range(1) != 0;
  Measure(state, kParameters * (both ? 8 : 6), [&](const KernelContext& context) {
    return ExpandWeightsHost(context, {.count = kParameters,
                                       .hi = hi.data(),
                                       .lo = both ? lo.data() : nullptr,
                                       .weights = weights.data()});
  });
}

// bf16 gradients into or onto fp32 ones. Arguments: workers, add.
void BM_Accumulate(benchmark::State& state) {
  const std::vector<uint16_t> gradient(kParameters, 0x3F80);
  std::vector<float> kept(kParameters);
  const bool add = state.range(1) != 0;
  Measure(state, kParameters * (add ? 10 : 6), [&](const KernelContext& context) {
    return AccumulateHost(context, {.count = kParameters,
                                    .gradient_bf16 = gradient.data(),
                                    .add = add,
                                    .kept_fp32 = kept.data()});
  });
}

void BM_StoreGradientAsBf16(benchmark::State& state) {
  const std::vector<float> sum = Values(kParameters);
  std::vector<uint16_t> leaving(kParameters);
  Measure(state, kParameters * 6, [&](const KernelContext& context) {
    return StoreGradientHost(
        context, {.count = kParameters, .sum = sum.data(), .gradient = {.bf16 = leaving.data()}});
  });
}

void BM_Scale(benchmark::State& state) {
  std::vector<float> values = Values(kParameters);
  Measure(state, kParameters * 8, [&](const KernelContext& context) {
    return ScaleHost(context, {.count = kParameters, .factor = 1.0f, .values = values.data()});
  });
}

void BM_SquaredNormFp32(benchmark::State& state) {
  const std::vector<float> values = Values(kParameters);
  std::vector<double> partials(kParameters / 65536 + 1);
  Measure(state, kParameters * 4, [&](const KernelContext& context) {
    return SquaredNormHost(
        context, {.count = kParameters, .fp32 = values.data(), .partials = partials.data()});
  });
}

void BM_SquaredNormBf16(benchmark::State& state) {
  const std::vector<uint16_t> values(kParameters, 0x3F80);
  std::vector<double> partials(kParameters / 65536 + 1);
  Measure(state, kParameters * 2, [&](const KernelContext& context) {
    return SquaredNormHost(
        context, {.count = kParameters, .bf16 = values.data(), .partials = partials.data()});
  });
}

constexpr int64_t kRows = 8192;
constexpr int64_t kWidth = 2048;

void BM_RmsNormForward(benchmark::State& state) {
  const std::vector<float> x = Values(kRows * kWidth);
  const std::vector<float> weight = Values(kWidth);
  std::vector<float> y(x.size());
  std::vector<float> inverse(kRows);
  Measure(state, kRows * kWidth * 8, [&](const KernelContext& context) {
    return RmsNormForwardHost(context, {.rows = kRows,
                                        .width = kWidth,
                                        .x = x.data(),
                                        .weight = weight.data(),
                                        .y = y.data(),
                                        .inverse_rms = inverse.data()});
  });
}

void BM_RmsNormBackward(benchmark::State& state) {
  const std::vector<float> x = Values(kRows * kWidth);
  const std::vector<float> y_gradient = Values(kRows * kWidth);
  const std::vector<float> weight = Values(kWidth);
  const std::vector<float> inverse(kRows, 1.7f);
  std::vector<float> x_gradient(x.size());
  std::vector<float> weight_gradient(kWidth);
  Measure(state, kRows * kWidth * 16, [&](const KernelContext& context) {
    return RmsNormBackwardHost(context, {.rows = kRows,
                                         .width = kWidth,
                                         .x = x.data(),
                                         .inverse_rms = inverse.data(),
                                         .weight = weight.data(),
                                         .y_gradient = y_gradient.data(),
                                         .residual_gradient = x_gradient.data(),
                                         .x_gradient = x_gradient.data(),
                                         .weight_gradient = {.sum = weight_gradient.data()}});
  });
}

void BM_Rotary(benchmark::State& state) {
  constexpr int64_t kSequence = 2048;
  constexpr int64_t kHeadDim = 128;
  std::vector<float> x = Values(kRows * kWidth);
  std::vector<float> table(kSequence * kHeadDim);
  FillRotaryTable(Values(kHeadDim / 2), 1.0f, kSequence, table);
  std::vector<TokenRecord> records(kRows);
  for (int32_t t = 0; t < kRows; ++t) records[static_cast<size_t>(t)].position = t % kSequence;
  Measure(state, kRows * kWidth * 8, [&](const KernelContext& context) {
    return ApplyRotaryHost(context, {.tokens = kRows,
                                     .heads = kWidth / kHeadDim,
                                     .head_dim = kHeadDim,
                                     .rotary_dim = kHeadDim,
                                     .records = records.data(),
                                     .table = table.data(),
                                     .x = x.data()});
  });
}

void BM_GluForward(benchmark::State& state) {
  const std::vector<float> gate = Values(kParameters);
  const std::vector<float> up = Values(kParameters);
  std::vector<float> output(gate.size());
  Measure(state, kParameters * 12, [&](const KernelContext& context) {
    return GluForwardHost(
        context,
        {.count = kParameters, .gate = gate.data(), .up = up.data(), .output = output.data()});
  });
}

void BM_GluBackward(benchmark::State& state) {
  const std::vector<float> gate = Values(kParameters);
  const std::vector<float> up = Values(kParameters);
  std::vector<float> gradient = Values(kParameters);
  std::vector<float> output(gate.size());
  std::vector<float> up_gradient(gate.size());
  Measure(state, kParameters * 24, [&](const KernelContext& context) {
    return GluBackwardHost(context, {.count = kParameters,
                                     .gate = gate.data(),
                                     .up = up.data(),
                                     .output_gradient = gradient.data(),
                                     .output = output.data(),
                                     .gate_gradient = gradient.data(),
                                     .up_gradient = up_gradient.data()});
  });
}

// A micro-batch of tokens whose ids repeat: a few are frequent, most are rare.
std::vector<TokenRecord> Tokens(int64_t vocabulary) {
  std::vector<TokenRecord> records(kRows);
  const std::vector<float> values = Values(kRows);
  for (size_t t = 0; t < records.size(); ++t) {
    const float skewed = values[t] * values[t] * values[t] * values[t];
    records[t].id = static_cast<int32_t>(skewed * static_cast<float>(vocabulary - 1));
  }
  LinkSameTokens(records);
  return records;
}

void BM_GatherRows(benchmark::State& state) {
  constexpr int64_t kVocabulary = 16384;
  const std::vector<TokenRecord> records = Tokens(kVocabulary);
  const std::vector<uint16_t> hi(kVocabulary * kWidth, 0x3F80);
  std::vector<float> output(kRows * kWidth);
  Measure(state, kRows * kWidth * 6, [&](const KernelContext& context) {
    return GatherRowsHost(context, {.tokens = kRows,
                                    .hidden = kWidth,
                                    .rows = kVocabulary,
                                    .records = records.data(),
                                    .hi = hi.data(),
                                    .output = output.data()});
  });
}

void BM_EmbedBackward(benchmark::State& state) {
  constexpr int64_t kVocabulary = 16384;
  const std::vector<TokenRecord> records = Tokens(kVocabulary);
  const std::vector<float> gradient = Values(kRows * kWidth);
  std::vector<uint16_t> leaving(kVocabulary * kWidth);
  Measure(state, kRows * kWidth * 4 + kVocabulary * kWidth * 2, [&](const KernelContext& context) {
    return EmbedBackwardHost(context, {.tokens = kRows,
                                       .hidden = kWidth,
                                       .rows = kVocabulary,
                                       .records = records.data(),
                                       .output_gradient = gradient.data(),
                                       .gradient = {.bf16 = leaving.data()}});
  });
}

// Arguments: workers, moment type, whether gradients are bf16. Also parameters in a second.
void BM_Adam(benchmark::State& state) {
  const auto moments = static_cast<MomentType>(state.range(1));
  const bool bf16 = state.range(2) != 0;
  const int64_t moment_bytes = moments == MomentType::kFp32   ? 4
                               : moments == MomentType::kBf16 ? 2
                                                              : 1;
  const std::vector<float> gradient = Values(kParameters);
  const std::vector<uint16_t> gradient_bf16(kParameters, 0x3A80);
  std::vector<uint16_t> hi(kParameters, 0x3F80);
  std::vector<int16_t> lo(kParameters);
  std::vector<char> m(static_cast<size_t>(kParameters * moment_bytes));
  std::vector<char> v(m.size());
  std::vector<float> m_scales(kParameters / kAdamBlock);
  std::vector<float> v_scales(kParameters / kAdamBlock);
  int64_t step = 0;
  const int64_t bytes = (bf16 ? 2 : 4) + 2 * (4 + 2 * moment_bytes);
  Measure(state, kParameters * bytes, [&](const KernelContext& context) {
    ++step;
    return AdamUpdateHost(context, {.count = kParameters,
                                    .key = 1,
                                    .constants = AdamConstantsOf({.step = step}),
                                    .step = step,
                                    .gradient_fp32 = bf16 ? nullptr : gradient.data(),
                                    .gradient_bf16 = bf16 ? gradient_bf16.data() : nullptr,
                                    .hi = hi.data(),
                                    .lo = lo.data(),
                                    .moments = moments,
                                    .m = m.data(),
                                    .v = v.data(),
                                    .m_scales = m_scales.data(),
                                    .v_scales = v_scales.data()});
  });
  state.counters["parameters"] =
      benchmark::Counter(static_cast<double>(kParameters) * static_cast<double>(state.iterations()),
                         benchmark::Counter::kIsRate);
}

#define ARRAY_KERNEL(name) BENCHMARK(name)->Arg(1)->Arg(2)->UseRealTime()
ARRAY_KERNEL(BM_CopyBytes);
BENCHMARK(BM_ExpandWeights)->ArgsProduct({{1, 2}, {0, 1}})->UseRealTime();
BENCHMARK(BM_Accumulate)->ArgsProduct({{1, 2}, {0, 1}})->UseRealTime();
ARRAY_KERNEL(BM_StoreGradientAsBf16);
ARRAY_KERNEL(BM_Scale);
ARRAY_KERNEL(BM_SquaredNormFp32);
ARRAY_KERNEL(BM_SquaredNormBf16);
ARRAY_KERNEL(BM_RmsNormForward);
ARRAY_KERNEL(BM_RmsNormBackward);
ARRAY_KERNEL(BM_Rotary);
ARRAY_KERNEL(BM_GluForward);
ARRAY_KERNEL(BM_GluBackward);
ARRAY_KERNEL(BM_GatherRows);
ARRAY_KERNEL(BM_EmbedBackward);
BENCHMARK(BM_Adam)
    ->ArgNames({"workers", "moments", "bf16_gradients"})
    ->ArgsProduct({{1, 2}, {0, 1, 2}, {0, 1}})
    ->UseRealTime();

}  // namespace
}  // namespace horizon

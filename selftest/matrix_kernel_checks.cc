// Matrix multiplies, attention and the head.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

#include "selftest/kernel_checks.h"

namespace horizon {
namespace {

using Side = KernelComparison::Side;

// More than a tile and no multiple of one.
constexpr int64_t kTokens = 141;

// A row of two samples.
std::vector<TokenRecord> Tokens(int64_t count, int64_t vocabulary) {
  std::vector<TokenRecord> tokens(static_cast<size_t>(count));
  for (int64_t t = 0; t < count; ++t) {
    TokenRecord& token = tokens[static_cast<size_t>(t)];
    token.id = static_cast<int32_t>(t % vocabulary);
    token.label = t % 4 == 1 ? -100 : static_cast<int32_t>(t * 7 % vocabulary);
    token.position = static_cast<int32_t>(t < 20 ? t : t - 20);
  }
  return tokens;
}

void Gemm(KernelCheckEnvironment& environment, Findings& findings) {
  constexpr int64_t kIn = 200;
  constexpr int64_t kOut = 72;
  KernelComparison comparison(environment, "products", findings);
  const Array input = comparison.AddValues(kTokens * kIn);
  const Array weights = comparison.AddValues(kOut * kIn);
  const Array bias = comparison.AddValues(kOut);
  const Array residual = comparison.AddValues(kTokens * kOut, 8);
  const Array output = comparison.AddValues(kTokens * kOut);
  const Array output_gradient = comparison.AddValues(kTokens * kOut);
  const Array input_gradient = comparison.AddValues(kTokens * kIn);
  const Array weight_gradient = comparison.AddFp32(kOut * kIn);
  const bool ran =
      comparison.Run([&](const KernelTable& k, const KernelContext& c, const Side& at) {
        absl::Status status = k.gemm(c, {.form = GemmForm::kForward,
                                         .m = kTokens,
                                         .n = kOut,
                                         .k = kIn,
                                         .a = at.ValuesOf(input),
                                         .a_stride = kIn,
                                         .b = at.ValuesOf(weights),
                                         .b_stride = kIn,
                                         .c = at.ValuesOf(output),
                                         .c_stride = kOut,
                                         .bias = at.ValuesOf(bias),
                                         .initial = at.ValuesOf(residual)});
        if (!status.ok()) return status;
        status = k.gemm(c, {.form = GemmForm::kInputGradient,
                            .m = kTokens,
                            .n = kIn,
                            .k = kOut,
                            .a = at.ValuesOf(output_gradient),
                            .a_stride = kOut,
                            .b = at.ValuesOf(weights),
                            .b_stride = kIn,
                            .c = at.ValuesOf(input_gradient),
                            .c_stride = kIn});
        if (!status.ok()) return status;
        return k.weight_gradient(c, {.m = kOut,
                                     .n = kIn,
                                     .k = kTokens,
                                     .output_gradient = at.ValuesOf(output_gradient),
                                     .output_stride = kOut,
                                     .input = at.ValuesOf(input),
                                     .input_stride = kIn,
                                     .gradient = {.sum = at.As<float>(weight_gradient)}});
      });
  if (!ran) return;
  for (const Array result : {output, input_gradient, weight_gradient}) {
    comparison.ExpectClose(result, kRoundedOnce);
  }
}

enum class Sinks { kNone, kSome };

template <int64_t kWindow, Sinks kSinks = Sinks::kNone>
void Attention(KernelCheckEnvironment& environment, Findings& findings) {
  constexpr AttentionShape kShape{.batch = 2,
                                  .sequence = kTokens,
                                  .heads = 4,
                                  .kv_heads = 2,
                                  .head_dim = 24,
                                  .window = kWindow,
                                  .scale = 0.2F};
  constexpr int64_t kQuery = kShape.batch * kTokens * kShape.heads * kShape.head_dim;
  constexpr int64_t kKey = kShape.batch * kTokens * kShape.kv_heads * kShape.head_dim;
  constexpr int64_t kScalars = kShape.batch * kTokens * kShape.heads;
  constexpr bool kHasSinks = kSinks == Sinks::kSome;
  KernelComparison comparison(environment,
                              kHasSinks      ? "attention with sinks"
                              : kWindow == 0 ? "attention"
                                             : "attention with a window",
                              findings);
  std::vector<TokenRecord> tokens = Tokens(kTokens, 50);
  tokens.insert(tokens.end(), tokens.begin(), tokens.end());
  const Array records = comparison.AddPlain(tokens);
  const Array q = comparison.AddValues(kQuery);
  const Array k = comparison.AddValues(kKey);
  const Array v = comparison.AddValues(kKey);
  const Array output = comparison.AddValues(kQuery);
  const Array log_sum_exp = comparison.AddFp32(kScalars);
  const Array output_gradient = comparison.AddValues(kQuery);
  const Array output_dot = comparison.AddFp32(kScalars);
  const Array q_gradient = comparison.AddValues(kQuery);
  const Array k_gradient = comparison.AddValues(kKey);
  const Array v_gradient = comparison.AddValues(kKey);
  const Array sinks = comparison.AddValues(kShape.heads, 2);
  const Array sinks_gradient = comparison.AddFp32(kShape.heads);
  const bool ran =
      comparison.Run([&](const KernelTable& table, const KernelContext& c, const Side& at) {
        const ConstValues some_sinks = kHasSinks ? at.ValuesOf(sinks) : Values();
        absl::Status status =
            table.attention_forward(c, {.shape = kShape,
                                        .records = at.As<TokenRecord>(records),
                                        .q = at.ValuesOf(q),
                                        .k = at.ValuesOf(k),
                                        .v = at.ValuesOf(v),
                                        .sinks = some_sinks,
                                        .output = at.ValuesOf(output),
                                        .log_sum_exp = at.As<float>(log_sum_exp)});
        if (!status.ok()) return status;
        return table.attention_backward(
            c, {.shape = kShape,
                .records = at.As<TokenRecord>(records),
                .q = at.ValuesOf(q),
                .k = at.ValuesOf(k),
                .v = at.ValuesOf(v),
                .sinks = some_sinks,
                .output = at.ValuesOf(output),
                .log_sum_exp = at.As<float>(log_sum_exp),
                .output_gradient = at.ValuesOf(output_gradient),
                .output_dot = at.As<float>(output_dot),
                .q_gradient = at.ValuesOf(q_gradient),
                .k_gradient = at.ValuesOf(k_gradient),
                .v_gradient = at.ValuesOf(v_gradient),
                .sinks_gradient = {.sum = kHasSinks ? at.As<float>(sinks_gradient) : nullptr}});
      });
  if (!ran) return;
  comparison.ExpectClose(log_sum_exp, kRoundedOnce);
  comparison.ExpectClose(output, kRoundedInside);
  comparison.ExpectClose(v_gradient, kRoundedInside);
  // The gradients of the scores of a sample's first tokens are small differences. With a sink, one
  // of their two terms comes from an output that was rounded.
  constexpr Tolerance kOfScores = kHasSinks ? Tolerance{2 * kRoundedInside.units} : kRoundedInside;
  comparison.ExpectClose(q_gradient, kOfScores);
  comparison.ExpectClose(k_gradient, kOfScores);
  if (kHasSinks) comparison.ExpectClose(sinks_gradient, kRoundedInside);
}

void Cache(KernelCheckEnvironment& environment, Findings& findings) {
  constexpr int64_t kPlaces = 300;  // more than a tile
  constexpr int64_t kHeads = 4;
  constexpr int64_t kKeyWidth = int64_t{2} * 24;
  constexpr int64_t kBatch = 2;
  KernelComparison comparison(environment, "cached attention", findings);
  std::vector<TokenRecord> prompt(kBatch * kTokens);
  for (int64_t t = 0; t < kBatch * kTokens; ++t) {
    prompt[static_cast<size_t>(t)].position = static_cast<int32_t>(t % kTokens);
  }
  std::vector<TokenRecord> next(kBatch);
  for (TokenRecord& token : next) token.position = kPlaces - 7;
  const Array prompt_records = comparison.AddPlain(prompt);
  const Array next_records = comparison.AddPlain(next);
  const Array keys = comparison.AddValues(kBatch * kPlaces * kKeyWidth);
  const Array values = comparison.AddValues(kBatch * kPlaces * kKeyWidth);
  const Array k = comparison.AddValues(kBatch * kTokens * kKeyWidth);
  const Array v = comparison.AddValues(kBatch * kTokens * kKeyWidth);
  const Array q = comparison.AddValues(kBatch * kHeads * 24);
  const Array output = comparison.AddValues(kBatch * kHeads * 24);
  const Array sinks = comparison.AddValues(kHeads, 8);  // as large as the sum over all places
  const Array output_with_sinks = comparison.AddValues(kBatch * kHeads * 24);
  const bool ran =
      comparison.Run([&](const KernelTable& table, const KernelContext& c, const Side& at) {
        const KvCache cache{.batch = kBatch,
                            .places = kPlaces,
                            .kv_heads = 2,
                            .head_dim = 24,
                            .k = at.ValuesOf(keys),
                            .v = at.ValuesOf(values)};
        absl::Status status = table.store_keys(c, {.cache = cache,
                                                   .sequence = kTokens,
                                                   .records = at.As<TokenRecord>(prompt_records),
                                                   .k = at.ValuesOf(k),
                                                   .v = at.ValuesOf(v)});
        if (!status.ok()) return status;
        CachedAttention attention = {.cache = cache,
                                     .heads = kHeads,
                                     .scale = 0.2F,
                                     .records = at.As<TokenRecord>(next_records),
                                     .q = at.ValuesOf(q),
                                     .output = at.ValuesOf(output)};
        status = table.cached_attention(c, attention);
        if (!status.ok()) return status;
        attention.sinks = at.ValuesOf(sinks);
        attention.output = at.ValuesOf(output_with_sinks);
        return table.cached_attention(c, attention);
      });
  if (!ran) return;
  comparison.ExpectClose(keys, kEqual);
  comparison.ExpectClose(values, kEqual);
  comparison.ExpectClose(output, kRoundedInside);
  comparison.ExpectClose(output_with_sinks, kRoundedInside);
}

void Head(KernelCheckEnvironment& environment, Findings& findings) {
  constexpr int64_t kHidden = 72;
  constexpr int64_t kRows = 587;  // more than a tile of the vocabulary, and no whole vectors
  constexpr HeadShape kShape{.tokens = kTokens, .hidden = kHidden, .rows = kRows};
  KernelComparison comparison(environment, "head and loss", findings);
  const Array records = comparison.AddPlain(Tokens(kTokens, kRows));
  const Array input = comparison.AddValues(kTokens * kHidden);
  const Array weights = comparison.AddValues(kRows * kHidden, 0.2F);
  const Array sums = comparison.AddPlain(std::vector<TokenSums>(kTokens));
  const Array logits = comparison.AddFp32(kTokens * CudaLogitStride(kRows));
  const Array loss = comparison.AddPlain(std::vector<LossSum>(1));
  const Array input_gradient = comparison.AddValues(kTokens * kHidden);
  const Array weight_gradient = comparison.AddFp32(kRows * kHidden);
  // Of a frozen head, and where nothing below it is trained.
  const Array input_gradient_alone = comparison.AddValues(kTokens * kHidden);
  const Array weight_gradient_alone = comparison.AddFp32(kRows * kHidden);
  const Array token_sums = comparison.AddFp32(kTokens * 3);
  static_assert(sizeof(TokenSums) == 3 * sizeof(float));
  const bool ran =
      comparison.Run([&](const KernelTable& k, const KernelContext& c, const Side& at) {
        absl::Status status = k.head_log_sum_exp(c, {.shape = kShape,
                                                     .input = at.ValuesOf(input),
                                                     .weights = at.ValuesOf(weights),
                                                     .records = at.As<TokenRecord>(records),
                                                     .sums = at.As<TokenSums>(token_sums),
                                                     .logits = at.As<float>(logits)});
        if (!status.ok()) return status;
        HeadLoss head = {.shape = kShape,
                         .input = at.ValuesOf(input),
                         .weights = at.ValuesOf(weights),
                         .records = at.As<TokenRecord>(records),
                         .sums = at.As<TokenSums>(sums),
                         .scale = 1.0F / kTokens,
                         .logits = at.As<float>(logits),
                         .loss = at.As<LossSum>(loss),
                         .clear_loss = true,
                         .input_gradient = at.ValuesOf(input_gradient),
                         .weight_gradient = at.As<float>(weight_gradient),
                         .first_chunk = true};
        status = k.head_loss(c, head);
        if (!status.ok()) return status;
        head.input_gradient = at.ValuesOf(input_gradient_alone);
        head.weight_gradient = nullptr;
        status = k.head_loss(c, head);
        if (!status.ok()) return status;
        head.input_gradient = nullptr;
        head.weight_gradient = at.As<float>(weight_gradient_alone);
        return k.head_loss(c, head);
      });
  if (!ran) return;
  const auto [on_host, on_device] = comparison.First<LossSum>(loss);
  VERIFY(findings, on_device.count == on_host.count) << on_device.count << " tokens counted";
  // Logits of rounded numbers, summed in fp32: each loss is within a rounding of bf16.
  VERIFY(findings, std::abs(on_device.sum - on_host.sum) <= 0x1p-8 * std::abs(on_host.sum))
      << on_device.sum << " instead of " << on_host.sum;
  comparison.ExpectClose(token_sums, kRoundedOnce);
  for (const Array gradient :
       {input_gradient, weight_gradient, input_gradient_alone, weight_gradient_alone}) {
    comparison.ExpectClose(gradient, kRoundedInside);
  }
}

constexpr KernelCheck kChecks[] = {{"products", Gemm},
                                   {"attention", Attention<0>},
                                   {"attention with a window", Attention<33>},
                                   {"attention with sinks", Attention<0, Sinks::kSome>},
                                   {"cached attention", Cache},
                                   {"head and loss", Head}};

}  // namespace

std::span<const KernelCheck> MatrixKernelChecks() { return kChecks; }

}  // namespace horizon

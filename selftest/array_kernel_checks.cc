// The kernels that pass over arrays.
#include <cstdint>
#include <vector>

#include "kernels/optimizer/adam.h"
#include "selftest/kernel_checks.h"

namespace horizon {
namespace {

using Side = KernelComparison::Side;

constexpr int64_t kRows = 37;
constexpr int64_t kWidth = 136;

// Ids that meet again, positions of two samples a row, some tokens without a label.
std::vector<TokenRecord> Tokens(int64_t count, int64_t vocabulary) {
  std::vector<TokenRecord> tokens(static_cast<size_t>(count));
  for (int64_t t = 0; t < count; ++t) {
    TokenRecord& token = tokens[static_cast<size_t>(t)];
    token.id = static_cast<int32_t>(t * t % 11 * 3 % vocabulary);
    token.label = t % 5 == 0 ? -100 : static_cast<int32_t>(t * 7 % vocabulary);
    token.position = static_cast<int32_t>(t < count / 3 ? t : t - count / 3);
  }
  LinkSameTokens(tokens);
  return tokens;
}

// A scaled branch added to the residual, where each of the three arrays lies apart, and again onto
// the residual itself; then scaled alone, from fp32.
void Residual(KernelCheckEnvironment& environment, Findings& findings) {
  constexpr int64_t kCount = kRows * kWidth + 3;
  constexpr float kScale = 0.22F;
  KernelComparison comparison(environment, "residual", findings);
  const Array residual = comparison.AddValues(kCount, 3);
  const Array branch = comparison.AddValues(kCount);
  const Array sums = comparison.AddFp32(kCount);
  const Array output = comparison.AddValues(kCount);
  const Array scaled = comparison.AddValues(kCount);
  const bool ran =
      comparison.Run([&](const KernelTable& k, const KernelContext& c, const Side& at) {
        absl::Status status = k.residual_add(c, {.count = kCount,
                                                 .residual = at.ValuesOf(residual),
                                                 .branch = at.ValuesOf(branch),
                                                 .scale = kScale,
                                                 .output = at.ValuesOf(output)});
        if (!status.ok()) return status;
        status = k.residual_add(c, {.count = kCount,
                                    .residual = at.ValuesOf(residual),
                                    .branch = at.ValuesOf(branch),
                                    .output = at.ValuesOf(residual)});
        if (!status.ok()) return status;
        return k.residual_add(c, {.count = kCount,
                                  .branch = at.As<float>(sums),
                                  .scale = kScale,
                                  .output = at.ValuesOf(scaled)});
      });
  if (!ran) return;
  for (const Array result : {output, residual, scaled})
    comparison.ExpectClose(result, kRoundedOnce);
}

template <GluActivation kActivation>
void Glu(KernelCheckEnvironment& environment, Findings& findings) {
  constexpr int64_t kCount = kRows * kWidth + 3;
  KernelComparison comparison(environment, "glu", findings);
  const Array gate = comparison.AddValues(kCount, 2);
  const Array up = comparison.AddValues(kCount);
  const Array output_gradient = comparison.AddValues(kCount);
  const Array output = comparison.AddValues(kCount);
  const Array again = comparison.AddValues(kCount);
  const Array gate_gradient = comparison.AddValues(kCount);
  const Array up_gradient = comparison.AddValues(kCount);
  const bool ran =
      comparison.Run([&](const KernelTable& k, const KernelContext& c, const Side& at) {
        absl::Status forward = k.glu_forward(c, {.activation = kActivation,
                                                 .count = kCount,
                                                 .gate = at.ValuesOf(gate),
                                                 .up = at.ValuesOf(up),
                                                 .output = at.ValuesOf(output)});
        if (!forward.ok()) return forward;
        return k.glu_backward(c, {.activation = kActivation,
                                  .count = kCount,
                                  .gate = at.ValuesOf(gate),
                                  .up = at.ValuesOf(up),
                                  .output_gradient = at.ValuesOf(output_gradient),
                                  .output = at.ValuesOf(again),
                                  .gate_gradient = at.ValuesOf(gate_gradient),
                                  .up_gradient = at.ValuesOf(up_gradient)});
      });
  if (!ran) return;
  for (const Array result : {output, again, gate_gradient, up_gradient}) {
    comparison.ExpectClose(result, kRoundedOnce);
  }
}

// Weights as they are, or with 1 added (Gemma).
enum class WeightOffset { kNone, kOne };

template <WeightOffset kOffset>
void RmsNorm(KernelCheckEnvironment& environment, Findings& findings) {
  constexpr float kAdded = kOffset == WeightOffset::kOne ? 1.0F : 0.0F;
  KernelComparison comparison(environment, "rms_norm", findings);
  const Array x = comparison.AddValues(kRows * kWidth, 3);
  const Array weight = comparison.AddValues(kWidth);
  const Array y_gradient = comparison.AddValues(kRows * kWidth);
  const Array residual = comparison.AddValues(kRows * kWidth);
  const Array y = comparison.AddValues(kRows * kWidth);
  const Array again = comparison.AddValues(kRows * kWidth);
  const Array inverse_rms = comparison.AddFp32(kRows);
  const Array x_gradient = comparison.AddValues(kRows * kWidth);
  const Array weight_gradient = comparison.AddFp32(kWidth);
  // Of a frozen weight, and where nothing before the norm is trained.
  const Array x_gradient_alone = comparison.AddValues(kRows * kWidth);
  const Array weight_gradient_alone = comparison.AddFp32(kWidth);
  const bool ran =
      comparison.Run([&](const KernelTable& k, const KernelContext& c, const Side& at) {
        absl::Status status = k.rms_norm_forward(c, {.rows = kRows,
                                                     .width = kWidth,
                                                     .weight_offset = kAdded,
                                                     .x = at.ValuesOf(x),
                                                     .weight = at.ValuesOf(weight),
                                                     .y = at.ValuesOf(y),
                                                     .inverse_rms = at.As<float>(inverse_rms)});
        if (!status.ok()) return status;
        status = k.rms_norm_recompute(c, {.rows = kRows,
                                          .width = kWidth,
                                          .weight_offset = kAdded,
                                          .x = at.ValuesOf(x),
                                          .inverse_rms = at.As<float>(inverse_rms),
                                          .weight = at.ValuesOf(weight),
                                          .y = at.ValuesOf(again)});
        if (!status.ok()) return status;
        RmsNormBackward backward = {.rows = kRows,
                                    .width = kWidth,
                                    .weight_offset = kAdded,
                                    .x = at.ValuesOf(x),
                                    .inverse_rms = at.As<float>(inverse_rms),
                                    .weight = at.ValuesOf(weight),
                                    .y_gradient = at.ValuesOf(y_gradient),
                                    .residual_gradient = at.ValuesOf(residual),
                                    .x_gradient = at.ValuesOf(x_gradient),
                                    .weight_gradient = {.sum = at.As<float>(weight_gradient)}};
        status = k.rms_norm_backward(c, backward);
        if (!status.ok()) return status;
        backward.x_gradient = at.ValuesOf(x_gradient_alone);
        backward.weight_gradient = {};
        status = k.rms_norm_backward(c, backward);
        if (!status.ok()) return status;
        backward.x_gradient = nullptr;
        backward.weight_gradient = {.sum = at.As<float>(weight_gradient_alone)};
        return k.rms_norm_backward(c, backward);
      });
  if (!ran) return;
  for (const Array result : {y, again, x_gradient, inverse_rms, weight_gradient, x_gradient_alone,
                             weight_gradient_alone}) {
    comparison.ExpectClose(result, kRoundedOnce);
  }
}

constexpr int64_t kHeadDim = 24;

template <int64_t kRotaryDim>
void Rotary(KernelCheckEnvironment& environment, Findings& findings) {
  constexpr int64_t kHeads = 3;
  KernelComparison comparison(environment, "rotary", findings);
  std::vector<float> table(static_cast<size_t>(kRows * kRotaryDim));
  std::vector<float> frequencies;
  for (int64_t i = 0; i < kRotaryDim / 2; ++i) {
    frequencies.push_back(1.0F / static_cast<float>(1 + i * i));
  }
  FillRotaryTable(frequencies, 1.0F, kRows, table);
  const Array tokens = comparison.AddPlain(Tokens(kRows, 50));
  const Array angles = comparison.AddPlain(table);
  const Array forward = comparison.AddValues(kRows * kHeads * kHeadDim);
  const Array backward = comparison.AddValues(kRows * kHeads * kHeadDim);
  const bool ran =
      comparison.Run([&](const KernelTable& k, const KernelContext& c, const Side& at) {
        ApplyRotary rotary{.tokens = kRows,
                           .heads = kHeads,
                           .head_dim = kHeadDim,
                           .rotary_dim = kRotaryDim,
                           .records = at.As<TokenRecord>(tokens),
                           .table = at.As<float>(angles),
                           .x = at.ValuesOf(forward)};
        absl::Status status = k.apply_rotary(c, rotary);
        if (!status.ok()) return status;
        rotary.direction = RotaryDirection::kBackward;
        rotary.x = at.ValuesOf(backward);
        return k.apply_rotary(c, rotary);
      });
  if (!ran) return;
  comparison.ExpectClose(forward, kRoundedOnce);
  comparison.ExpectClose(backward, kRoundedOnce);
}

// Rows as they are, or scaled.
enum class EmbeddingScale { kNone, kSome };

template <EmbeddingScale kScale>
void Embedding(KernelCheckEnvironment& environment, Findings& findings) {
  constexpr float kFactor = kScale == EmbeddingScale::kSome ? 11.6619F : 1.0F;
  constexpr int64_t kVocabulary = 29;
  KernelComparison comparison(environment, "embedding", findings);
  const Array tokens = comparison.AddPlain(Tokens(kRows, kVocabulary));
  const Array table = comparison.AddValues(kVocabulary * kWidth);
  const Array output = comparison.AddValues(kRows * kWidth);
  const Array output_gradient = comparison.AddValues(kRows * kWidth);
  const Array gradient = comparison.AddFp32(kVocabulary * kWidth);
  const bool ran =
      comparison.Run([&](const KernelTable& k, const KernelContext& c, const Side& at) {
        absl::Status status = k.embed_forward(c, {.tokens = kRows,
                                                  .hidden = kWidth,
                                                  .rows = kVocabulary,
                                                  .scale = kFactor,
                                                  .records = at.As<TokenRecord>(tokens),
                                                  .table = at.ValuesOf(table),
                                                  .output = at.ValuesOf(output)});
        if (!status.ok()) return status;
        return k.embed_backward(c, {.tokens = kRows,
                                    .hidden = kWidth,
                                    .rows = kVocabulary,
                                    .scale = kFactor,
                                    .records = at.As<TokenRecord>(tokens),
                                    .output_gradient = at.ValuesOf(output_gradient),
                                    .gradient = {.sum = at.As<float>(gradient)}});
      });
  if (!ran) return;
  // The host's fp32 product, which the device rounds to bf16.
  comparison.ExpectClose(output, kScale == EmbeddingScale::kSome ? kRoundedOnce : kEqual);
  comparison.ExpectEqualBytes(gradient);
}

void BiasGradient(KernelCheckEnvironment& environment, Findings& findings) {
  KernelComparison comparison(environment, "bias_gradient", findings);
  const Array output_gradient = comparison.AddValues(kRows * kWidth);
  const Array gradient = comparison.AddFp32(kWidth);
  const bool ran =
      comparison.Run([&](const KernelTable& k, const KernelContext& c, const Side& at) {
        return k.bias_gradient(c, {.tokens = kRows,
                                   .width = kWidth,
                                   .output_gradient = at.ValuesOf(output_gradient),
                                   .gradient = {.sum = at.As<float>(gradient), .add = true}});
      });
  if (ran) comparison.ExpectEqualBytes(gradient);
}

// What becomes of a gradient: rounded to leave, added to the kept one, its squares summed.
void Gradients(KernelCheckEnvironment& environment, Findings& findings) {
  constexpr int64_t kCount = 3 * 512 + 77;
  constexpr int64_t kBlock = 512;
  KernelComparison comparison(environment, "gradients", findings);
  const Array sum = comparison.AddFp32(kCount, 1.37F);
  const Array leaving = comparison.AddBf16(kCount);
  const Array kept = comparison.AddFp32(kCount);
  const Array kept_narrow = comparison.AddBf16(kCount);
  const Array copy = comparison.AddFp32(kCount);
  const Array partials = comparison.AddPlain(std::vector<double>(4, -1.0));
  const bool ran =
      comparison.Run([&](const KernelTable& k, const KernelContext& c, const Side& at) {
        absl::Status status = k.store_gradient(c, {.count = kCount,
                                                   .sum = at.As<float>(sum),
                                                   .gradient = {.bf16 = at.As<uint16_t>(leaving)}});
        if (!status.ok()) return status;
        status = k.accumulate(c, {.count = kCount,
                                  .gradient_bf16 = at.As<uint16_t>(leaving),
                                  .add = true,
                                  .kept_fp32 = at.As<float>(kept)});
        if (!status.ok()) return status;
        status = k.accumulate(c, {.count = kCount,
                                  .gradient_fp32 = at.As<float>(kept),
                                  .add = true,
                                  .kept_bf16 = at.As<uint16_t>(kept_narrow)});
        if (!status.ok()) return status;
        status = k.copy_bytes(
            c, {.bytes = kCount * 4 - 1, .from = at.As<float>(kept), .to = at.As<float>(copy)});
        if (!status.ok()) return status;
        return k.squared_norm(c, {.count = kCount,
                                  .block = kBlock,
                                  .fp32 = at.As<float>(kept),
                                  .partials = at.As<double>(partials)});
      });
  if (!ran) return;
  for (const Array result : {leaving, kept, kept_narrow, copy, partials}) {
    comparison.ExpectEqualBytes(result);
  }
}

template <MomentType kMoments>
void Adam(KernelCheckEnvironment& environment, Findings& findings) {
  constexpr int64_t kCount = 5 * kAdamBlock + 19;
  KernelComparison comparison(environment, "adam", findings);
  const Array gradient = comparison.AddBf16(kCount);
  const Array hi = comparison.AddBf16(kCount);
  const Array lo = comparison.AddPlain(std::vector<int16_t>(kCount, 77));
  const Array m = comparison.AddPlain(std::vector<float>(kCount));
  const Array v = comparison.AddPlain(std::vector<float>(kCount));
  const Array m_scales = comparison.AddPlain(std::vector<float>(6));
  const Array v_scales = comparison.AddPlain(std::vector<float>(6));
  const Array refused = comparison.AddPlain(std::vector<uint64_t>(1, kNothingRefused));
  const bool ran =
      comparison.Run([&](const KernelTable& k, const KernelContext& c, const Side& at) {
        for (int64_t step = 1; step <= 3; ++step) {
          absl::Status status =
              k.adam_update(c, {.count = kCount,
                                .key = 99,
                                .constants = AdamConstantsOf({.learning_rate = 0.01, .step = step}),
                                .step = step,
                                .clip = 0.7F,
                                .gradient_bf16 = at.As<uint16_t>(gradient),
                                .hi = at.As<uint16_t>(hi),
                                .lo = at.As<int16_t>(lo),
                                .moments = kMoments,
                                .m = at.As<void>(m),
                                .v = at.As<void>(v),
                                .m_scales = at.As<float>(m_scales),
                                .v_scales = at.As<float>(v_scales),
                                .first_refused = at.As<uint64_t>(refused)});
          if (!status.ok()) return status;
        }
        return absl::OkStatus();
      });
  if (!ran) return;
  for (const Array result : {hi, lo, m, v, m_scales, v_scales, refused}) {
    comparison.ExpectEqualBytes(result);
  }
}

constexpr KernelCheck kChecks[] = {{"glu, SiLU", Glu<GluActivation::kSilu>},
                                   {"glu, GELU", Glu<GluActivation::kGeluTanh>},
                                   {"rms_norm", RmsNorm<WeightOffset::kNone>},
                                   {"rms_norm, weight offset", RmsNorm<WeightOffset::kOne>},
                                   {"rotary", Rotary<kHeadDim>},
                                   {"rotary, partial", Rotary<16>},
                                   {"residual", Residual},
                                   {"embedding", Embedding<EmbeddingScale::kNone>},
                                   {"embedding, scaled", Embedding<EmbeddingScale::kSome>},
                                   {"bias_gradient", BiasGradient},
                                   {"gradients", Gradients},
                                   {"adam, fp32 moments", Adam<MomentType::kFp32>},
                                   {"adam, bf16 moments", Adam<MomentType::kBf16>},
                                   {"adam, 8-bit moments", Adam<MomentType::k8Bit>}};

}  // namespace

std::span<const KernelCheck> ArrayKernelChecks() { return kChecks; }

}  // namespace horizon

#include "model/stage_work.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/checked.h"
#include "common/str_cat.h"

namespace horizon {
namespace {

constexpr int64_t kMaxTokens = int64_t{1} << 40;

CheckedU64 Count(int64_t value) { return CheckedU64::FromSigned(value); }

// The part of `total` that falls to `range` when it is spread over `units` in whole numbers; the
// parts of a partition add up to `total`.
CheckedU64 Share(CheckedU64 total, UnitRange range, int64_t units) {
  if (!total.ok()) return total;
  const auto before = [&](int64_t unit) {
    return static_cast<uint64_t>(static_cast<unsigned __int128>(total.value()) *
                                 static_cast<uint64_t>(unit) / static_cast<uint64_t>(units));
  };
  return before(range.end) - before(range.begin);
}

// Expert-token pairs are dealt out evenly; the first `remainder` experts get one pair more.
struct ExpertLoad {
  int64_t pairs_each = 0;
  int64_t remainder = 0;
};

ExpertLoad LoadOf(const ModelSpec& spec, TokenBatch tokens) {
  const CheckedU64 pairs = Count(tokens.tokens()) * Count(spec.experts.experts_per_token);
  CHECK(pairs.ok());
  const auto experts = static_cast<uint64_t>(spec.experts.experts);
  return {static_cast<int64_t>(pairs.value() / experts),
          static_cast<int64_t>(pairs.value() % experts)};
}

// Experts of `range` that have one pair more.
int64_t HeavyExperts(const ExpertLoad& load, UnitRange range) {
  return std::max<int64_t>(0, std::min(range.end, load.remainder) - range.begin);
}

CheckedU64 PairsInRange(const ExpertLoad& load, UnitRange range) {
  return Count(range.end - range.begin) * Count(load.pairs_each) + Count(HeavyExperts(load, range));
}

// How many times each value is read or written, forward or backward. Forward: a norm reads and
// writes, SwiGLU reads two and writes one, a residual reads two and writes one. Backward: a norm
// reads its input and the gradient and writes one; SwiGLU reads gate, up and the gradient and
// writes both gradients and, for the down projection's weight gradient, its output again.
struct ElementCosts {
  uint64_t norm, rotary, swiglu, residual, gather, scatter, router, logits, embedding;
};
constexpr ElementCosts kForward = {2, 2, 3, 3, 2, 3, 2, 1, 2};
constexpr ElementCosts kBackward = {3, 2, 6, 3, 2, 3, 3, 2, 3};

// The parts of a stage's forward pass: what is cut with the units and what is not.
class ForwardParts {
 public:
  ForwardParts(const ModelSpec& spec, const Stage& stage, UnitRange range, TokenBatch tokens,
               const ElementCosts& costs)
      : spec_(spec), stage_(stage), range_(range), batch_(tokens), costs_(costs) {
    CHECK(tokens.batch > 0 && tokens.sequence > 0 && tokens.batch <= kMaxTokens / tokens.sequence);
    CHECK(0 <= range.begin && range.begin <= range.end && range.end <= stage.units);
    if (range.begin == range.end) return;
    switch (stage.kind) {
      case StageKind::kEmbedding:
        values_ = Share(TokenValues(spec.hidden) * costs.embedding, range, stage.units);
        break;
      case StageKind::kAttention:
        Attention();
        break;
      case StageKind::kFeedForward:
        FeedForward();
        break;
      case StageKind::kExperts:
        Experts();
        break;
      case StageKind::kFinalNorm:
        values_ = TokenValues(spec.hidden) * costs.norm;
        break;
      case StageKind::kHead:
        Gemm(batch_.tokens(), units(), spec.hidden);
        values_ = TokenValues(units()) * costs.logits;
        break;
    }
  }

  const std::vector<GemmShape>& gemms() const { return gemms_; }
  CheckedU64 attention_flops() const { return attention_flops_; }
  CheckedU64 values() const { return values_; }

 private:
  int64_t units() const { return range_.end - range_.begin; }
  CheckedU64 TokenValues(int64_t width) const { return Count(batch_.tokens()) * Count(width); }

  void Gemm(int64_t m, int64_t n, int64_t k, int64_t count = 1) {
    if (m > 0 && n > 0 && k > 0 && count > 0) gemms_.push_back({m, n, k, count});
  }

  bool Has(int64_t unit) const { return range_.begin <= unit && unit < range_.end; }

  // The norm before a stage belongs to its first unit, the residual after it to its last.
  void NormAndResidual() {
    if (Has(0)) values_ += TokenValues(spec_.hidden) * costs_.norm;
    if (Has(stage_.units - 1)) values_ += TokenValues(spec_.hidden) * costs_.residual;
  }

  void Attention() {
    const int64_t query = spec_.heads * spec_.head_dim;
    const int64_t key = spec_.kv_heads * spec_.head_dim;
    const CheckedU64 each_head =
        costs_.rotary + (spec_.qk_norm != QkNorm::kNone ? costs_.norm : uint64_t{0});
    NormAndResidual();
    if (Has(kQueryUnit)) {
      Gemm(batch_.tokens(), query, spec_.hidden);
      values_ += TokenValues(query) * each_head;
    }
    if (Has(kKeyUnit)) {
      Gemm(batch_.tokens(), key, spec_.hidden);
      values_ += TokenValues(key) * each_head;
    }
    if (Has(kValueUnit)) Gemm(batch_.tokens(), key, spec_.hidden);
    if (!Has(kOutputUnit)) return;
    Gemm(batch_.tokens(), spec_.hidden, query);
    const int64_t window = spec_.layers[stage_.layer].sliding_window;
    attention_flops_ =
        CheckedU64(4) * Count(batch_.batch) * VisiblePairs(batch_.sequence, window) * Count(query);
  }

  void FeedForward() {
    const int64_t width = spec_.intermediate;
    NormAndResidual();
    if (Has(kGateUnit)) Gemm(batch_.tokens(), width, spec_.hidden);
    if (Has(kUpUnit)) Gemm(batch_.tokens(), width, spec_.hidden);
    if (!Has(kDownUnit)) return;
    Gemm(batch_.tokens(), spec_.hidden, width);
    values_ += TokenValues(width) * costs_.swiglu;
  }

  void ExpertGemms(int64_t pairs, int64_t experts) {
    const int64_t width = spec_.experts.intermediate;
    if (spec_.experts.fused_tensors) {
      Gemm(pairs, 2 * width, spec_.hidden, experts);
    } else {
      Gemm(pairs, width, spec_.hidden, 2 * experts);
    }
    Gemm(pairs, spec_.hidden, width, experts);
  }

  void Experts() {
    const ExpertLoad load = LoadOf(spec_, batch_);
    const int64_t heavy = HeavyExperts(load, range_);
    if (range_.begin == 0) {
      Gemm(batch_.tokens(), spec_.experts.experts, spec_.hidden);
      values_ += TokenValues(spec_.experts.experts) * costs_.router;
    }
    ExpertGemms(load.pairs_each + 1, heavy);
    ExpertGemms(load.pairs_each, units() - heavy);
    NormAndResidual();
    values_ +=
        PairsInRange(load, range_) * (Count(spec_.experts.intermediate) * costs_.swiglu +
                                      Count(spec_.hidden) * (costs_.gather + costs_.scatter));
  }

  const ModelSpec& spec_;
  const Stage& stage_;
  const UnitRange range_;
  const TokenBatch batch_;
  const ElementCosts& costs_;
  std::vector<GemmShape> gemms_;
  CheckedU64 attention_flops_;
  CheckedU64 values_;
};

StageWork MakeWork(std::vector<GemmShape> gemms, CheckedU64 attention, CheckedU64 values) {
  CheckedU64 flops = attention;
  for (const GemmShape& gemm : gemms) flops += FlopsOf(gemm);
  StageWork work;
  work.gemms = std::move(gemms);
  work.attention_flops = attention.value();
  work.element_values = values.value();
  work.flops = flops.value();
  return work;
}

constexpr uint64_t kScalarBytes = 4;

// Values, and those among them that are scalars.
struct ValueCount {
  CheckedU64 values;
  CheckedU64 scalars;
};

// What a stage holds for each token, for all of them; the input is part of `kept`.
StageActivations MakeActivations(CheckedU64 tokens, CheckedU64 input, ValueCount recomputed,
                                 ValueCount transient) {
  return {.input = (tokens * input).value(),
          .kept = (tokens * (input + recomputed.values)).value(),
          .recomputed = (tokens * recomputed.values).value(),
          .transient = (tokens * transient.values).value(),
          .kept_scalars = (tokens * recomputed.scalars).value(),
          .transient_scalars = (tokens * transient.scalars).value()};
}

CheckedU64 BytesOf(uint64_t values, uint64_t scalars, uint64_t value_bytes) {
  return (CheckedU64(values) - CheckedU64(scalars)) * value_bytes +
         CheckedU64(scalars) * kScalarBytes;
}

StageActivations AttentionActivations(const ModelSpec& spec, CheckedU64 tokens) {
  const CheckedU64 query = Count(spec.heads) * Count(spec.head_dim);
  const CheckedU64 key = Count(spec.kv_heads) * Count(spec.head_dim);
  // Inverse rms, q, k, v after rotary, output before o_proj, log-sum-exp of each head.
  ValueCount kept{.scalars = CheckedU64(1) + Count(spec.heads)};
  kept.values = kept.scalars + query + key * 2 + query;
  // q and k before their norm, and the inverse rms of each head.
  if (spec.qk_norm != QkNorm::kNone) {
    const CheckedU64 heads = Count(spec.heads) + Count(spec.kv_heads);
    kept.values += query + key + heads;
    kept.scalars += heads;
  }
  // Normed input; gradients of q, k and v; the product of output and its gradient, a number a head.
  // Aliased: the gradient of the output before o_proj, and the fp32 sum of the input's gradient.
  // Forward needs one number a token more, the inverse rms.
  const CheckedU64 scalars = Count(spec.heads) + CheckedU64(1);
  const CheckedU64 backward = Count(spec.hidden) + query + key * 2 + scalars;
  StageActivations made =
      MakeActivations(tokens, Count(spec.hidden), kept, {.values = backward, .scalars = scalars});
  made.aliased_values = (tokens * query).value();
  made.aliased_scalars = (tokens * Count(spec.hidden)).value();
  return made;
}

StageActivations FeedForwardActivations(const ModelSpec& spec, CheckedU64 tokens) {
  const CheckedU64 width = Count(spec.intermediate);
  // Normed input; the gradients of gate (written over that of SwiGLU's output) and up. Aliased:
  // SwiGLU's output, and the fp32 sum of the input's gradient. Forward needs one number a token
  // more, the inverse rms.
  StageActivations made = MakeActivations(
      tokens, Count(spec.hidden), {.values = CheckedU64(1) + width * 2, .scalars = 1},
      {.values = Count(spec.hidden) + width * 2 + 1, .scalars = 1});
  made.aliased_values = (tokens * width).value();
  made.aliased_scalars = (tokens * Count(spec.hidden)).value();
  return made;
}

StageActivations ExpertsActivations(const ModelSpec& spec, CheckedU64 tokens) {
  const CheckedU64 width = Count(spec.experts.intermediate);
  const CheckedU64 chosen = Count(spec.experts.experts_per_token);
  const CheckedU64 experts = Count(spec.experts.experts);
  // Inverse rms, router probabilities; for each chosen expert its number, weight, gate and up.
  const CheckedU64 kept = CheckedU64(1) + experts + chosen * (CheckedU64(2) + width * 2);
  // Normed input and the fp32 sum of its gradient, the router's gradient; for each pair the
  // gathered input and its gradient, SwiGLU's output and the gradients of gate and up.
  const CheckedU64 backward =
      Count(spec.hidden) * 2 + experts + chosen * (Count(spec.hidden) * 2 + width * 3);
  return MakeActivations(
      tokens, Count(spec.hidden),
      {.values = kept, .scalars = CheckedU64(1) + experts + chosen * CheckedU64(2)},
      {.values = backward, .scalars = Count(spec.hidden) + experts});
}

}  // namespace

absl::Status ValidateTokens(TokenBatch tokens) {
  if (tokens.batch < 1 || tokens.sequence < 1) {
    return absl::InvalidArgumentError(StrCat("batch x sequence is ", tokens.batch, " x ",
                                             tokens.sequence, "; both must be at least 1"));
  }
  if (tokens.batch > kMaxTokens / tokens.sequence) {
    return absl::InvalidArgumentError(StrCat("batch x sequence is ", tokens.batch, " x ",
                                             tokens.sequence, "; at most ", kMaxTokens,
                                             " tokens are supported"));
  }
  return absl::OkStatus();
}

CheckedU64 FlopsOf(const GemmShape& gemm) {
  return CheckedU64(2) * Count(gemm.m) * Count(gemm.n) * Count(gemm.k) * Count(gemm.count);
}

uint64_t VisiblePairs(int64_t sequence, int64_t window) {
  CHECK(sequence >= 0 && window >= 0);
  const int64_t seen = window == 0 ? sequence : std::min(window, sequence);
  // The first `seen` queries see 1, 2, ..., seen keys, the others `seen` each. One of seen and
  // seen + 1 is even; halving that one keeps the product exact.
  const CheckedU64 ramp =
      seen % 2 == 0 ? Count(seen / 2) * Count(seen + 1) : Count(seen) * Count(seen / 2 + 1);
  return (ramp + Count(sequence - seen) * Count(seen)).value();
}

StageWork ForwardWork(const ModelSpec& spec, const Stage& stage, UnitRange range,
                      TokenBatch tokens) {
  const ForwardParts forward(spec, stage, range, tokens, kForward);
  return MakeWork(forward.gemms(), forward.attention_flops(), forward.values());
}

StageWork BackwardWork(const ModelSpec& spec, const Stage& stage, UnitRange range,
                       TokenBatch tokens) {
  const ForwardParts forward(spec, stage, range, tokens, kBackward);
  std::vector<GemmShape> gemms;
  gemms.reserve(forward.gemms().size() * 2);
  for (const GemmShape& gemm : forward.gemms()) {
    gemms.push_back({gemm.m, gemm.k, gemm.n, gemm.count});  // gradient of the input
    gemms.push_back({gemm.n, gemm.k, gemm.m, gemm.count});  // gradient of the weights
  }
  // Forward has 4 flops a pair and channel, so halving is exact.
  const CheckedU64 half = forward.attention_flops().ok()
                              ? CheckedU64(forward.attention_flops().value() / 2)
                              : CheckedU64::Overflowed();
  return MakeWork(std::move(gemms), half * 5, forward.values());
}

uint64_t CacheFlops(const ModelSpec& spec, const Stage& stage, UnitRange range, int64_t batch,
                    int64_t positions) {
  const bool attends = range.begin <= kOutputUnit && kOutputUnit < range.end;
  if (stage.kind != StageKind::kAttention || !attends) return 0;
  const int64_t window = spec.layers[stage.layer].sliding_window;
  const int64_t seen = window > 0 ? std::min(window, positions) : positions;
  return (CheckedU64(4) * Count(batch) * Count(seen) * Count(spec.heads) * Count(spec.head_dim))
      .value();
}

StageActivations ActivationsOf(const ModelSpec& spec, const Stage& stage, TokenBatch tokens) {
  CHECK(ValidateTokens(tokens).ok());
  const CheckedU64 count = Count(tokens.tokens());
  switch (stage.kind) {
    case StageKind::kEmbedding:
      return {};
    case StageKind::kAttention:
      return AttentionActivations(spec, count);
    case StageKind::kFeedForward:
      return FeedForwardActivations(spec, count);
    case StageKind::kExperts:
      return ExpertsActivations(spec, count);
    case StageKind::kFinalNorm:
      return MakeActivations(count, Count(spec.hidden), {.values = 1, .scalars = 1}, {});
    case StageKind::kHead:
      return MakeActivations(count, Count(spec.hidden), {}, {});
  }
  return {};
}

CheckedU64 KeptBytes(const StageActivations& activations, uint64_t value_bytes) {
  return BytesOf(activations.kept, activations.kept_scalars, value_bytes);
}

CheckedU64 TransientBytes(const StageActivations& activations, uint64_t value_bytes) {
  return BytesOf(activations.transient, activations.transient_scalars, value_bytes) +
         std::max(CheckedU64(activations.aliased_values) * value_bytes,
                  CheckedU64(activations.aliased_scalars) * kScalarBytes);
}

}  // namespace horizon

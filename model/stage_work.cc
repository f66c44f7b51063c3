#include "model/stage_work.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/checked.h"
#include "common/text/str_cat.h"
#include "model/stages/describe.h"

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

// The work of some units of a stage, as its description has it.
class UnitsWork {
 public:
  UnitsWork(const ModelSpec& spec, const Stage& stage, UnitRange range, TokenBatch tokens)
      : stage_(stage), range_(range), batch_(tokens) {
    CHECK(ValidateTokens(tokens).ok());
    CHECK(0 <= range.begin && range.begin <= range.end && range.end <= stage.units);
    if (stage.kind == StageKind::kExperts) load_ = LoadOf(spec, tokens);
    const LayerSpec layer =
        stage.layer < 0 ? LayerSpec{} : spec.layers[static_cast<size_t>(stage.layer)];
    description_ = DescribeWork(spec, stage.kind, layer);
  }

  // A multiply of forward, and the tensor it multiplies with.
  struct WeightGemm {
    GemmShape shape;
    TensorRole weight;
  };
  std::vector<WeightGemm> Gemms() const {
    std::vector<WeightGemm> gemms;
    const auto add = [&](TensorRole weight, int64_t m, int64_t n, int64_t k, int64_t count) {
      if (m > 0 && n > 0 && k > 0 && count > 0) gemms.push_back({{m, n, k, count}, weight});
    };
    // The experts of one load after the other.
    const int64_t heavy = HeavyExperts(load_, range_);
    for (const bool heavier : {true, false}) {
      for (const GemmWork& gemm : description_.gemms) {
        if (gemm.spread == Spread::kExperts) {
          add(gemm.weight, load_.pairs_each + (heavier ? 1 : 0), gemm.out, gemm.in,
              gemm.count * (heavier ? heavy : units() - heavy));
        } else if (heavier && gemm.spread == Spread::kEvenly) {
          add(gemm.weight, batch_.tokens(), units(), gemm.in, gemm.count);
        } else if (heavier && Has(gemm.unit)) {
          add(gemm.weight, batch_.tokens(), gemm.out, gemm.in, gemm.count);
        }
      }
    }
    return gemms;
  }

  // Score and value multiplies, 4 flops for each visible pair and channel.
  CheckedU64 AttentionFlops() const {
    if (description_.attention_unit < 0 || !Has(description_.attention_unit)) return 0;
    return CheckedU64(4) * Count(batch_.batch) *
           VisiblePairs(batch_.sequence, description_.attention_window) *
           Count(description_.attention_width);
  }

  CheckedU64 ElementValues(uint64_t ElementWork::*times) const {
    CheckedU64 values = 0;
    for (const ElementWork& element : description_.elements) {
      const CheckedU64 each = Count(element.width) * (element.*times);
      switch (element.spread) {
        case Spread::kOneUnit:
          if (Has(element.unit)) values += Count(batch_.tokens()) * each;
          break;
        case Spread::kEvenly:
          values += Share(Count(batch_.tokens()) * each, range_, stage_.units);
          break;
        case Spread::kExperts:
          values += PairsInRange(load_, range_) * each;
          break;
      }
    }
    return values;
  }

 private:
  int64_t units() const { return range_.end - range_.begin; }
  bool Has(int64_t unit) const { return range_.begin <= unit && unit < range_.end; }

  const Stage& stage_;
  const UnitRange range_;
  const TokenBatch batch_;
  ExpertLoad load_;
  WorkDescription description_;
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
  const UnitsWork work(spec, stage, range, tokens);
  std::vector<GemmShape> gemms;
  for (const UnitsWork::WeightGemm& gemm : work.Gemms()) gemms.push_back(gemm.shape);
  return MakeWork(std::move(gemms), work.AttentionFlops(),
                  work.ElementValues(&ElementWork::forward));
}

StageWork BackwardWork(const ModelSpec& spec, const Stage& stage, UnitRange range,
                       TokenBatch tokens) {
  const BackwardDepth depth = stage.backward_depth();
  if (depth == BackwardDepth::kNone) return {};
  const UnitsWork work(spec, stage, range, tokens);
  std::vector<GemmShape> gemms;
  for (const auto& [gemm, weight] : work.Gemms()) {
    // Gradient of the input, which what lies deeper starts from; gradient of the weights.
    if (depth > DepthOf(weight)) gemms.push_back({gemm.m, gemm.k, gemm.n, gemm.count});
    if (stage.trained_roles.test(static_cast<size_t>(weight))) {
      gemms.push_back({gemm.n, gemm.k, gemm.m, gemm.count});
    }
  }
  // Forward has 4 flops a pair and channel, so halving is exact.
  const CheckedU64 attention =
      depth > BackwardDepth::kOutputProjection ? work.AttentionFlops() : CheckedU64(0);
  const CheckedU64 half =
      attention.ok() ? CheckedU64(attention.value() / 2) : CheckedU64::Overflowed();
  return MakeWork(std::move(gemms), half * 5, work.ElementValues(&ElementWork::backward));
}

uint64_t CachedAttentionFlops(const ModelSpec& spec, const Stage& stage, UnitRange range,
                              int64_t batch, int64_t positions) {
  if (stage.kind != StageKind::kAttention) return 0;
  const WorkDescription work =
      DescribeWork(spec, stage.kind, spec.layers[static_cast<size_t>(stage.layer)]);
  if (work.attention_unit < range.begin || work.attention_unit >= range.end) return 0;
  const int64_t window = work.attention_window;
  const int64_t seen = window > 0 ? std::min(window, positions) : positions;
  return (CheckedU64(4) * Count(batch) * Count(seen) * Count(work.attention_width)).value();
}

}  // namespace horizon

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

ExpertLoad LoadOf(const ModelSpec& spec, int64_t tokens) {
  const CheckedU64 pairs = Count(tokens) * Count(spec.experts.experts_per_token);
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
  UnitsWork(const ModelSpec& spec, const Stage& stage, UnitRange range, TokenBatch tokens,
            const StageOptions& options)
      : stage_(stage),
        range_(range),
        batch_(tokens),
        piece_tokens_(options.piece_tokens),
        sample_lengths_(options.sample_lengths) {
    CHECK(ValidateTokens(tokens).ok());
    CHECK(0 <= range.begin && range.begin <= range.end && range.end <= stage.units);
    if (stage.kind == StageKind::kExperts) {
      load_ = LoadOf(spec, tokens.tokens());
      piece_load_ = LoadOf(spec, std::min(piece_tokens_, tokens.tokens()));
      rest_load_ = LoadOf(spec, tokens.tokens() % piece_tokens_);
    }
    const LayerSpec layer =
        stage.layer < 0 ? LayerSpec{} : spec.layers[static_cast<size_t>(stage.layer)];
    description_ = DescribeWork(spec, stage.kind, layer, options);
  }

  // A multiply of forward, and the tensor it multiplies with.
  struct WeightGemm {
    GemmShape shape;
    TensorRole weight;
    Need need;
    bool in_pieces = false;  // one of several pieces of the tokens
  };
  std::vector<WeightGemm> Gemms() const {
    std::vector<WeightGemm> gemms;
    const bool in_pieces = batch_.tokens() > piece_tokens_;
    const int64_t pieces = in_pieces ? batch_.tokens() / piece_tokens_ : 0;
    const auto add = [&](const GemmWork& gemm, int64_t m, int64_t n, int64_t count, bool of_piece,
                         bool grouped = false) {
      if (m <= 0 || n <= 0 || gemm.in <= 0 || count <= 0) return;
      gemms.push_back({{.m = m, .n = n, .k = gemm.in, .count = count, .grouped = grouped},
                       gemm.weight,
                       gemm.need,
                       of_piece});
    };
    // The experts of one load after the other.
    const auto add_experts = [&](const GemmWork& gemm, const ExpertLoad& load, int64_t times,
                                 bool heavier) {
      const int64_t heavy = HeavyExperts(load, range_);
      add(gemm, load.pairs_each + (heavier ? 1 : 0), gemm.out,
          gemm.count * times * (heavier ? heavy : units() - heavy), in_pieces, true);
    };
    for (const bool heavier : {true, false}) {
      for (const GemmWork& gemm : description_.gemms) {
        if (gemm.spread == Spread::kExperts) {
          if (!in_pieces) {
            add_experts(gemm, load_, 1, heavier);
            continue;
          }
          add_experts(gemm, piece_load_, pieces, heavier);
          add_experts(gemm, rest_load_, 1, heavier);
        } else if (heavier && gemm.spread == Spread::kEvenly) {
          add(gemm, batch_.tokens(), units(), gemm.count, false);
        } else if (heavier && Has(gemm.unit)) {
          add(gemm, piece_tokens_, gemm.out, gemm.count * pieces, in_pieces);
          add(gemm, batch_.tokens() - pieces * piece_tokens_, gemm.out, gemm.count, in_pieces);
        }
      }
    }
    return gemms;
  }

  // The values of the trained experts' gradients that are summed over several pieces, read and
  // written to round the sums: also those of experts without a token.
  CheckedU64 SumsOfExperts(const RoleSet& trained) const {
    if (batch_.tokens() <= piece_tokens_) return 0;
    CheckedU64 values = 0;
    for (const GemmWork& gemm : description_.gemms) {
      if (gemm.spread != Spread::kExperts || !trained.test(static_cast<size_t>(gemm.weight))) {
        continue;
      }
      values += CheckedU64(2) * Count(gemm.out) * Count(gemm.in) * Count(gemm.count * units());
    }
    return values;
  }

  // Score and value multiplies, 4 flops for each visible pair and channel.
  CheckedU64 AttentionFlops() const {
    if (description_.attention_unit < 0 || !Has(description_.attention_unit)) return 0;
    return CheckedU64(4) * VisiblePairs(batch_, description_.attention_window, sample_lengths_) *
           Count(description_.attention_width);
  }

  // Of the elements that `counts` accepts.
  template <typename Counts>
  CheckedU64 ElementValues(uint64_t ElementWork::*times, Counts counts) const {
    CheckedU64 values = 0;
    for (const ElementWork& element : description_.elements) {
      if (!counts(element.need)) continue;
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
  const int64_t piece_tokens_;
  const std::span<const SampleLength> sample_lengths_;
  ExpertLoad load_;
  ExpertLoad piece_load_;  // of a whole piece of the tokens, and of what is left after these
  ExpertLoad rest_load_;
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

uint64_t VisiblePairs(TokenBatch batch, int64_t window, std::span<const SampleLength> lengths) {
  if (lengths.empty()) return (Count(batch.batch) * VisiblePairs(batch.sequence, window)).value();
  // A token sees less than 2^41 others, so that the sums fit 128 bits.
  using Wide = unsigned __int128;
  Wide pairs = 0;
  CheckedU64 tokens = 0;
  for (const SampleLength& each : lengths) {
    CHECK(each.length >= 1 && each.samples >= 1);
    const int64_t length = std::min(each.length, batch.sequence);
    const CheckedU64 seen = VisiblePairs(length, window);
    if (!seen.ok()) return CheckedU64::Overflowed().value();
    pairs += Wide{seen.value()} * static_cast<uint64_t>(each.samples);
    tokens += Count(length) * Count(each.samples);
  }
  if (!tokens.ok()) return CheckedU64::Overflowed().value();
  const Wide all = tokens.value();
  const Wide here = static_cast<uint64_t>(batch.tokens());
  const Wide rest = (pairs % all * here + all / 2) / all;
  const Wide result = pairs / all * here + rest;
  const Wide most = CheckedU64::Overflowed().value();
  return static_cast<uint64_t>(std::min(result, most));
}

namespace {

// The part of forward that `counts` accepts.
template <typename Counts>
StageWork PartOfForward(const UnitsWork& work, Counts counts) {
  std::vector<GemmShape> gemms;
  for (const UnitsWork::WeightGemm& gemm : work.Gemms()) {
    if (counts(gemm.need)) gemms.push_back(gemm.shape);
  }
  return MakeWork(std::move(gemms), work.AttentionFlops(),
                  work.ElementValues(&ElementWork::forward, counts));
}

constexpr auto kAnyNeed = [](Need) { return true; };

// Whether backward reads what is computed again: it does for all but the bias of the last matrix.
bool ComputesAgain(const ModelSpec& spec, const Stage& stage) {
  return stage.backward_depth() > BackwardDepth::kOutputProjection || spec.norm_after() ||
         stage.trained_roles.test(static_cast<size_t>(TensorRole::kDown)) ||
         stage.trained_roles.test(static_cast<size_t>(TensorRole::kExpertsDown));
}

}  // namespace

StageWork ForwardWork(const ModelSpec& spec, const Stage& stage, UnitRange range, TokenBatch tokens,
                      const StageOptions& options) {
  return PartOfForward(UnitsWork(spec, stage, range, tokens, options), kAnyNeed);
}

StageWork RecomputeWork(const ModelSpec& spec, const Stage& stage, UnitRange range,
                        TokenBatch tokens, const StageOptions& options) {
  return PartOfForward(UnitsWork(spec, stage, range, tokens, options),
                       [](Need need) { return need == Need::kBackward; });
}

StageWork BackwardWork(const ModelSpec& spec, const Stage& stage, UnitRange range,
                       TokenBatch tokens, const StageOptions& options) {
  const BackwardDepth depth = stage.backward_depth();
  if (depth == BackwardDepth::kNone) return {};
  const UnitsWork work(spec, stage, range, tokens, options);
  std::vector<GemmShape> gemms;
  CheckedU64 sum_values = 0;
  RoleSet summed;  // the weights whose sum was counted: it is one for all pieces
  for (const auto& [gemm, weight, need, in_pieces] : work.Gemms()) {
    if (need == Need::kAgain && ComputesAgain(spec, stage)) gemms.push_back(gemm);
    // Gradient of the input, which what lies deeper starts from; gradient of the weights.
    if (depth > DepthOf(weight)) {
      gemms.push_back({gemm.m, gemm.k, gemm.n, gemm.count, false, gemm.grouped});
    }
    if (!stage.trained_roles.test(static_cast<size_t>(weight))) continue;
    gemms.push_back({gemm.n, gemm.k, gemm.m, gemm.count, in_pieces, gemm.grouped});
    if (!in_pieces || gemm.grouped || summed.test(static_cast<size_t>(weight))) continue;
    summed.set(static_cast<size_t>(weight));
    sum_values += CheckedU64(2) * Count(gemm.n) * Count(gemm.k);
  }
  sum_values += work.SumsOfExperts(stage.trained_roles);
  // Forward has 4 flops a pair and channel, so halving is exact.
  const CheckedU64 attention =
      depth > BackwardDepth::kOutputProjection ? work.AttentionFlops() : CheckedU64(0);
  const CheckedU64 half =
      attention.ok() ? CheckedU64(attention.value() / 2) : CheckedU64::Overflowed();
  StageWork made =
      MakeWork(std::move(gemms), half * 5, work.ElementValues(&ElementWork::backward, kAnyNeed));
  made.sum_values = sum_values.value();
  return made;
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

#include "model/stage_work.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

#include "common/checked.h"
#include "model/sample_lengths.h"
#include "tests/model/model_specs.h"

namespace horizon {
namespace {

constexpr uint64_t kDoesNotFit = std::numeric_limits<uint64_t>::max();
// 2 x 5 tokens; one sequence has 15 pairs.
constexpr TokenBatch kTokens{.batch = 2, .sequence = 5};

StageWork Forward(const ModelSpec& spec, size_t stage, TokenBatch tokens = kTokens) {
  const Stage it = ListStages(spec)[stage];
  return ForwardWork(spec, it, {0, it.units}, tokens);
}

uint64_t PairsByCounting(int64_t sequence, int64_t window) {
  uint64_t pairs = 0;
  for (int64_t query = 0; query < sequence; ++query) {
    for (int64_t key = 0; key <= query; ++key) {
      if (window == 0 || query - key < window) ++pairs;
    }
  }
  return pairs;
}

TEST(VisiblePairs, EqualsCounting) {
  for (int64_t sequence = 0; sequence <= 40; ++sequence) {
    for (int64_t window = 0; window <= 45; ++window) {
      EXPECT_EQ(VisiblePairs(sequence, window), PairsByCounting(sequence, window))
          << sequence << " tokens, window " << window;
    }
  }
}

TEST(VisiblePairs, IsExactWhereItFitsAndNeverWraps) {
  EXPECT_EQ(VisiblePairs(int64_t{1} << 32, 0), (uint64_t{1} << 63) + (uint64_t{1} << 31));
  EXPECT_EQ(VisiblePairs(int64_t{1} << 40, 0), kDoesNotFit);
  EXPECT_EQ(VisiblePairs(int64_t{1} << 40, 1), uint64_t{1} << 40);
}

using Lengths = std::vector<SampleLength>;

TEST(VisiblePairs, OfRowsFullOfOneSampleAreThoseOfTheSequence) {
  for (const int64_t sequence : {1, 7, 40, 4096, 1 << 24}) {
    for (const int64_t window : {0, 3, 41, 1 << 20}) {
      const TokenBatch batch{.batch = 3, .sequence = sequence};
      const uint64_t pairs = 3 * VisiblePairs(sequence, window);
      EXPECT_EQ(VisiblePairs(batch, window, {}), pairs);
      EXPECT_EQ(VisiblePairs(batch, window, Lengths{{sequence, 1}}), pairs);
      EXPECT_EQ(VisiblePairs(batch, window, Lengths{{sequence, 999'999'999'937}}), pairs);
      // Cut as the packer cuts them.
      EXPECT_EQ(VisiblePairs(batch, window, Lengths{{sequence + 5, 2}, {2 * sequence, 1}}), pairs);
    }
  }
}

// Rows that samples fill exactly: counting each sample gives the same.
TEST(VisiblePairs, OfPackedRowsEqualCountingTheSamples) {
  for (int64_t window = 0; window <= 12; ++window) {
    const TokenBatch batch{.batch = 2, .sequence = 24};  // each row: 3, 3, 8 and 10
    const uint64_t row =
        2 * PairsByCounting(3, window) + PairsByCounting(8, window) + PairsByCounting(10, window);
    EXPECT_EQ(VisiblePairs(batch, window, Lengths{{3, 2}, {8, 1}, {10, 1}}), 2 * row);
    EXPECT_EQ(VisiblePairs(batch, window, Lengths{{10, 7}, {3, 14}, {8, 7}}), 2 * row);
  }
  // 7 of 10 tokens have 2 pairs for each token and 3 of 10 have 1: 1.7 x 5 is 8.5, rounded up.
  EXPECT_EQ(VisiblePairs({.batch = 1, .sequence = 5}, 0, Lengths{{3, 7}, {1, 9}}), 9u);
}

// Samples of one length: twice as many tokens have twice as many pairs, however long a row is.
TEST(VisiblePairs, OfShortSamplesGrowWithTheTokens) {
  for (const int64_t length : {1, 16, 1000}) {
    const Lengths lengths = {{length, 1}};
    const uint64_t row = VisiblePairs({.batch = 1, .sequence = 4000}, 0, lengths);
    EXPECT_EQ(row, 4000 / static_cast<uint64_t>(length) * VisiblePairs(length, 0));
    EXPECT_EQ(VisiblePairs({.batch = 1, .sequence = 8000}, 0, lengths), 2 * row);
    EXPECT_EQ(VisiblePairs({.batch = 6, .sequence = 4000}, 0, lengths), 6 * row);
  }
}

RC_GTEST_PROP(VisiblePairs, GrowWithTheLengthsAndNeverPassThoseOfWholeRows, ()) {
  const auto pick = [](int64_t least, int64_t most) {
    return *rc::gen::inRange<int64_t>(least, most + 1);
  };
  const TokenBatch batch{.batch = pick(1, 5), .sequence = pick(1, 3000)};
  const int64_t window = pick(0, 1) * pick(1, 2000);
  Lengths lengths(static_cast<size_t>(pick(1, 6)));
  for (SampleLength& each : lengths) each = {pick(1, 4000), pick(1, 1'000'000)};
  const uint64_t pairs = VisiblePairs(batch, window, lengths);
  RC_ASSERT(pairs <= VisiblePairs(batch, window, {}));
  RC_ASSERT(pairs >= static_cast<uint64_t>(batch.tokens()));  // each token sees itself
  if (lengths.size() > 1) return;
  lengths.front().length += pick(1, 500);
  RC_ASSERT(VisiblePairs(batch, window, lengths) >= pairs);
}

TEST(VisiblePairs, OfSamplesNeverWrap) {
  const TokenBatch longest{.batch = 1, .sequence = int64_t{1} << 40};
  EXPECT_EQ(VisiblePairs(longest, 0, Lengths{{int64_t{1} << 40, 1}}), kDoesNotFit);
  EXPECT_EQ(VisiblePairs(longest, 0, Lengths{{1 << 20, 1'000'000'000'000}}),
            (uint64_t{1} << 20) * VisiblePairs(1 << 20, 0));
  // More tokens than 64 bits hold.
  EXPECT_EQ(VisiblePairs(longest, 0, Lengths(2, {1 << 24, 1'000'000'000'000})), kDoesNotFit);
}

TEST(SampleLengthCounter, KeepsSamplesAndTokensAndPairsInFewEntries) {
  for (const int64_t sequence : {64, 1024, 16384, 1 << 20}) {
    for (int seed = 1; seed <= 3; ++seed) {
      SampleLengthCounter counter;
      Lengths exact;
      auto state = static_cast<uint64_t>(seed);
      int64_t tokens = 0;
      for (int i = 0; i < 20000; ++i) {
        state = state * 6364136223846793005U + 1442695040888963407U;
        const double share = static_cast<double>(state >> 40) / static_cast<double>(1 << 24);
        // Many short ones and a few long ones; equal shares; only long ones.
        const double skewed = seed == 1 ? share * share * share : seed == 2 ? share : 1 - share / 9;
        const auto length =
            std::max<int64_t>(1, static_cast<int64_t>(skewed * static_cast<double>(sequence)));
        counter.Add(length);
        exact.push_back({length, 1});
        tokens += length;
      }
      const Lengths binned = counter.Finish();
      EXPECT_LE(binned.size(), 300u);
      EXPECT_EQ(TokensOf(binned), CheckedU64(static_cast<uint64_t>(tokens)));
      int64_t samples = 0;
      for (const SampleLength& each : binned) samples += each.samples;
      EXPECT_EQ(samples, 20000);
      for (const int64_t window : {int64_t{0}, sequence / 3, int64_t{17}}) {
        const TokenBatch batch{.batch = 100, .sequence = sequence};
        const auto pairs = static_cast<double>(VisiblePairs(batch, window, exact));
        EXPECT_NEAR(static_cast<double>(VisiblePairs(batch, window, binned)) / pairs, 1, 0.004)
            << sequence << " tokens, window " << window << ", seed " << seed;
      }
    }
  }
}

// The worst of a bin: half of its samples at each end.
TEST(SampleLengthCounter, IsWithinFourThousandthsInTheWorstCase) {
  SampleLengthCounter counter;
  Lengths exact;
  for (int64_t start = 1 << 10; start < 1 << 20; start *= 2) {
    for (const int64_t length : {start, start + start / 8 - 1}) {
      counter.Add(length);
      exact.push_back({length, 1});
    }
  }
  const TokenBatch batch{.batch = 1, .sequence = 1 << 20};
  const auto pairs = static_cast<double>(VisiblePairs(batch, 0, exact));
  EXPECT_NEAR(static_cast<double>(VisiblePairs(batch, 0, counter.Finish())) / pairs, 1, 0.004);
  EXPECT_TRUE(SampleLengthCounter().Finish().empty());
}

TEST(SampleLengthCounter, IsExactForShortSamplesAndForOneLength) {
  SampleLengthCounter counter;
  for (int64_t length = 1; length <= 15; ++length) counter.Add(length);
  for (int i = 0; i < 3; ++i) counter.Add(777);
  const Lengths lengths = counter.Finish();
  ASSERT_EQ(lengths.size(), 16u);
  EXPECT_EQ(lengths.front(), (SampleLength{1, 1}));
  EXPECT_EQ(lengths.back(), (SampleLength{777, 3}));
  EXPECT_EQ(MeanLength(lengths, 777), (120 + 3 * 777 + 9) / 18);
  EXPECT_EQ(MeanLength(lengths, 10), 8);  // (55 + 5 * 10 + 3 * 10) / 18 is 7.5
}

// Attention of forward and backward is that of the samples, everything else is that of the tokens.
TEST(ForwardWork, CountsAttentionOfTheSamplesInARow) {
  ModelSpec spec = TinySpec("llama");
  const Stage attention = ListStages(spec)[1];
  const UnitRange all{0, attention.units};
  const TokenBatch batch{.batch = 2, .sequence = 6};
  const Lengths lengths = {{2, 3}};  // three samples of 3 pairs a row
  const StageOptions packed{.sample_lengths = lengths};
  for (auto* work_of : {&ForwardWork, &RecomputeWork, &BackwardWork}) {
    const uint64_t times = work_of == &BackwardWork ? 5 : 2;  // of 2 flops
    const StageWork one = work_of(spec, attention, all, batch, {});
    const StageWork several = work_of(spec, attention, all, batch, packed);
    EXPECT_EQ(one.attention_flops, times * 2 * 2 * 21 * 4 * 16);
    EXPECT_EQ(several.attention_flops, times * 2 * 2 * 9 * 4 * 16);
    EXPECT_EQ(several.flops - several.attention_flops, one.flops - one.attention_flops);
    EXPECT_EQ(several.element_values, one.element_values);
  }
  spec.layers[0].sliding_window = 1;
  EXPECT_EQ(ForwardWork(spec, attention, all, batch, packed).attention_flops, 4u * 12 * 4 * 16);
}

// hidden 64, 4 heads of 16 over 2 for keys: q and o 64 x 64, k and v 32 x 64; 10 tokens.
TEST(ForwardWork, CountsAttentionByHand) {
  ModelSpec spec = TinySpec("llama");
  const uint64_t projections = uint64_t{2} * 10 * 64 * (64 + 32 + 32 + 64);
  const StageWork full = Forward(spec, 1);
  EXPECT_EQ(full.attention_flops, 4u * 2 * 15 * 4 * 16);
  EXPECT_EQ(full.flops, projections + uint64_t{4} * 2 * 15 * 4 * 16);
  spec.layers[0].sliding_window = 3;  // 1 + 2 + 3 + 3 + 3 pairs
  const StageWork window = Forward(spec, 1);
  EXPECT_EQ(window.attention_flops, 4u * 2 * 12 * 4 * 16);
  EXPECT_EQ(window.flops, projections + window.attention_flops);
  // Norm and residual touch 5 x 64 values a token, rotary 2 x (64 + 32).
  EXPECT_EQ(full.element_values, 10u * (5 * 64 + 2 * 96));
}

TEST(ForwardWork, CountsTheOtherStagesByHand) {
  const ModelSpec spec = TinySpec("llama");
  EXPECT_EQ(Forward(spec, 0).flops, 0u);
  EXPECT_EQ(Forward(spec, 0).element_values, 2u * 10 * 64);
  EXPECT_EQ(Forward(spec, 2).flops, 3u * 2 * 10 * 64 * 176);
  EXPECT_EQ(Forward(spec, 2).element_values, 10u * (5 * 64 + 3 * 176));
  EXPECT_EQ(Forward(spec, 5).flops, 0u);
  EXPECT_EQ(Forward(spec, 5).element_values, 2u * 10 * 64);
  EXPECT_EQ(Forward(spec, 6).flops, 2u * 10 * 64 * 320);
  EXPECT_EQ(Forward(spec, 6).element_values, 10u * 320);
}

TEST(ForwardWork, CountsRouterAndChosenExperts) {
  for (std::string_view family : {"mixtral", "qwen3_moe", "gpt_oss"}) {
    EXPECT_EQ(Forward(TinySpec(family), 2).flops, 2u * 10 * 64 * 4 + 3 * 2 * 20 * 64 * 176)
        << family;
  }
}

// 7 tokens x 2 experts = 14 pairs over 4 experts: 4, 4, 3, 3.
TEST(ForwardWork, DealsPairsEvenlyOverExperts) {
  const ModelSpec spec = TinySpec("mixtral");
  const Stage stage = ListStages(spec)[2];
  const std::vector<int64_t> expected = {4, 4, 3, 3};
  for (int64_t expert = 0; expert < 4; ++expert) {
    const StageWork work = ForwardWork(spec, stage, {expert, expert + 1}, {1, 7});
    const GemmShape& down = work.gemms.back();
    EXPECT_EQ(down.m, expected[static_cast<size_t>(expert)]) << expert;
    EXPECT_EQ(down.n, 64);
    EXPECT_EQ(down.k, 176);
    EXPECT_EQ(down.count, 1);
  }
  const StageWork middle = ForwardWork(spec, stage, {1, 3}, {1, 7});
  // Gate, up and down of the expert that has one pair more, then of the other.
  ASSERT_EQ(middle.gemms.size(), 6u);
  EXPECT_EQ(middle.gemms[0].m, 4);
  EXPECT_EQ(middle.gemms[0].count, 1);
  EXPECT_EQ(middle.gemms[3].m, 3);
}

TEST(ForwardWork, AnIdleExpertHasNoProducts) {
  const ModelSpec spec = TinySpec("mixtral");
  const Stage stage = ListStages(spec)[2];
  EXPECT_TRUE(ForwardWork(spec, stage, {2, 4}, {1, 1}).gemms.empty());
  EXPECT_EQ(ForwardWork(spec, stage, {2, 4}, {1, 1}).flops, 0u);
}

TEST(ForwardWork, AnEmptyRangeHasNoWork) {
  for (std::string_view family : TestedFamilies()) {
    const ModelSpec spec = TinySpec(family);
    for (const Stage& stage : ListStages(spec)) {
      const StageWork work = ForwardWork(spec, stage, {0, 0}, kTokens);
      EXPECT_EQ(work.flops, 0u) << stage.name;
      EXPECT_EQ(work.element_values, 0u) << stage.name;
      EXPECT_TRUE(work.gemms.empty()) << stage.name;
    }
  }
}

TEST(ForwardWork, NeverWraps) {
  ModelSpec spec = TinySpec("llama");
  spec.hidden = int64_t{1} << 28;
  spec.intermediate = int64_t{1} << 30;
  ASSERT_TRUE(ValidateSpec(spec).ok());
  const StageWork work = Forward(spec, 2, {1, int64_t{1} << 20});
  EXPECT_EQ(work.flops, kDoesNotFit);
  const Stage attention = ListStages(spec)[1];
  const TokenBatch longest{1, int64_t{1} << 40};
  EXPECT_EQ(BackwardWork(spec, attention, {0, 2}, longest).flops, kDoesNotFit);
}

TEST(BackwardWork, IsTwiceTheProductsAndTwoAndAHalfTimesTheAttention) {
  for (std::string_view family : TestedFamilies()) {
    const ModelSpec spec = TinySpec(family);
    for (const Stage& stage : ListStages(spec)) {
      const UnitRange all{0, stage.units};
      const StageWork forward = ForwardWork(spec, stage, all, kTokens);
      const StageWork backward = BackwardWork(spec, stage, all, kTokens);
      EXPECT_EQ(backward.attention_flops * 2, forward.attention_flops * 5) << stage.name;
      EXPECT_EQ(backward.flops - backward.attention_flops,
                2 * (forward.flops - forward.attention_flops))
          << stage.name;
      ASSERT_EQ(backward.gemms.size(), 2 * forward.gemms.size());
      for (size_t i = 0; i < forward.gemms.size(); ++i) {
        // The sum runs over outputs for the input's gradient, over tokens for the weights'.
        EXPECT_EQ(backward.gemms[2 * i].k, forward.gemms[i].n);
        EXPECT_EQ(backward.gemms[2 * i + 1].k, forward.gemms[i].m);
      }
    }
  }
}

// One token through every matrix it touches: 2 flops a weight, none for the embedding's lookup.
RC_GTEST_PROP(StageWorkProperty, ProductsAreTwoFlopsForEachActiveWeightAndToken, ()) {
  ModelSpec spec = *AnySpec();
  spec.tied = false;
  const TokenBatch tokens{*rc::gen::inRange<int64_t>(1, 4), *rc::gen::inRange<int64_t>(1, 30)};
  for (const Stage& stage : ListStages(spec)) {
    uint64_t weights = 0;
    for (const TensorSpec& tensor : stage.tensors) {
      if (!tensor.decays || stage.kind == StageKind::kEmbedding) continue;
      const bool belongs_to_expert =
          tensor.expert >= 0 || (stage.kind == StageKind::kExperts && tensor.split_axis == 0);
      // Scaled by the number of experts, so that the chosen share stays a whole number.
      weights +=
          tensor.parameters *
          static_cast<uint64_t>(belongs_to_expert ? spec.experts.experts_per_token
                                                  : std::max<int64_t>(1, spec.experts.experts));
    }
    const uint64_t scale = static_cast<uint64_t>(std::max<int64_t>(1, spec.experts.experts));
    const StageWork work = ForwardWork(spec, stage, {0, stage.units}, tokens);
    RC_ASSERT((work.flops - work.attention_flops) * scale ==
              2 * weights * static_cast<uint64_t>(tokens.tokens()));
  }
}

RC_GTEST_PROP(StageWorkProperty, WorksOfAPartitionAddUpToTheWhole, ()) {
  const ModelSpec spec = *AnySpec();
  const TokenBatch tokens{*rc::gen::inRange<int64_t>(1, 4), *rc::gen::inRange<int64_t>(1, 30)};
  const Lengths lengths(static_cast<size_t>(*rc::gen::inRange(0, 2)),
                        {*rc::gen::inRange<int64_t>(1, 30), 1});
  const StageOptions options{.piece_tokens = *rc::gen::inRange<int64_t>(1, 100),
                             .keep_feed_forward = *rc::gen::arbitrary<bool>(),
                             .sample_lengths = lengths};
  for (const Stage& stage : ListStages(spec)) {
    for (auto* work_of : {&ForwardWork, &RecomputeWork, &BackwardWork}) {
      StageWork sum;
      int64_t begin = 0;
      while (begin < stage.units) {
        const int64_t end = *rc::gen::inRange<int64_t>(begin + 1, stage.units + 1);
        const StageWork part = work_of(spec, stage, {begin, end}, tokens, options);
        sum.flops += part.flops;
        sum.attention_flops += part.attention_flops;
        sum.element_values += part.element_values;
        sum.sum_values += part.sum_values;
        begin = end;
      }
      const StageWork whole = work_of(spec, stage, {0, stage.units}, tokens, options);
      RC_ASSERT(sum.flops == whole.flops);
      RC_ASSERT(sum.attention_flops == whole.attention_flops);
      RC_ASSERT(sum.element_values == whole.element_values);
      RC_ASSERT(sum.sum_values == whole.sum_values);
      // Pieces divide the arithmetic and add none.
      const StageWork at_once =
          work_of(spec, stage, {0, stage.units}, tokens,
                  {.keep_feed_forward = options.keep_feed_forward, .sample_lengths = lengths});
      RC_ASSERT(whole.flops == at_once.flops);
    }
  }
}

TEST(ValidateTokens, RefusesWhatIsNotABatch) {
  EXPECT_TRUE(ValidateTokens({1, 1}).ok());
  EXPECT_TRUE(ValidateTokens({1 << 20, 1 << 20}).ok());
  for (TokenBatch bad : {TokenBatch{0, 1}, TokenBatch{1, 0}, TokenBatch{-1, -1},
                         TokenBatch{1, (int64_t{1} << 40) + 1},
                         TokenBatch{std::numeric_limits<int64_t>::max(), 2}}) {
    const absl::Status status = ValidateTokens(bad);
    EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << bad.batch;
  }
}

}  // namespace
}  // namespace horizon

#include "model/stage_work.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <limits>
#include <vector>

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
  const StageOptions options{.piece_tokens = *rc::gen::inRange<int64_t>(1, 100),
                             .keep_feed_forward = *rc::gen::arbitrary<bool>()};
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
      const StageWork at_once = work_of(spec, stage, {0, stage.units}, tokens,
                                        {.keep_feed_forward = options.keep_feed_forward});
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

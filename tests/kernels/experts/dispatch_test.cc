#include "kernels/experts/dispatch.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "tests/kernels/each_target.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

using Ints = std::vector<int32_t>;

struct Sorted {
  Dispatch args;
  Ints chosen;
  Ints begins;
  Ints row_pairs;
  Ints row_tokens;
  Ints pair_rows;

  Sorted(int64_t experts, int64_t per_token, Ints the_chosen)
      : chosen(std::move(the_chosen)),
        begins(static_cast<size_t>(experts) + 1, -7),
        row_pairs(chosen.size(), -7),
        row_tokens(chosen.size(), -7),
        pair_rows(chosen.size(), -7) {
    args = {.tokens = static_cast<int64_t>(chosen.size()) / per_token,
            .experts = experts,
            .per_token = per_token,
            .chosen = chosen.data(),
            .begins = begins.data(),
            .row_pairs = row_pairs.data(),
            .row_tokens = row_tokens.data(),
            .pair_rows = pair_rows.data()};
  }
  Sorted(const Sorted&) = delete;
};

// Different experts for each token, in ascending order; those below `first` for none.
Ints RandomChosen(std::mt19937& random, int64_t tokens, int64_t experts, int64_t per_token,
                  int64_t first = 0) {
  Ints chosen;
  Ints all(static_cast<size_t>(experts - first));
  std::iota(all.begin(), all.end(), static_cast<int32_t>(first));
  for (int64_t t = 0; t < tokens; ++t) {
    std::shuffle(all.begin(), all.end(), random);
    std::sort(all.begin(), all.begin() + per_token);
    chosen.insert(chosen.end(), all.begin(), all.begin() + per_token);
  }
  return chosen;
}

constexpr decltype(&DispatchHost) kBodies[] = {&DispatchReference, &DispatchHost};

TEST(Dispatch, SortsTheExampleOfTheHeader) {
  for (const auto body : kBodies) {
    Sorted sorted(3, 2, {0, 2, 0, 1, 1, 2});
    KernelLane lane(1);
    ASSERT_TRUE(body(lane.context(), sorted.args).ok());
    EXPECT_EQ(sorted.begins, (Ints{0, 2, 4, 6}));
    EXPECT_EQ(sorted.row_pairs, (Ints{0, 2, 3, 4, 1, 5}));
    EXPECT_EQ(sorted.row_tokens, (Ints{0, 1, 1, 2, 0, 2}));
    EXPECT_EQ(sorted.pair_rows, (Ints{0, 4, 1, 2, 3, 5}));
  }
}

TEST(Dispatch, ExpertsMayHaveNoTokensOrAllOfThem) {
  for (const auto body : kBodies) {
    KernelLane lane(1);
    Sorted to_one(5, 1, {3, 3, 3, 3});
    ASSERT_TRUE(body(lane.context(), to_one.args).ok());
    EXPECT_EQ(to_one.begins, (Ints{0, 0, 0, 0, 4, 4}));
    EXPECT_EQ(to_one.row_tokens, (Ints{0, 1, 2, 3}));
    Sorted to_all(3, 3, {0, 1, 2, 0, 1, 2});
    ASSERT_TRUE(body(lane.context(), to_all.args).ok());
    EXPECT_EQ(to_all.begins, (Ints{0, 2, 4, 6}));
    EXPECT_EQ(to_all.row_pairs, (Ints{0, 3, 1, 4, 2, 5}));
    Sorted one_token(4, 2, {1, 3});
    ASSERT_TRUE(body(lane.context(), one_token.args).ok());
    EXPECT_EQ(one_token.begins, (Ints{0, 0, 1, 1, 2}));
    EXPECT_EQ(one_token.pair_rows, (Ints{0, 1}));
    Sorted none(4, 2, {});
    ASSERT_TRUE(body(lane.context(), none.args).ok());
    EXPECT_EQ(none.begins, (Ints{0, 0, 0, 0, 0}));
  }
}

// Rows are pairs in the order of (expert, pair), which a stable sort gives.
RC_GTEST_PROP(DispatchProperty, RowsAreThePairsSortedByExpert, ()) {
  const auto experts = *rc::gen::inRange<int64_t>(1, 20);
  const auto per_token = *rc::gen::inRange<int64_t>(1, experts + 1);
  const auto tokens = *rc::gen::inRange<int64_t>(0, 60);
  std::mt19937 random(*rc::gen::arbitrary<uint32_t>());
  const Ints chosen = RandomChosen(random, tokens, experts, per_token);
  Ints pairs(chosen.size());
  std::iota(pairs.begin(), pairs.end(), 0);
  const auto expert_of = [&](int32_t pair) { return chosen[static_cast<size_t>(pair)]; };
  std::stable_sort(pairs.begin(), pairs.end(),
                   [&](int32_t a, int32_t b) { return expert_of(a) < expert_of(b); });
  for (const auto body : kBodies) {
    Sorted sorted(experts, per_token, chosen);
    KernelLane lane(1);
    RC_ASSERT(body(lane.context(), sorted.args).ok());
    RC_ASSERT(sorted.row_pairs == pairs);
    for (size_t row = 0; row < pairs.size(); ++row) {
      RC_ASSERT(sorted.row_tokens[row] == pairs[row] / per_token);
      RC_ASSERT(sorted.pair_rows[static_cast<size_t>(pairs[row])] == static_cast<int32_t>(row));
      const auto expert = static_cast<size_t>(expert_of(pairs[row]));
      RC_ASSERT(sorted.begins[expert] <= static_cast<int32_t>(row));
      RC_ASSERT(static_cast<int32_t>(row) < sorted.begins[expert + 1]);
    }
    RC_ASSERT(sorted.begins.front() == 0);
    RC_ASSERT(sorted.begins.back() == static_cast<int32_t>(pairs.size()));
  }
}

TEST(Dispatch, WhatCannotBeSortedIsRefusedWithItsValues) {
  KernelLane lane(1);
  const auto message = [&](const Dispatch& args) {
    const absl::Status status = DispatchHost(lane.context(), args);
    EXPECT_TRUE(absl::IsInvalidArgument(status)) << status;
    return std::string(status.message());
  };
  Sorted high(3, 2, {0, 1, 1, 3});
  EXPECT_NE(message(high.args).find("number 1 of token 1 is expert 3 of 3"), std::string::npos);
  Sorted low(3, 2, {-1, 1});
  EXPECT_NE(message(low.args).find("expert -1"), std::string::npos);
  Sorted descending(3, 2, {0, 1, 2, 1});
  EXPECT_NE(message(descending.args).find("after expert 2"), std::string::npos);
  Sorted twice(3, 2, {1, 1});
  message(twice.args);
  message({.tokens = -1, .experts = 3, .per_token = 2});
  message({.tokens = 1, .experts = 3, .per_token = 0});
  message({.tokens = 1, .experts = 3, .per_token = 4});
  EXPECT_NE(message({.tokens = int64_t{1} << 30, .experts = 3, .per_token = 2}).find("2^31"),
            std::string::npos);
}

// ---- Combine ----

struct Combined {
  CombinePairs args;
  Sorted sorted;
  GuardedFloats rows;
  GuardedFloats sum;

  Combined(int64_t tokens, int64_t experts, int64_t per_token, int64_t width, int64_t first = 0)
      : Combined(tokens, experts, per_token, width, first, std::mt19937(3)) {}
  Combined(int64_t tokens, int64_t experts, int64_t per_token, int64_t width, int64_t first,
           std::mt19937 random)
      : sorted(experts, per_token, RandomChosen(random, tokens, experts, per_token, first)),
        rows(RandomFloats(random, tokens * per_token * width)),
        sum(tokens * width, 0.625f) {
    KernelLane lane(1);
    EXPECT_TRUE(DispatchHost(lane.context(), sorted.args).ok());
    args = {.tokens = tokens,
            .per_token = per_token,
            .width = width,
            .first_expert = 0,
            .end_expert = experts,
            .chosen = sorted.chosen.data(),
            .pair_rows = sorted.pair_rows.data(),
            .rows = rows.data(),
            .sum = sum.data()};
  }
};

// Up to and past the number of rows that the host kernel reads side by side.
TEST(CombinePairs, AddsTheRowsOfAnExpertRangeInOrderOnEveryTarget) {
  ForEachTarget([&](const char* target) {
    for (const int64_t per_token : {1, 2, 7, 8, 9, 19}) {
      for (const int64_t width : {0, 1, 16, 37}) {
        for (const CombineOrder order : {CombineOrder::kAscending, CombineOrder::kDescending}) {
          for (const bool add : {false, true}) {
            Combined combined(33, 20, per_token, width);
            CombinePairs& args = combined.args;
            args.order = order;
            args.add = add;
            args.first_expert = 3;
            args.end_expert = 15;
            GuardedFloats expected(combined.sum.size());
            for (int64_t t = 0; t < args.tokens; ++t) {
              for (int64_t j = 0; j < width; ++j) {
                float sum = add ? 0.625f : 0.0f;
                for (int64_t step = 0; step < 12; ++step) {
                  const int64_t e = order == CombineOrder::kAscending ? 3 + step : 14 - step;
                  for (int64_t i = 0; i < per_token; ++i) {
                    const int64_t pair = t * per_token + i;
                    if (args.chosen[pair] != e) continue;
                    sum += combined.rows[args.pair_rows[pair] * width + j];
                  }
                }
                expected[t * width + j] = sum;
              }
            }
            Combined reference(33, 20, per_token, width);
            CombinePairs like = args;
            like.sum = reference.sum.data();
            KernelLane lane(2);
            ASSERT_TRUE(CombinePairsReference(lane.context(), like).ok());
            ASSERT_TRUE(CombinePairsHost(lane.context(), args).ok());
            ASSERT_TRUE(SameBits(reference.sum, expected));
            ASSERT_TRUE(SameBits(combined.sum, expected))
                << target << ": " << per_token << " a token, width " << width;
            ASSERT_TRUE(combined.sum.guards_hold());
          }
        }
      }
    }
  });
}

TEST(CombinePairs, CallsOverRangesGiveTheBitsOfOneCall) {
  constexpr int64_t kExperts = 24;
  for (const CombineOrder order : {CombineOrder::kAscending, CombineOrder::kDescending}) {
    Combined whole(200, kExperts, 10, 129);
    whole.args.order = order;
    KernelLane one(1);
    ASSERT_TRUE(CombinePairsHost(one.context(), whole.args).ok());
    std::mt19937 random(4);
    for (const int workers : {1, 2, 3, 5}) {
      Combined parts(200, kExperts, 10, 129);
      KernelLane lane(workers);
      std::vector<int64_t> cuts = {0};
      while (cuts.back() < kExperts) {
        cuts.push_back(
            std::min<int64_t>(kExperts, cuts.back() + static_cast<int64_t>(random() % 7)));
      }
      for (size_t i = 0; i + 1 < cuts.size(); ++i) {
        const size_t range = order == CombineOrder::kAscending ? i : cuts.size() - 2 - i;
        CombinePairs args = parts.args;
        args.order = order;
        args.first_expert = cuts[range];
        args.end_expert = cuts[range + 1];
        args.add = i > 0;
        ASSERT_TRUE(CombinePairsHost(lane.context(), args).ok());
      }
      EXPECT_TRUE(SameBits(parts.sum, whole.sum)) << workers << " workers";
    }
  }
}

TEST(CombinePairs, ATokenWithoutRowsInTheRangeIsZeroOrAsItWas) {
  for (const auto body : {&CombinePairsReference, &CombinePairsHost}) {
    for (const bool add : {false, true}) {
      Combined combined(10, 8, 2, 5, /*first=*/4);
      combined.args.end_expert = 4;
      combined.args.add = add;
      KernelLane lane(1);
      ASSERT_TRUE(body(lane.context(), combined.args).ok());
      for (const float sum : combined.sum.span()) EXPECT_EQ(sum, add ? 0.625f : 0.0f);
    }
  }
}

TEST(CombinePairs, ImpossibleSizesAreRefused) {
  KernelLane lane(1);
  for (int broken = 0; broken < 5; ++broken) {
    Combined combined(4, 8, 2, 5);
    CombinePairs& args = combined.args;
    if (broken == 0) args.tokens = -1;
    if (broken == 1) args.per_token = 0;
    if (broken == 2) args.width = -1;
    if (broken == 3) args.first_expert = -1;
    if (broken == 4) args.first_expert = 9;
    EXPECT_TRUE(absl::IsInvalidArgument(CombinePairsHost(lane.context(), args))) << broken;
  }
}

}  // namespace
}  // namespace horizon

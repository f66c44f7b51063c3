#include "kernels/attention/cached_attention.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <ostream>
#include <random>
#include <vector>

#include "kernels/attention/attention.h"
#include "tests/kernels/each_target.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr double kEpsilon = std::numeric_limits<float>::epsilon();

struct Case {
  int64_t batch = 1;
  int64_t places = 1;
  int64_t heads = 1;
  int64_t kv_heads = 1;
  int64_t head_dim = 1;
  bool has_sinks = false;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.batch << " rows of " << c.places << ", " << c.heads << "/" << c.kv_heads
             << " heads of " << c.head_dim << (c.has_sinks ? ", sinks" : "");
}

// A cache full of values up to each row's position, NaN behind it.
struct Arrays {
  Case sizes;
  std::vector<TokenRecord> records;
  GuardedFloats q, k, v, output, sinks;

  Arrays(std::mt19937& random, const Case& the_sizes)
      : sizes(the_sizes),
        records(static_cast<size_t>(sizes.batch)),
        q(RandomFloats(random, sizes.batch * sizes.heads * sizes.head_dim)),
        k(RandomFloats(random, sizes.batch * Row())),
        v(RandomFloats(random, sizes.batch * Row())),
        output(q.size(), kNan),
        // Some far below the other scores, some above them.
        sinks(RandomFloats(random, sizes.heads, 4)) {
    for (int64_t row = 0; row < sizes.batch; ++row) {
      // Below, at and past the number of places.
      const int64_t position =
          row == 0 ? sizes.places - 1 : static_cast<int64_t>(random()) % (2 * sizes.places);
      records[static_cast<size_t>(row)].position = static_cast<int32_t>(position);
      for (int64_t i = (position + 1) * sizes.kv_heads * sizes.head_dim; i < Row(); ++i) {
        k[row * Row() + i] = v[row * Row() + i] = kNan;
      }
    }
  }
  int64_t Row() const { return sizes.places * sizes.kv_heads * sizes.head_dim; }
  CachedAttention Args() {
    return {.cache = {.batch = sizes.batch,
                      .places = sizes.places,
                      .kv_heads = sizes.kv_heads,
                      .head_dim = sizes.head_dim,
                      .k = k.data(),
                      .v = v.data()},
            .heads = sizes.heads,
            .scale = static_cast<float>(1 / std::sqrt(static_cast<double>(sizes.head_dim))),
            .records = records.data(),
            .q = q.data(),
            .sinks = sizes.has_sinks ? ConstValues(sinks.data()) : ConstValues(),
            .output = output.data()};
  }
};

// Around one and two tiles of 256 places; groups of 1, 3 and 7; widths that are no whole vectors.
std::vector<Case> Cases() {
  std::vector<Case> cases = {{1, 1, 1, 1, 1},    {3, 2, 2, 1, 3},    {2, 255, 3, 1, 8},
                             {2, 256, 2, 2, 16}, {3, 257, 4, 2, 33}, {2, 600, 14, 2, 64},
                             {1, 513, 1, 1, 40}, {5, 40, 6, 3, 100}, {2, 300, 2, 1, 512},
                             {0, 4, 2, 1, 4},    {1, 700, 9, 3, 64}};
  for (size_t i = 0, count = cases.size(); i < count; ++i) {
    cases.push_back(cases[i]);
    cases.back().has_sinks = true;
  }
  return cases;
}

class CachedAttentionTest : public testing::TestWithParam<Case> {};

TEST_P(CachedAttentionTest, HostMatchesTheReferenceOnEveryTarget) {
  const Case& sizes = GetParam();
  std::mt19937 random(1);
  Arrays exact(random, sizes);
  const Arrays begin = exact;
  ASSERT_TRUE(CachedAttentionReference({}, exact.Args()).ok());
  // As of ordinary attention: roundings of a score of head_dim terms of size 1/4, which are errors
  // of a probability relative to itself, and those of a sum over the places.
  const double width = static_cast<double>(sizes.head_dim);
  const double score = kEpsilon / std::sqrt(width) * (4 + std::sqrt(width)) * width / 4;
  const double tolerance =
      2 * (score + kEpsilon * (8 + std::sqrt(static_cast<double>(sizes.places))));
  ForEachTarget([&](const char* target) {
    Arrays host = begin;
    KernelLane lane(2);
    ASSERT_TRUE(CachedAttentionHost(lane.context(), host.Args()).ok());
    for (int64_t i = 0; i < host.output.size(); ++i) {
      ASSERT_NEAR(host.output[i], exact.output[i], tolerance) << target << " at " << i;
    }
    EXPECT_TRUE(host.output.guards_hold());
    EXPECT_TRUE(lane.guard_holds());
  });
}

TEST_P(CachedAttentionTest, SameBitsForAnyNumberOfWorkers) {
  std::mt19937 random(2);
  const Arrays begin(random, GetParam());
  Arrays one = begin;
  KernelLane lane(1);
  ASSERT_TRUE(CachedAttentionHost(lane.context(), one.Args()).ok());
  for (const int workers : {2, 5}) {
    Arrays several = begin;
    KernelLane more(workers);
    ASSERT_TRUE(CachedAttentionHost(more.context(), several.Args()).ok());
    EXPECT_TRUE(SameBits(one.output, several.output)) << workers;
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, CachedAttentionTest, testing::ValuesIn(Cases()));

// A row alone, and beside others of other lengths.
TEST(CachedAttention, ARowDoesNotSeeTheOthers) {
  std::mt19937 random(3);
  Arrays together(random, {3, 300, 4, 2, 24, true});
  KernelLane lane(2);
  ASSERT_TRUE(CachedAttentionHost(lane.context(), together.Args()).ok());
  for (int64_t row = 0; row < 3; ++row) {
    Arrays alone(random, {1, 300, 4, 2, 24, true});
    alone.sinks = together.sinks;
    alone.records[0] = together.records[static_cast<size_t>(row)];
    const auto copy = [&](const GuardedFloats& from, GuardedFloats& to) {
      for (int64_t i = 0; i < to.size(); ++i) to[i] = from[row * to.size() + i];
    };
    copy(together.q, alone.q);
    copy(together.k, alone.k);
    copy(together.v, alone.v);
    ASSERT_TRUE(CachedAttentionHost(lane.context(), alone.Args()).ok());
    for (int64_t i = 0; i < alone.output.size(); ++i) {
      ASSERT_EQ(alone.output[i], together.output[row * alone.output.size() + i]);
    }
  }
}

// Texts longer and shorter than the window and than what the cache holds: every token's attention
// out of the cache is that of the whole text at once.
class TokenByToken : public testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Sinks, TokenByToken, testing::Bool());

TEST_P(TokenByToken, IsAttentionOfTheWholeText) {
  const bool has_sinks = GetParam();
  constexpr int64_t kTokens = 180;  // two rows of 90
  for (const int64_t window : {0, 1, 7, 64, 500}) {
    std::mt19937 random(4);
    const AttentionShape shape{.batch = 2,
                               .sequence = 90,
                               .heads = 4,
                               .kv_heads = 2,
                               .head_dim = 20,
                               .window = window,
                               .scale = 0.25f};
    const int64_t width = shape.kv_heads * shape.head_dim;
    const int64_t queries = shape.heads * shape.head_dim;
    const GuardedFloats q = RandomFloats(random, kTokens * queries);
    const GuardedFloats k = RandomFloats(random, kTokens * width);
    const GuardedFloats v = RandomFloats(random, kTokens * width);
    const GuardedFloats head_sinks = RandomFloats(random, shape.heads, 4);
    const ConstValues sinks = has_sinks ? ConstValues(head_sinks.data()) : ConstValues();
    GuardedFloats whole(q.size());
    GuardedFloats log_sum_exp(kTokens * shape.heads);
    std::vector<TokenRecord> records(kTokens);
    for (int32_t i = 0; i < kTokens; ++i) records[static_cast<size_t>(i)].position = i % 90;
    ASSERT_TRUE(AttentionForwardReference({}, {.shape = shape,
                                               .records = records.data(),
                                               .q = q.data(),
                                               .k = k.data(),
                                               .v = v.data(),
                                               .sinks = sinks,
                                               .output = whole.data(),
                                               .log_sum_exp = log_sum_exp.data()})
                    .ok());
    const int64_t places = window > 0 ? std::min<int64_t>(window, 90) : 90;
    GuardedFloats k_cache(2 * places * width, kNan);
    GuardedFloats v_cache(2 * places * width, kNan);
    const KvCache cache{.batch = 2,
                        .places = places,
                        .kv_heads = shape.kv_heads,
                        .head_dim = shape.head_dim,
                        .k = k_cache.data(),
                        .v = v_cache.data()};
    KernelLane lane(2);
    // The second row is a token behind the first.
    for (int32_t t = 1; t < 90; ++t) {
      const TokenRecord now[] = {{.position = t}, {.position = t - 1}};
      GuardedFloats q_now(2 * queries);
      GuardedFloats k_now(2 * width);
      GuardedFloats v_now(2 * width);
      GuardedFloats output(2 * queries, kNan);
      if (t == 1) {  // a prompt of one token in the first row
        ASSERT_TRUE(StoreKeysHost(lane.context(), {.cache = cache,
                                                   .sequence = 1,
                                                   .records = std::vector<TokenRecord>(2).data(),
                                                   .k = k.data(),
                                                   .v = v.data()})
                        .ok());
      }
      for (int64_t row = 0; row < 2; ++row) {
        const int64_t token = row * 90 + now[row].position;
        std::copy_n(q.data() + token * queries, queries, q_now.data() + row * queries);
        std::copy_n(k.data() + token * width, width, k_now.data() + row * width);
        std::copy_n(v.data() + token * width, width, v_now.data() + row * width);
      }
      ASSERT_TRUE(
          StoreKeysHost(
              lane.context(),
              {.cache = cache, .sequence = 1, .records = now, .k = k_now.data(), .v = v_now.data()})
              .ok());
      ASSERT_TRUE(CachedAttentionHost(lane.context(), {.cache = cache,
                                                       .heads = shape.heads,
                                                       .scale = shape.scale,
                                                       .records = now,
                                                       .q = q_now.data(),
                                                       .sinks = sinks,
                                                       .output = output.data()})
                      .ok());
      for (int64_t row = 0; row < 2; ++row) {
        const int64_t token = row * 90 + now[row].position;
        for (int64_t i = 0; i < queries; ++i) {
          // Outputs of at most 1, sums of at most 90 terms.
          ASSERT_NEAR(output[row * queries + i], whole[token * queries + i], 40 * kEpsilon)
              << "window " << window << ", token " << t << ", row " << row;
        }
      }
    }
    EXPECT_TRUE(k_cache.guards_hold() && v_cache.guards_hold());
  }
}

// Prompts of several lengths, padded, some longer than the cache.
TEST(StoreKeys, HostStoresWhatTheReferenceStores) {
  for (const int64_t places : {1, 5, 16, 40}) {
    std::mt19937 random(5);
    constexpr int64_t kRows = 4;
    constexpr int64_t kSequence = 24;
    constexpr int64_t kWidth = 6;  // two heads of 3
    const GuardedFloats k = RandomFloats(random, kRows * kSequence * kWidth);
    const GuardedFloats v = RandomFloats(random, kRows * kSequence * kWidth);
    std::vector<TokenRecord> records(kRows * kSequence);
    const int64_t lengths[kRows] = {24, 1, 17, 5};
    for (int64_t row = 0; row < kRows; ++row) {
      for (int64_t t = 0; t < kSequence; ++t) {
        records[static_cast<size_t>(row * kSequence + t)].position =
            static_cast<int32_t>(t < lengths[row] ? t : t - lengths[row]);
      }
    }
    struct Caches {
      GuardedFloats k, v;
    };
    const auto store = [&](auto kernel, const KernelContext& context) {
      Caches caches{GuardedFloats(kRows * places * kWidth, 7.0f),
                    GuardedFloats(kRows * places * kWidth, 7.0f)};
      EXPECT_TRUE(kernel(context, StoreKeys{.cache = {.batch = kRows,
                                                      .places = places,
                                                      .kv_heads = 2,
                                                      .head_dim = 3,
                                                      .k = caches.k.data(),
                                                      .v = caches.v.data()},
                                            .sequence = kSequence,
                                            .records = records.data(),
                                            .k = k.data(),
                                            .v = v.data()})
                      .ok());
      EXPECT_TRUE(caches.k.guards_hold() && caches.v.guards_hold());
      return caches;
    };
    KernelLane lane(3);
    const Caches host = store(StoreKeysHost, lane.context());
    const Caches exact = store(StoreKeysReference, {});
    EXPECT_TRUE(SameBits(host.k, exact.k));
    EXPECT_TRUE(SameBits(host.v, exact.v));
    // The newest token of each row is there; a padding token is not.
    for (int64_t row = 0; row < kRows; ++row) {
      const int64_t last = lengths[row] - 1;
      EXPECT_EQ(host.k[(row * places + last % places) * kWidth],
                k[(row * kSequence + last) * kWidth]);
      if (lengths[row] < places) {
        EXPECT_EQ(host.v[(row * places + lengths[row]) * kWidth], 7.0f);
      }
    }
  }
}

TEST(CachedAttention, HugeScoresDoNotOverflow) {
  std::mt19937 random(6);
  Arrays arrays(random, {2, 600, 2, 1, 16});
  for (float& value : arrays.q.span()) value *= 1e4f;
  KernelLane lane(1);
  ASSERT_TRUE(CachedAttentionHost(lane.context(), arrays.Args()).ok());
  for (const float value : arrays.output.span()) ASSERT_LE(std::fabs(value), 1.0f + kEpsilon);
}

// Far below the scores a sink is nothing, not even a rounding; far above them it takes everything.
TEST(CachedAttention, SinksFarFromTheScores) {
  std::mt19937 random(8);
  Arrays without(random, {2, 600, 4, 2, 24});
  Arrays low = without;
  low.sizes.has_sinks = true;
  for (float& sink : low.sinks.span()) sink = -1e4f;
  Arrays high = low;
  for (float& sink : high.sinks.span()) sink = 1e4f;
  KernelLane lane(2);
  for (Arrays* arrays : {&without, &low, &high}) {
    ASSERT_TRUE(CachedAttentionHost(lane.context(), arrays->Args()).ok());
  }
  EXPECT_TRUE(SameBits(low.output, without.output));
  for (const float value : high.output.span()) EXPECT_EQ(value, 0.0f);
}

TEST(CachedAttention, ImpossibleSizesAreRefused) {
  std::mt19937 random(7);
  KernelLane lane(1);
  for (int broken = 0; broken < 7; ++broken) {
    Arrays arrays(random, {1, 4, 4, 2, 8});
    CachedAttention args = arrays.Args();
    if (broken == 0) args.cache.batch = -1;
    if (broken == 1) args.cache.places = 0;
    if (broken == 2) args.cache.kv_heads = 0;
    if (broken == 3) args.cache.head_dim = 0;
    if (broken == 4) args.heads = 3;
    if (broken == 5) args.heads = 0;
    if (broken == 6) args.heads = 1 << 20;
    EXPECT_TRUE(absl::IsInvalidArgument(CachedAttentionHost(lane.context(), args))) << broken;
    if (broken > 3) continue;
    EXPECT_TRUE(absl::IsInvalidArgument(
        StoreKeysHost(lane.context(), {.cache = args.cache, .sequence = 1})))
        << broken;
  }
}

}  // namespace
}  // namespace horizon

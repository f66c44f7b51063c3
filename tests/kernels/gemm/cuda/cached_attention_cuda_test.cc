#include <gtest/gtest.h>

#include <ostream>

#include "kernels/attention/cached_attention.h"
#include "tests/kernels/gemm/cuda/device_lane.h"
#include "tests/kernels/support/bf16_values.h"
#include "tests/kernels/support/token_rows.h"

namespace horizon {
namespace {

struct Case {
  int64_t batch, places, heads, kv_heads, head_dim;
  bool has_sinks = false;

  int64_t cells() const { return batch * places * kv_heads * head_dim; }
  KvCache cache(Values k, Values v) const {
    return {.batch = batch,
            .places = places,
            .kv_heads = kv_heads,
            .head_dim = head_dim,
            .k = k,
            .v = v};
  }
};
std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.batch << " x " << c.places << ", " << c.heads << "/" << c.kv_heads << " of "
             << c.head_dim << (c.has_sinks ? ", sinks" : "");
}

class CachedAttentionCudaTest : public testing::TestWithParam<Case> {};

TEST_P(CachedAttentionCudaTest, MatchesTheReference) {
  const Case& c = GetParam();
  std::mt19937 random(1);
  const std::vector<uint16_t> k = RandomBf16(random, c.cells()), v = RandomBf16(random, c.cells());
  const std::vector<uint16_t> q = RandomBf16(random, c.batch * c.heads * c.head_dim);
  // They begin at any address: behind a number that is not one.
  const std::vector<uint16_t> sinks = RandomBf16(random, 1 + c.heads, 3);
  const auto sinks_at = [&](const auto* first) {
    return c.has_sinks ? ConstValues(first + 1) : ConstValues();
  };
  // Rows that see one place, all but one, all, and that have gone round.
  for (const int64_t position : {int64_t{0}, c.places - 1, c.places, 3 * c.places + 1}) {
    std::vector<TokenRecord> records;
    for (int64_t row = 0; row < c.batch; ++row) {
      records.push_back({.position = static_cast<int32_t>(std::max<int64_t>(0, position - row))});
    }
    std::vector<float> wide_k = Widened(k), wide_v = Widened(v), expected(q.size());
    const std::vector<float> wide_q = Widened(q), wide_sinks = Widened(sinks);
    ASSERT_TRUE(CachedAttentionReference({}, {.cache = c.cache(wide_k.data(), wide_v.data()),
                                              .heads = c.heads,
                                              .scale = 0.5f,
                                              .records = records.data(),
                                              .q = wide_q.data(),
                                              .sinks = sinks_at(wide_sinks.data()),
                                              .output = expected.data()})
                    .ok());
    const auto on_device = [&](uint64_t seed) {
      const KvCache sizes = c.cache(nullptr, nullptr);
      DeviceLane lane(seed, CachedAttentionWorkspaceBytes(sizes, c.heads));
      auto* output = lane.Allocate<uint16_t>(q.size());
      EXPECT_EQ(
          CachedAttentionCuda(lane.context(), {.cache = c.cache(lane.Upload(k), lane.Upload(v)),
                                               .heads = c.heads,
                                               .scale = 0.5f,
                                               .records = lane.Upload(records),
                                               .q = lane.Upload(q),
                                               .sinks = sinks_at(lane.Upload(sinks)),
                                               .output = output}),
          absl::OkStatus());
      return Widened(lane.Download(output, static_cast<int64_t>(q.size())));
    };
    const std::vector<float> actual = on_device(1);
    // Probabilities stay fp32: the result alone is rounded to bf16. A score is a sum of head_dim
    // terms, and the weighted sum one of `places`.
    const auto terms = static_cast<double>(c.head_dim * c.head_dim + c.places);
    ExpectNear("output", actual, expected, [&](size_t i) {
      return kBf16Unit * std::fabs(expected[i]) + 2 * terms * kFp32Unit;
    });
    EXPECT_EQ(on_device(5), actual);
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, CachedAttentionCudaTest,
                         testing::Values(Case{1, 1, 1, 1, 8}, Case{3, 5, 4, 2, 24},
                                         Case{2, 256, 2, 1, 16}, Case{2, 257, 3, 1, 8},
                                         Case{1, 600, 2, 1, 64}, Case{1, 300, 1, 1, 256},
                                         Case{1, 20, 7, 1, 512}, Case{0, 4, 2, 1, 8}));
INSTANTIATE_TEST_SUITE_P(Sinks, CachedAttentionCudaTest,
                         testing::Values(Case{1, 1, 1, 1, 8, true}, Case{3, 5, 4, 2, 24, true},
                                         Case{2, 257, 3, 1, 8, true}, Case{1, 600, 2, 2, 64, true},
                                         Case{0, 4, 2, 1, 8, true}));

// Rows of one and of several samples, shorter and longer than the cache.
TEST(StoreKeysCuda, StoresWhatTheReferenceStores) {
  std::mt19937 random(2);
  for (const int64_t places : {1, 3, 16, 40}) {
    for (const int64_t sequence : {1, 5, 16, 33}) {
      for (const int64_t longest : {0, 4, 30}) {
        const Case c = {2, places, 2, 2, 8};
        std::vector<TokenRecord> records =
            longest > 0 ? PackedRows(2, sequence, longest, random) : WholeRows(2, sequence);
        // The second row goes on at position 100.
        for (int64_t t = 0; t < sequence; ++t) {
          TokenRecord& record = records[static_cast<size_t>(sequence + t)];
          if (record.position != t) break;
          record.position += 100;
        }
        const std::vector<uint16_t> k = RandomBf16(random, 2 * sequence * 16);
        const std::vector<uint16_t> v = RandomBf16(random, 2 * sequence * 16);
        const std::vector<uint16_t> before(static_cast<size_t>(c.cells()), 0x3F80);
        std::vector<float> expected_k = Widened(before), expected_v = Widened(before);
        const std::vector<float> wide_k = Widened(k), wide_v = Widened(v);
        ASSERT_TRUE(StoreKeysReference({}, {.cache = c.cache(expected_k.data(), expected_v.data()),
                                            .sequence = sequence,
                                            .records = records.data(),
                                            .k = wide_k.data(),
                                            .v = wide_v.data()})
                        .ok());
        DeviceLane lane;
        uint16_t* cached_k = lane.Upload(before);
        uint16_t* cached_v = lane.Upload(before);
        ASSERT_EQ(StoreKeysCuda(lane.context(), {.cache = c.cache(cached_k, cached_v),
                                                 .sequence = sequence,
                                                 .records = lane.Upload(records),
                                                 .k = lane.Upload(k),
                                                 .v = lane.Upload(v)}),
                  absl::OkStatus());
        EXPECT_EQ(Widened(lane.Download(cached_k, c.cells())), expected_k)
            << places << " places, " << sequence << " tokens, samples up to " << longest;
        EXPECT_EQ(Widened(lane.Download(cached_v, c.cells())), expected_v);
      }
    }
  }
}

TEST(CachedAttentionCuda, RefusesWhatItDoesNotPromise) {
  DeviceLane lane(1, 4096);
  uint16_t* memory = lane.Upload(std::vector<uint16_t>(4096));
  const TokenRecord* records = lane.Upload(std::vector<TokenRecord>(1));
  CachedAttention args = {
      .cache =
          {.batch = 1, .places = 4, .kv_heads = 1, .head_dim = 12, .k = memory, .v = memory + 256},
      .heads = 2,
      .records = records,
      .q = memory + 512,
      .output = memory + 1024};
  constexpr auto kInvalid = absl::StatusCode::kInvalidArgument;
  EXPECT_EQ(CachedAttentionCuda(lane.context(), args).code(), kInvalid);
  args.cache.head_dim = 16;
  EXPECT_EQ(CachedAttentionCuda(lane.context(), args), absl::OkStatus());
  args.heads = 0;
  EXPECT_EQ(CachedAttentionCuda(lane.context(), args).code(), kInvalid);
  args.heads = 2;
  args.q = memory + 513;
  EXPECT_EQ(CachedAttentionCuda(lane.context(), args).code(), kInvalid);
}

}  // namespace
}  // namespace horizon

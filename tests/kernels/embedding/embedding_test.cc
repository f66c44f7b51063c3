#include "kernels/embedding/embedding.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <map>
#include <random>
#include <vector>

#include "tests/kernels/each_target.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

constexpr int64_t kVocabulary = 23;

// `skew`: the share of tokens that are all the same.
std::vector<TokenRecord> Tokens(int64_t count, double skew, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<TokenRecord> records(static_cast<size_t>(count));
  for (TokenRecord& record : records) {
    const bool same = static_cast<double>(random()) < skew * 0x1p32;
    record.id = same ? 5 : static_cast<int32_t>(random() % kVocabulary);
    record.next_same = 12345;  // whatever was there before
    record.is_first = 12345;
  }
  LinkSameTokens(records);
  return records;
}

TEST(LinkSameTokens, LinksEveryIdInAscendingOrder) {
  for (const int64_t count : {0, 1, 2, 50, 3000}) {
    for (const double skew : {0.0, 0.5, 1.0}) {
      const std::vector<TokenRecord> records = Tokens(count, skew, 1);
      std::map<int32_t, int64_t> last;
      for (int64_t t = 0; t < count; ++t) {
        const TokenRecord& record = records[static_cast<size_t>(t)];
        const auto found = last.find(record.id);
        ASSERT_EQ(record.is_first, found == last.end() ? 1 : 0) << t;
        if (found != last.end()) {
          ASSERT_EQ(records[static_cast<size_t>(found->second)].next_same, t);
        }
        last[record.id] = t;
      }
      for (const auto& [id, t] : last) {
        ASSERT_EQ(records[static_cast<size_t>(t)].next_same, -1) << "id " << id;
      }
    }
  }
}

TEST(LinkSameTokens, KeepsIdsAndLabelsAndTakesAnyId) {
  std::vector<TokenRecord> records = {{.id = INT32_MAX, .label = 3}, {.id = 0}, {.id = INT32_MAX}};
  LinkSameTokens(records);
  EXPECT_EQ(records[0].id, INT32_MAX);
  EXPECT_EQ(records[0].label, 3);
  EXPECT_EQ(records[0].next_same, 2);
  EXPECT_EQ(records[1].next_same, -1);
  EXPECT_EQ(records[2].is_first, 0);
}

// A shard of the vocabulary; all of it first.
struct Shard {
  int64_t first_row;
  int64_t rows;
};
const std::vector<Shard>& Shards() {
  static const std::vector<Shard> shards = {{0, kVocabulary}, {0, 6}, {5, 1}, {6, 17}, {0, 0}};
  return shards;
}

struct Shape {
  int64_t tokens;
  int64_t hidden;
};
const std::vector<Shape>& Shapes() {
  static const std::vector<Shape> shapes = {{0, 8}, {1, 1}, {33, 7}, {100, 64}, {70, 1030}};
  return shapes;
}

// None, sqrt(2048), and one that is negative.
constexpr float kScales[] = {1.0f, 45.254834f, -0.3f};

TEST(Embedding, ForwardAndGatherEqualTheReference) {
  for (const float scale : kScales) {
    for (const Shape shape : Shapes()) {
      for (const Shard shard : Shards()) {
        const std::vector<TokenRecord> records = Tokens(shape.tokens, 0.3, 2);
        std::mt19937 random(3);
        const GuardedFloats table = RandomFloats(random, shard.rows * shape.hidden);
        std::vector<uint16_t> hi(static_cast<size_t>(table.size()) + 1);
        std::vector<int16_t> lo(hi.size());
        for (uint16_t& half : hi) half = static_cast<uint16_t>(random() % 0x7F00);
        for (int16_t& half : lo) half = static_cast<int16_t>(random());
        const EmbedForward embed = {.tokens = shape.tokens,
                                    .hidden = shape.hidden,
                                    .first_row = shard.first_row,
                                    .rows = shard.rows,
                                    .scale = scale,
                                    .records = records.data(),
                                    .table = table.data()};
        for (const int form : {0, 1, 2}) {  // a table, the high halves, both halves
          const GatherRows gather = {.tokens = shape.tokens,
                                     .hidden = shape.hidden,
                                     .first_row = shard.first_row,
                                     .rows = shard.rows,
                                     .scale = scale,
                                     .records = records.data(),
                                     .hi = hi.data() + 1,
                                     .lo = form == 2 ? lo.data() + 1 : nullptr};
          const auto run = [&](const KernelContext& context, bool host) {
            GuardedFloats output(shape.tokens * shape.hidden, 9.0f);
            if (form == 0) {
              EmbedForward args = embed;
              args.output = output.data();
              EXPECT_TRUE((host ? EmbedForwardHost : EmbedForwardReference)(context, args).ok());
            } else {
              GatherRows args = gather;
              args.output = output.data();
              EXPECT_TRUE((host ? GatherRowsHost : GatherRowsReference)(context, args).ok());
            }
            EXPECT_TRUE(output.guards_hold());
            return output;
          };
          KernelLane one(1);
          const GuardedFloats expected = run(one.context(), false);
          for (const int workers : {1, 2, 3, 5}) {
            KernelLane lane(workers);
            ASSERT_TRUE(SameBits(run(lane.context(), true), expected)) << form << " " << workers;
          }
          // Rows of other shards: zero from the first shard, untouched by others.
          for (int64_t t = 0; t < shape.tokens; ++t) {
            const int64_t id = records[static_cast<size_t>(t)].id;
            if (id >= shard.first_row && id < shard.first_row + shard.rows) continue;
            ASSERT_EQ(expected[t * shape.hidden], shard.first_row == 0 ? 0.0f : 9.0f);
          }
        }
      }
    }
  }
}

// The sums by hand: fp32, in ascending order of position, found by search; then times scale.
std::vector<float> SumsOf(const std::vector<TokenRecord>& records, const GuardedFloats& gradients,
                          int64_t hidden, int64_t row, float scale) {
  std::vector<float> sums;
  for (size_t t = 0; t < records.size(); ++t) {
    if (records[t].id != row) continue;
    const float* from = gradients.data() + static_cast<int64_t>(t) * hidden;
    if (sums.empty()) {
      sums.assign(from, from + hidden);
    } else {
      for (size_t c = 0; c < sums.size(); ++c) sums[c] += from[c];
    }
  }
  for (float& sum : sums) sum *= scale;
  return sums;
}

uint16_t ToBf16(float value) {
  const uint32_t bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16);
}
float FromBf16(uint16_t half) { return std::bit_cast<float>(uint32_t{half} << 16); }

// What a stored or kept element must be, by the contract.
float Expected(bool in_batch, float sum, float before, bool add, bool rounded) {
  if (!in_batch) return add ? before : 0.0f;
  const float value = rounded ? FromBf16(ToBf16(sum)) : sum;
  return add ? before + value : value;
}

TEST(Embedding, BackwardSumsAnIdsRowsInOrderForAllWorkersAndTargets) {
  for (const float scale : kScales) {
    for (const Shape shape : Shapes()) {
      for (const Shard shard : Shards()) {
        const std::vector<TokenRecord> records = Tokens(shape.tokens, 0.5, 4);
        std::mt19937 random(5);
        const GuardedFloats gradient = RandomFloats(random, shape.tokens * shape.hidden);
        const EmbedBackward args = {.tokens = shape.tokens,
                                    .hidden = shape.hidden,
                                    .first_row = shard.first_row,
                                    .rows = shard.rows,
                                    .scale = scale,
                                    .records = records.data(),
                                    .output_gradient = gradient.data()};
        const auto expect = [&](KernelContext context, bool add, bool rounded, const char* what) {
          EmbedBackward here = args;
          GuardedFloats sum(shard.rows * shape.hidden, 0.75f);
          here.gradient = {.sum = sum.data(), .add = add, .rounded = rounded};
          ASSERT_TRUE(EmbedBackwardHost(context, here).ok());
          std::vector<uint16_t> leaving(static_cast<size_t>(sum.size()) + 1, 0xABCD);
          here.gradient = {.bf16 = leaving.data() + 1};
          ASSERT_TRUE(EmbedBackwardHost(context, here).ok());
          for (int64_t row = 0; row < shard.rows; ++row) {
            const auto sums = SumsOf(records, gradient, shape.hidden, shard.first_row + row, scale);
            for (int64_t c = 0; c < shape.hidden; ++c) {
              const float exact = sums.empty() ? 0.0f : sums[static_cast<size_t>(c)];
              const int64_t at = row * shape.hidden + c;
              ASSERT_EQ(sum[at], Expected(!sums.empty(), exact, 0.75f, add, rounded)) << what;
              ASSERT_EQ(leaving[static_cast<size_t>(at) + 1], ToBf16(exact)) << what;
            }
          }
          ASSERT_EQ(leaving[0], 0xABCD);
          ASSERT_TRUE(sum.guards_hold());
        };
        for (const int workers : {1, 2, 3, 5}) {
          KernelLane lane(workers);
          expect(lane.context(), workers % 2 == 0, workers >= 2, "workers");
        }
        KernelLane one(1);
        expect(one.context(), true, false, "adding");
        ForEachTarget([&](const char* target) { expect(one.context(), true, true, target); });
      }
    }
  }
}

TEST(Embedding, ScatterAddsToOrReplacesWhatIsKept) {
  for (const float scale : kScales) {
    for (const Shape shape : Shapes()) {
      for (const Shard shard : Shards()) {
        const std::vector<TokenRecord> records = Tokens(shape.tokens, 0.5, 6);
        std::mt19937 random(7);
        const GuardedFloats gradient = RandomFloats(random, shape.tokens * shape.hidden);
        for (const int workers : {1, 2, 3, 5}) {
          for (const bool clear : {false, true}) {
            for (const bool rounded : {false, true}) {
              KernelLane lane(workers);
              ScatterRows args = {.tokens = shape.tokens,
                                  .hidden = shape.hidden,
                                  .first_row = shard.first_row,
                                  .rows = shard.rows,
                                  .scale = scale,
                                  .records = records.data(),
                                  .row_gradients = gradient.data(),
                                  .rounded = rounded,
                                  .clear = clear};
              GuardedFloats kept(shard.rows * shape.hidden, 0.75f);
              args.kept_fp32 = kept.data();
              ASSERT_TRUE(ScatterRowsHost(lane.context(), args).ok());
              std::vector<uint16_t> narrow(static_cast<size_t>(kept.size()) + 1, ToBf16(0.75f));
              args.kept_fp32 = nullptr;
              args.kept_bf16 = narrow.data() + 1;
              ASSERT_TRUE(ScatterRowsHost(lane.context(), args).ok());
              for (int64_t row = 0; row < shard.rows; ++row) {
                const auto sums =
                    SumsOf(records, gradient, shape.hidden, shard.first_row + row, scale);
                for (int64_t c = 0; c < shape.hidden; ++c) {
                  const float exact = sums.empty() ? 0.0f : sums[static_cast<size_t>(c)];
                  const float expected = Expected(!sums.empty(), exact, 0.75f, !clear, rounded);
                  const int64_t at = row * shape.hidden + c;
                  ASSERT_EQ(kept[at], expected);
                  ASSERT_EQ(narrow[static_cast<size_t>(at) + 1], ToBf16(expected));
                }
              }
              ASSERT_TRUE(kept.guards_hold());
            }
          }
        }
      }
    }
  }
}

// As the rows of a device that keeps activations in bf16.
TEST(Embedding, RowsOfBf16AreThoseOfFp32) {
  for (const float scale : kScales) {
    for (const Shape shape : Shapes()) {
      for (const Shard shard : Shards()) {
        const std::vector<TokenRecord> records = Tokens(shape.tokens, 0.5, 6);
        std::mt19937 random(7);
        std::vector<uint16_t> narrow(static_cast<size_t>(shape.tokens * shape.hidden));
        std::vector<float> wide(narrow.size());
        for (size_t i = 0; i < narrow.size(); ++i) {
          narrow[i] = ToBf16(static_cast<float>(random() % 2000) - 1000.0f);
          wide[i] = std::bit_cast<float>(uint32_t{narrow[i]} << 16);
        }
        std::vector<uint16_t> hi(static_cast<size_t>(shard.rows * shape.hidden));
        for (uint16_t& half : hi) half = static_cast<uint16_t>(random() % 0x7F00);
        KernelLane lane(2);
        const auto scatter = [&](ConstValues rows) {
          std::vector<float> kept(hi.size(), 0.75f);
          EXPECT_TRUE(ScatterRowsHost(lane.context(), {.tokens = shape.tokens,
                                                       .hidden = shape.hidden,
                                                       .first_row = shard.first_row,
                                                       .rows = shard.rows,
                                                       .scale = scale,
                                                       .records = records.data(),
                                                       .row_gradients = rows,
                                                       .kept_fp32 = kept.data()})
                          .ok());
          return kept;
        };
        EXPECT_EQ(scatter(narrow.data()), scatter(wide.data()));
        const auto gather = [&](Values rows) {
          return GatherRowsHost(lane.context(), {.tokens = shape.tokens,
                                                 .hidden = shape.hidden,
                                                 .first_row = shard.first_row,
                                                 .rows = shard.rows,
                                                 .scale = scale,
                                                 .records = records.data(),
                                                 .hi = hi.data(),
                                                 .output = rows});
        };
        std::vector<uint16_t> halves(narrow.size(), 7);
        std::vector<float> floats(narrow.size(), std::bit_cast<float>(uint32_t{7} << 16));
        ASSERT_TRUE(gather(halves.data()).ok());
        ASSERT_TRUE(gather(floats.data()).ok());
        for (size_t i = 0; i < halves.size(); ++i) ASSERT_EQ(halves[i], ToBf16(floats[i])) << i;
      }
    }
  }
}

// The references sum in double: off by one rounding for each of at most 100 tokens of up to 1, and
// when rounded to bf16, by a unit of that.
TEST(Embedding, BackwardAndScatterEqualTheReference) {
  for (const float scale : kScales) {
    const Shape shape = {100, 64};
    const std::vector<TokenRecord> records = Tokens(shape.tokens, 0.4, 8);
    std::mt19937 random(9);
    const GuardedFloats gradient = RandomFloats(random, shape.tokens * shape.hidden);
    KernelLane lane(2);
    for (const Shard shard : Shards()) {
      for (const bool add : {false, true}) {
        for (const bool rounded : {false, true}) {
          const double bound = std::fabs(scale) * (rounded ? 64 * 0x1p-7 : 100 * 100 * 0x1p-24);
          GuardedFloats host(shard.rows * shape.hidden, 0.5f);
          GuardedFloats reference = host;
          GuardedFloats kept = host;
          GuardedFloats reference_kept = host;
          EmbedBackward args = {.tokens = shape.tokens,
                                .hidden = shape.hidden,
                                .first_row = shard.first_row,
                                .rows = shard.rows,
                                .scale = scale,
                                .records = records.data(),
                                .output_gradient = gradient.data(),
                                .gradient = {.sum = host.data(), .add = add, .rounded = rounded}};
          ASSERT_TRUE(EmbedBackwardHost(lane.context(), args).ok());
          args.gradient.sum = reference.data();
          ASSERT_TRUE(EmbedBackwardReference(lane.context(), args).ok());
          ScatterRows scatter = {.tokens = shape.tokens,
                                 .hidden = shape.hidden,
                                 .first_row = shard.first_row,
                                 .rows = shard.rows,
                                 .scale = scale,
                                 .records = records.data(),
                                 .row_gradients = gradient.data(),
                                 .rounded = rounded,
                                 .clear = !add,
                                 .kept_fp32 = kept.data()};
          ASSERT_TRUE(ScatterRowsHost(lane.context(), scatter).ok());
          scatter.kept_fp32 = reference_kept.data();
          ASSERT_TRUE(ScatterRowsReference(lane.context(), scatter).ok());
          for (int64_t i = 0; i < host.size(); ++i) {
            ASSERT_NEAR(host[i], reference[i], bound);
            ASSERT_NEAR(kept[i], reference_kept[i], bound);
          }
        }
      }
    }
  }
}

// Forward copies table rows, times scale; the gradient of the table is its transpose: <forward(T),
// g> = <T, backward(g)>, which finite differences would show with more error.
TEST(Embedding, BackwardIsForwardTransposed) {
  for (const float scale : kScales) {
    const Shape shape = {100, 64};
    const std::vector<TokenRecord> records = Tokens(shape.tokens, 0.4, 10);
    std::mt19937 random(11);
    const GuardedFloats gradient = RandomFloats(random, shape.tokens * shape.hidden);
    const GuardedFloats table = RandomFloats(random, kVocabulary * shape.hidden);
    KernelLane lane(2);
    GuardedFloats output(gradient.size());
    GuardedFloats table_gradient(table.size());
    ASSERT_TRUE(EmbedForwardHost(lane.context(), {.tokens = shape.tokens,
                                                  .hidden = shape.hidden,
                                                  .rows = kVocabulary,
                                                  .scale = scale,
                                                  .records = records.data(),
                                                  .table = table.data(),
                                                  .output = output.data()})
                    .ok());
    ASSERT_TRUE(EmbedBackwardHost(lane.context(), {.tokens = shape.tokens,
                                                   .hidden = shape.hidden,
                                                   .rows = kVocabulary,
                                                   .scale = scale,
                                                   .records = records.data(),
                                                   .output_gradient = gradient.data(),
                                                   .gradient = {.sum = table_gradient.data()}})
                    .ok());
    double left = 0.0;
    double right = 0.0;
    for (int64_t i = 0; i < output.size(); ++i) left += double{output[i]} * gradient[i];
    for (int64_t i = 0; i < table.size(); ++i) right += double{table[i]} * table_gradient[i];
    // 6400 addends below 1 (times scale), each rounded at most 100 times.
    EXPECT_NEAR(left, right, std::fabs(scale) * 6400 * 100 * 0x1p-24);
  }
}

}  // namespace
}  // namespace horizon

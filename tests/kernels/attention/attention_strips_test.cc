#include "kernels/attention/attention_strips.h"

#include <gtest/gtest.h>

#include <map>
#include <random>
#include <utility>
#include <vector>

#include "tests/kernels/support/token_rows.h"

namespace horizon {
namespace {

using Pair = std::pair<int64_t, int64_t>;

// How often forward (over runs of keys) or backward (over runs of queries) multiplies each pair of
// a strip of queries and a strip of keys of one sample of `length` tokens.
enum class Pass { kForward, kBackward };
std::map<Pair, int> MultipliedPairs(Pass pass, int64_t length, int64_t window, int64_t query_tile,
                                    int64_t key_tile) {
  std::map<Pair, int> times;
  for (int64_t q = 0; q < TileCount(length, query_tile); ++q) {
    const QueryStrips strips(TileAt(length, query_tile, q), window);
    const auto count = [&](const Positions& queries, const Positions& keys) {
      for (int64_t i = queries.begin; i < queries.end; ++i) {
        for (int64_t j = keys.begin; j < keys.end; ++j) ++times[{i, j}];
      }
    };
    for (int64_t k = 0; k < TileCount(length, key_tile); ++k) {
      const Positions keys = StripsOf(TileAt(length, key_tile, k));
      if (pass == Pass::kForward) {
        ForEachRunOfKeys(strips, Intersection(keys, strips.MetByAll()),
                         [&](const Positions& rows, const Positions& met) { count(met, rows); });
      } else {
        ForEachRunOfQueries(strips, keys, count);
      }
    }
  }
  return times;
}

bool Sees(int64_t query, int64_t key, int64_t window) {
  return key <= query && (window == 0 || query - key < window);
}

TEST(AttentionStrips, ExactlyThePairsWithAVisibleKeyAreMultipliedOnce) {
  for (const int64_t length : {1, 15, 16, 17, 63, 64, 65, 200, 300, 530}) {
    for (const int64_t window : {0, 1, 2, 15, 16, 17, 40, 64, 100, 257, 1000}) {
      std::map<Pair, int> expected;
      for (int64_t query = 0; query < length; ++query) {
        for (int64_t key = 0; key <= query; ++key) {
          if (Sees(query, key, window)) expected[{query / kStrip, key / kStrip}] = 1;
        }
      }
      EXPECT_EQ(MultipliedPairs(Pass::kForward, length, window, kForwardQueryTile, kForwardKeyTile),
                expected)
          << length << " tokens, window " << window;
      EXPECT_EQ(MultipliedPairs(Pass::kBackward, length, window, kBackwardQueryTile,
                                kLargestBackwardKeyTile),
                expected)
          << length << " tokens, window " << window;
    }
  }
}

TEST(AttentionStrips, AStripIsWholeIfEveryQuerySeesEveryKey) {
  for (const int64_t length : {16, 40, 64, 100}) {
    for (const int64_t window : {0, 1, 16, 31, 32, 33, 60}) {
      const QueryStrips strips({.begin = 0, .end = length}, window);
      for (int64_t strip = 0; strip < strips.strips().end; ++strip) {
        const Positions queries = PositionsOf({.begin = strip, .end = strip + 1}, length);
        const Positions met = strips.MetBy(strip);
        for (int64_t key_strip = met.begin; key_strip < met.end; ++key_strip) {
          bool all = true;
          for (int64_t query = queries.begin; query < queries.end; ++query) {
            for (int64_t key = key_strip * kStrip; key < (key_strip + 1) * kStrip; ++key) {
              all = all && Sees(query, key, window);
            }
          }
          // A strip on the diagonal of one token is left to the mask.
          if (key_strip == strip) all = false;
          EXPECT_EQ(strips.SeesWhole(strip, key_strip), all)
              << length << " tokens, window " << window << ", " << strip << " " << key_strip;
        }
      }
    }
  }
}

// The work grows with the pairs that are seen: what is multiplied beside them is part of one strip
// at either end of what a strip of queries sees.
TEST(AttentionStrips, WorkIsThatOfTheSamplesAndTheWindow) {
  const auto multiplied = [](int64_t length, int64_t window) {
    return static_cast<int64_t>(
        MultipliedPairs(Pass::kBackward, length, window, kBackwardQueryTile, 256).size());
  };
  // 256 strips of queries on 1 to 256 strips of keys.
  EXPECT_EQ(multiplied(4096, 0), 256 * 257 / 2);
  // 8 samples of 512 tokens in such a row: an eighth of the pairs.
  EXPECT_EQ(8 * multiplied(512, 0), 8 * 32 * 33 / 2);
  // A window of 512: after the first 32 strips, all have 32 strips and what the diagonal cuts.
  EXPECT_EQ(multiplied(4096, 512), 32 * 33 / 2 + (256 - 32) * 33);
}

// Every token of a row is in one tile, and a tile is in one sample.
TEST(AttentionStrips, TilesCoverTheSamplesOfARow) {
  std::mt19937 random(3);
  for (const int64_t longest : {1, 20, 100, 700}) {
    for (const int64_t size : {64, 128, 256}) {
      constexpr int64_t kSequence = 1000;
      const std::vector<TokenRecord> row = PackedRows(1, kSequence, longest, random);
      std::vector<int> covered(kSequence);
      for (int64_t t = 0; t < kSequence; ++t) {
        if (!TileBeginsAt(row.data(), t, size)) continue;
        const SampleTile tile = TileFrom(row.data(), kSequence, t, size);
        ASSERT_LE(tile.positions.size(), size);
        ASSERT_EQ(tile.positions.begin % size, 0);
        for (int64_t p = tile.positions.begin; p < tile.positions.end; ++p) {
          const auto token = static_cast<size_t>(tile.origin + p);
          ASSERT_EQ(row[token].position, p);
          ++covered[token];
        }
      }
      EXPECT_EQ(covered, std::vector<int>(kSequence, 1)) << longest << " " << size;
    }
  }
}

// Of sequences of 2^40 tokens: nothing is an int.
TEST(AttentionStrips, PositionsHave64Bits) {
  constexpr int64_t kFar = int64_t{1} << 40;
  const QueryStrips strips({.begin = kFar, .end = kFar + 64}, 100);
  EXPECT_EQ(strips.SeenBy(kFar).begin, kFar - 99);
  EXPECT_EQ(strips.MetByAll().begin, (kFar - 99) / kStrip);
  EXPECT_EQ(strips.MetByAll().end, kFar / kStrip + 4);
}

}  // namespace
}  // namespace horizon

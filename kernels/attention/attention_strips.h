#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_tiles.h"
#include "kernels/gemm/tile_gemm.h"

namespace horizon {

// Which parts of a pair of tiles the host kernels compute.
//
// Tiles begin where a sample begins and count positions from there, so no tile belongs to two
// samples of a row, and a sample is computed alike wherever it lies. Positions are cut into strips
// of 16. A strip of queries meets a strip of keys if one of its queries sees one of its keys, and
// only then are the two multiplied. Queries see one range of keys, whose begin never moves back: so
// a strip of queries meets one range of strips of keys, and a strip of keys is met by one range of
// strips of queries. Strips that lie beside each other and have the same range make a run, which is
// one matrix multiply.
//
// Example: a tile of 64 queries on the diagonal meets the 64 keys of the same positions in 10 of 16
// pairs of strips: strips of queries 0 to 3 meet the strips of keys 0, 0 .. 1, 0 .. 2 and 0 .. 3.
inline constexpr int64_t kStrip = kLaneGroup;

// The tiles of the host kernels. A worker keeps the scores of a pair of tiles, and what it reads
// and adds up of both, in the cache of its core. Backward has fewer keys where heads are wide
// (BackwardKeyTile).
inline constexpr int64_t kForwardQueryTile = 128;
inline constexpr int64_t kForwardKeyTile = 256;
inline constexpr int64_t kBackwardQueryTile = 64;
inline constexpr int64_t kLargestBackwardKeyTile = 256;
static_assert(kForwardQueryTile % kStrip == 0 && kForwardKeyTile % kStrip == 0);
static_assert(kBackwardQueryTile % kStrip == 0 &&
              kLargestBackwardKeyTile % kBackwardQueryTile == 0);

// A width in whole strips.
constexpr int64_t Padded(int64_t size) { return TileCount(size, kStrip) * kStrip; }
// Elements from one row of a tile in scratch memory to the next, for `columns`, a multiple of 16:
// not a power of two, so that the rows do not compete for the same cache sets.
constexpr int64_t TileStride(int64_t columns) { return columns + 16; }
inline constexpr int64_t kForwardLaneStride = TileStride(kForwardQueryTile);

// Part of a sample, as positions in it; `origin` is the sample's first token in its row.
struct SampleTile {
  int64_t origin = 0;
  Positions positions;
};

// Whether a tile of `size` begins at token t of a row. `row` points to the records of the row.
inline bool TileBeginsAt(const TokenRecord* row, int64_t t, int64_t size) {
  return row[t].position % size == 0;
}

// The tile that begins at token t; shorter than `size` where its sample ends.
inline SampleTile TileFrom(const TokenRecord* row, int64_t sequence, int64_t t, int64_t size) {
  const int64_t begin = row[t].position;
  const int64_t most = std::min(size, sequence - t);
  int64_t count = 1;
  while (count < most && row[t + count].position == begin + count) ++count;
  return {.origin = t - begin, .positions = {.begin = begin, .end = begin + count}};
}

// The strips that positions lie in.
inline Positions StripsOf(const Positions& positions) {
  return {.begin = positions.begin / kStrip, .end = TileCount(positions.end, kStrip)};
}
// The positions of strips, but none from `end` on.
inline Positions PositionsOf(const Positions& strips, int64_t end) {
  return {.begin = strips.begin * kStrip, .end = std::min(strips.end * kStrip, end)};
}

// The strips of a tile of queries, and the keys they meet. Everything counts from the begin of the
// sample.
class QueryStrips {
 public:
  QueryStrips(const Positions& queries, int64_t window)
      : queries_(queries), strips_(StripsOf(queries)), window_(window) {}

  const Positions& queries() const { return queries_; }
  const Positions& strips() const { return strips_; }
  // The keys that a query sees.
  Positions SeenBy(int64_t query) const {
    return {.begin = window_ > 0 ? std::max<int64_t>(0, query - window_ + 1) : 0, .end = query + 1};
  }
  // The strips of keys that a strip of queries meets.
  Positions MetBy(int64_t strip) const {
    return {.begin = SeenBy(strip * kStrip).begin / kStrip, .end = strip + 1};
  }
  // The strips of keys that the tile meets.
  Positions MetByAll() const { return {.begin = MetBy(strips_.begin).begin, .end = strips_.end}; }
  // The strips of queries of the tile that meet a strip of keys.
  Positions Meeting(int64_t key_strip) const {
    int64_t end = strips_.begin;
    while (end < strips_.end && MetBy(end).begin <= key_strip) ++end;
    return {.begin = std::max(key_strip, strips_.begin), .end = end};
  }
  // Whether every query of a strip sees every key of a strip that it meets.
  bool SeesWhole(int64_t strip, int64_t key_strip) const {
    const int64_t last = std::min((strip + 1) * kStrip, queries_.end) - 1;
    return key_strip < strip && SeenBy(last).begin <= key_strip * kStrip;
  }

 private:
  Positions queries_;
  Positions strips_;
  int64_t window_;
};

// Calls body(strips, met) for every run: `strips` of `range` that lie beside each other and for
// which met_by(strip) is the same range `met`, which is not empty.
template <typename MetBy, typename Body>
void ForEachRun(const Positions& range, const MetBy& met_by, const Body& body) {
  for (int64_t strip = range.begin; strip < range.end;) {
    const Positions met = met_by(strip);
    int64_t end = strip + 1;
    for (; end < range.end; ++end) {
      const Positions next = met_by(end);
      if (next.begin != met.begin || next.end != met.end) break;
    }
    if (met.size() > 0) body(Positions{.begin = strip, .end = end}, met);
    strip = end;
  }
}

// Runs of strips of keys of a tile, with the strips of queries that meet them.
template <typename Body>
void ForEachRunOfKeys(const QueryStrips& queries, const Positions& key_strips, const Body& body) {
  ForEachRun(
      key_strips, [&](int64_t strip) { return queries.Meeting(strip); }, body);
}

// Runs of strips of queries, with the strips of keys of a tile that they meet.
template <typename Body>
void ForEachRunOfQueries(const QueryStrips& queries, const Positions& key_strips,
                         const Body& body) {
  ForEachRun(
      queries.strips(),
      [&](int64_t strip) { return Intersection(queries.MetBy(strip), key_strips); }, body);
}

}  // namespace horizon

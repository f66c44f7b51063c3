#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/attention/attention.h"
#include "kernels/attention/attention_tiles.h"
#include "kernels/attention/tile_gemm.h"

namespace horizon {

// Which parts of a pair of tiles the host kernels compute.
//
// Positions of a row are cut into strips of 16, counted from the begin of the row, and a strip of
// queries meets a strip of keys only if one of its queries sees one of its keys. Since queries see
// one range of keys, whose begin never moves back, a strip of queries meets one range of strips of
// keys, and a strip of keys is met by one range of strips of queries. Strips that lie beside each
// other and meet the same range make a run: one matrix multiply.
//
// Example: a tile of 64 queries on the diagonal meets the 64 keys of the same positions in 10 of 16
// pairs of strips: strips of queries 0 to 3 meet the strips of keys 0, 0 .. 1, 0 .. 2 and 0 .. 3.
inline constexpr int64_t kStrip = kLaneGroup;
inline constexpr int64_t kStripsOfQueryTile = kQueryTile / kStrip;
static_assert(kQueryTile % kStrip == 0);

// A tile in strips; the last strip of a sequence may be shorter.
inline Positions StripsOf(const Positions& positions) {
  return {.begin = positions.begin / kStrip, .end = TileCount(positions.end, kStrip)};
}
// The positions of strips of a sequence.
inline Positions PositionsOf(const Positions& strips, int64_t sequence) {
  return {.begin = strips.begin * kStrip, .end = std::min(strips.end * kStrip, sequence)};
}

// A tile of queries, and the keys that they see.
class QueryStrips {
 public:
  // `row` points to the records of the row.
  QueryStrips(const AttentionShape& shape, const TokenRecord* row, const Positions& queries)
      : strips_(StripsOf(queries)) {
    for (int64_t strip = strips_.begin; strip < strips_.end; ++strip) {
      const int64_t last = std::min((strip + 1) * kStrip, shape.sequence) - 1;
      first_[strip - strips_.begin] =
          VisibleKeys(shape, row, strip * kStrip).begin / kStrip;
      // The first strip of keys that all queries of the strip see, if they do not lie behind it.
      first_whole_[strip - strips_.begin] =
          TileCount(VisibleKeys(shape, row, last).begin, kStrip);
    }
  }

  const Positions& strips() const { return strips_; }
  // The strips of keys that a strip of queries meets.
  Positions MetBy(int64_t strip) const {
    return {.begin = first_[strip - strips_.begin], .end = strip + 1};
  }
  // The strips of keys that the tile meets.
  Positions MetByAll() const { return {.begin = first_[0], .end = strips_.end}; }
  // The strips of queries of the tile that meet a strip of keys.
  Positions Meeting(int64_t key_strip) const {
    int64_t end = strips_.begin;
    while (end < strips_.end && first_[end - strips_.begin] <= key_strip) ++end;
    return {.begin = std::max(key_strip, strips_.begin), .end = end};
  }
  // Whether every query of a strip sees every key of a strip that it meets.
  bool SeesWhole(int64_t strip, int64_t key_strip) const {
    return first_whole_[strip - strips_.begin] <= key_strip && key_strip < strip;
  }

 private:
  Positions strips_;
  int64_t first_[kStripsOfQueryTile];
  int64_t first_whole_[kStripsOfQueryTile];
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

#include "runtime/device/arena.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <span>
#include <vector>

#include "runtime/device/device.h"

namespace horizon {
namespace {

// Random allocations and frees beside a map of every byte: what is given out was free, what can be
// given out is, and the figures are those of the map.
TEST(Arena, AgreesWithAMapOfAllItsBytes) {
  constexpr uint64_t kCapacity = 20 * kDeviceAlignment + 100;
  uint64_t random = 1;
  const auto draw = [&](uint64_t below) {
    random = random * 6364136223846793005 + 1442695040888963407;
    return (random >> 33) % below;
  };
  Arena arena{Bytes(kCapacity)};
  std::vector<char> taken(kCapacity);
  struct Piece {
    uint64_t offset, asked;
  };
  std::vector<Piece> pieces;
  uint64_t high_water = 0;
  // The last byte of a piece's padding, which ends with the arena.
  const auto end_of = [&](const Piece& piece) {
    const uint64_t units = (piece.asked + kDeviceAlignment - 1) / kDeviceAlignment;
    return std::min(piece.offset + units * kDeviceAlignment, kCapacity);
  };
  for (int step = 0; step < 20'000; ++step) {
    if (draw(5) < 3) {
      const uint64_t bytes = 1 + draw(6 * kDeviceAlignment);
      bool possible = false;
      for (uint64_t at = 0; at + bytes <= kCapacity; at += kDeviceAlignment) {
        const auto piece = std::span(taken).subspan(at, bytes);
        possible |= std::find(piece.begin(), piece.end(), 1) == piece.end();
      }
      const absl::StatusOr<uint64_t> offset = arena.Allocate(Bytes(bytes));
      ASSERT_EQ(offset.ok(), possible) << offset.status();
      if (!offset.ok()) continue;
      ASSERT_EQ(*offset % kDeviceAlignment, 0);
      pieces.push_back({*offset, bytes});
      const uint64_t end = end_of(pieces.back());
      for (uint64_t i = *offset; i < end; ++i) {
        ASSERT_EQ(taken[i], 0);
        taken[i] = 1;
      }
    } else if (!pieces.empty()) {
      std::swap(pieces[draw(pieces.size())], pieces.back());
      const Piece piece = pieces.back();
      pieces.pop_back();
      ASSERT_TRUE(arena.Contains(piece.offset, Bytes(piece.asked)));
      ASSERT_TRUE(arena.Contains(piece.offset + piece.asked - 1, 1_B));
      ASSERT_FALSE(arena.Contains(piece.offset, Bytes(piece.asked + 1)));
      arena.Free(piece.offset);
      ASSERT_FALSE(arena.Contains(piece.offset, 1_B));
      for (uint64_t i = piece.offset; i < end_of(piece); ++i) taken[i] = 0;
    }
    const auto used = static_cast<uint64_t>(std::count(taken.begin(), taken.end(), 1));
    high_water = std::max(high_water, used);
    ASSERT_EQ(arena.used(), Bytes(used));
    ASSERT_EQ(arena.high_water(), Bytes(high_water));
  }
  EXPECT_EQ(high_water, kCapacity) << "the walk never filled it";
}

}  // namespace
}  // namespace horizon

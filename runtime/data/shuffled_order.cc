#include "runtime/data/shuffled_order.h"

#include <algorithm>
#include <bit>

#include "common/check.h"
#include "common/philox.h"

namespace horizon {
namespace {

constexpr int kRounds = 8;
// Keeps these numbers apart from others drawn with the same seed.
constexpr uint64_t kStream = PhiloxStreamOf("shuffled_order");

}  // namespace

ShuffledOrder::ShuffledOrder(uint64_t count, uint64_t seed, uint64_t epoch)
    : count_(count), seed_(seed), epoch_(epoch) {
  CHECK(count >= 1 && count <= uint64_t{1} << 62);
  half_bits_ = std::max(1, (static_cast<int>(std::bit_width(count - 1)) + 1) / 2);
}

uint64_t ShuffledOrder::Permute(uint64_t number) const {
  const uint64_t mask = (uint64_t{1} << half_bits_) - 1;
  uint64_t left = number >> half_bits_;
  uint64_t right = number & mask;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const PhiloxBlock mixed =
        Philox(PhiloxKeyOf(seed_ ^ kStream),
               {static_cast<uint32_t>(right), round, static_cast<uint32_t>(epoch_),
                static_cast<uint32_t>(epoch_ >> 32)});
    const uint64_t next = left ^ (mixed[0] & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

uint64_t ShuffledOrder::At(uint64_t index) const {
  CHECK(index < count_);
  uint64_t number = Permute(index);
  while (number >= count_) number = Permute(number);
  return number;
}

}  // namespace horizon

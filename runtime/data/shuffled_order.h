#pragma once

#include <cstdint>

namespace horizon {

// A random permutation of the numbers 0 .. count - 1 that needs no memory: the number at `index` is
// computed from (seed, epoch, index) alone. Every (seed, epoch) has a permutation of its own. It is
// a Feistel network over the next even power of two, iterated along its cycles until a number below
// `count` comes up (Black and Rogaway, "Ciphers with arbitrary finite domains", CT-RSA 2002). Pure
// values; any thread.
class ShuffledOrder {
 public:
  // `count` from 1 to 2^62.
  ShuffledOrder(uint64_t count, uint64_t seed, uint64_t epoch);

  // The number at `index` < count. Each number occurs once.
  uint64_t At(uint64_t index) const;

 private:
  uint64_t Permute(uint64_t number) const;

  uint64_t count_;
  uint64_t seed_;
  uint64_t epoch_;
  int half_bits_;
};

}  // namespace horizon

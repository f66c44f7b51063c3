#pragma once

#include <cstdint>
#include <numeric>

namespace fake_cuda {

// Pseudorandom numbers from a seed (SplitMix64: Steele, Lea, Flood, "Fast splittable pseudorandom
// number generators", OOPSLA 2014). With the same seed the fake makes the same choices.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t Next() {
    uint64_t z = state_ += 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    return z ^ (z >> 31);
  }
  // A number from 0 to count - 1.
  uint64_t Below(uint64_t count) { return Next() % count; }

 private:
  uint64_t state_;
};

// A random permutation of 0 .. count - 1 that needs no table: i -> (first + i * step) mod count.
class RandomOrder {
 public:
  RandomOrder(uint64_t count, Random& random) : count_(count), first_(random.Below(count)) {
    do {
      step_ = 1 + random.Below(count);
    } while (std::gcd(step_, count) != 1);
  }
  uint64_t At(uint64_t i) const {
    if (count_ < uint64_t{1} << 31) return (first_ + i * step_) % count_;
    return static_cast<uint64_t>((first_ + static_cast<unsigned __int128>(i) * step_) % count_);
  }

 private:
  uint64_t count_;
  uint64_t first_;
  uint64_t step_ = 1;
};

}  // namespace fake_cuda

#pragma once

#include <cstdint>

namespace horizon {

// How AdamW (adam.h) stores the first moment m and the second moment v of each parameter.
//
// A step computes in fp32: it loads the moments, updates them, uses the new fp32 values for the
// step of the weight, and only then rounds them to the format in which they are stored. In every
// format an array of zero bytes means moments of zero.
//
//   kFp32  m[count] and v[count] are float. Nothing is rounded.
//   kBf16  m[count] and v[count] are uint16_t, the upper half of an fp32, rounded stochastically.
//   k8Bit  m[count] and v[count] are uint8_t codes, rounded stochastically. Each moment block, that
//          is kAdamBlock consecutive parameters of the tensor, also has one fp32 scale for m and
//          one for v.
//
// 8-bit codes. The scale of a moment block is the power of two p for which the largest magnitude of
// the block is in [15/16 p, 15/8 p]. It is 0 if the block holds nothing but zeros and denormals. A
// code is a small float in units of p:
//   m  has a sign, 4 bits of exponent and 3 bits of mantissa. It represents magnitudes from 2^-14 p
//      to 15/8 p, and below 2^-14 p the multiples of 2^-17 p.
//   v  is never negative and has no sign: 5 bits of exponent and 3 bits of mantissa. It represents
//      numbers from 2^-30 p on, and below 2^-30 p the multiples of 2^-33 p.
// Because p is a power of two, a number that has a code is restored exactly, also after p has
// become smaller.
//
// Stochastic rounding. A bf16 or 8-bit moment is rounded up or down at random, and up with the
// probability that keeps the mean. So updates that are smaller than a unit of the format are not
// lost on average. With t the value in units of the last place and r the 16 random bits of the
// moment, the result is floor(t + (r + 1/2) / 65536): it is exact if t is representable, and its
// mean is within 2^-17 units of t.
//
// There is one exception: a positive 8-bit v is never rounded to 0, but to at least 2^-33 p.
// Otherwise a step would divide by epsilon alone for parameters with gradients that are small
// compared with the rest of their moment block. The least v is about the square of the least m
// (2^-17), so after rounding |m| / sqrt(v) is no larger than Adam itself lets it grow (about 7 with
// the usual betas).
//
// Random bits. The 32 random bits of a parameter are a pure function of the `key` of its tensor,
// the `step`, and its number in the tensor. The upper 16 bits round m, the lower 16 bits round v:
//   z = Mix(Mix(Mix(key + 0x9E3779B97F4A7C15) ^ step) ^ (number >> 32))
//   x = low(number) ^ low(z);   x = (x ^ x >> 16) x 0x7FEB352D;
//   x = (x ^ x >> 15) + high(z);  x = x x 0x846CA68B;   x = x ^ x >> 16
// low and high are the lower and the upper 32 bits. Mix is the finalizer of SplitMix64 (Steele, Lea
// & Flood 2014); the rest is a 32-bit mixer with the multipliers of C. Wellons' lowbias32. For a
// given z it is a permutation, so every 32-bit word occurs equally often. It is not a cipher.
enum class MomentType { kFp32, kBf16, k8Bit };
inline constexpr int64_t kAdamBlock = 256;

// What the random bits of the host body are made from, for a run of parameters that have the same
// number >> 32. The other bodies have code of their own for this, so that tests compare two
// implementations.
struct AdamSeed {
  uint32_t first;  // low(number) of the first parameter
  uint32_t low;    // low(z)
  uint32_t high;   // high(z)
};

inline uint64_t AdamMix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// The seed of the run that begins with parameter `number` of its tensor.
inline AdamSeed AdamSeedOf(uint64_t key, int64_t step, int64_t number) {
  const auto first = static_cast<uint64_t>(number);
  const uint64_t of_key = AdamMix(key + 0x9E3779B97F4A7C15);
  const uint64_t of_step = AdamMix(of_key ^ static_cast<uint64_t>(step));
  const uint64_t z = AdamMix(of_step ^ (first >> 32));
  return {static_cast<uint32_t>(first), static_cast<uint32_t>(z), static_cast<uint32_t>(z >> 32)};
}

}  // namespace horizon

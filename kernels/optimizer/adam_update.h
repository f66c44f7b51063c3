#pragma once

#include <cstdint>

namespace horizon {

// What an update of Adam (adam.h) is given: a header without Abseil, for device code reads it too.
struct AdamConstants {
  float rate;  // learning_rate / (1 - beta1^step)
  float keep;  // 1 - learning_rate x weight_decay
  float one_minus_beta1;
  float beta2;
  float one_minus_beta2;
  float inverse_root_correction2;  // 1 / sqrt(1 - beta2^step)
  float epsilon;
};

// How moments are kept; arrays of zero bytes are moments of zero in every type. The step uses the
// new moments before they are rounded.
//   fp32:  m[count], v[count]
//   bf16:  m[count], v[count] as uint16_t
//   8-bit: m[count], v[count] as uint8_t, and for each block of kAdamBlock parameters of the tensor
//          one fp32 scale a moment: the power of two p for which the block's largest magnitude lies
//          in [15/16 p, 15/8 p], or 0 for a block of nothing but zeros and denormals. Codes are
//          small floats in units of p. m: a sign, 4 bits of exponent and 3 of mantissa, numbers
//          from 2^-14 p to 15/8 p, below them multiples of 2^-17 p. v, never negative: 5 bits of
//          exponent and 3 of mantissa, numbers from 2^-30 p, below them multiples of 2^-33 p. As p
//          is a power of two, a number that has a code comes back exactly, also when p has become
//          smaller.
// bf16 and 8-bit moments are rounded stochastically: up with the probability that keeps the mean.
// The one exception: an 8-bit v that is positive never becomes 0 but at least 2^-33 p. Else a step
// would divide by epsilon alone for parameters whose gradients are small beside their block's. The
// least v is about the square of the least m (2^-17), so that after rounding |m| / sqrt(v) is no
// larger than Adam itself lets it grow (about 7 with the usual betas).
//
// Random bits are a pure function of `key`, `step` and the number of the parameter in its tensor:
//   z = Mix(Mix(Mix(key + 0x9E3779B97F4A7C15) ^ step) ^ (number >> 32))
//   x = low(number) ^ low(z);   x = (x ^ x >> 16) x 0x7FEB352D;
//   x = (x ^ x >> 15) + high(z);  x = x x 0x846CA68B;   x = x ^ x >> 16
// with low and high 32 bits and Mix the finalizer of SplitMix64 (Steele, Lea & Flood 2014); the
// rest is a 32-bit mixer with the multipliers of C. Wellons' lowbias32. For a given z it is a
// permutation, so every 32-bit word comes equally often; it is no cipher. The upper 16 bits round
// m, the lower 16 v: with t the value in units of the last place, r the bits, the result is floor(t
// + (r + 1/2) / 65536), exact for what is representable, its mean within 2^-17 units of t.
enum class MomentType { kFp32, kBf16, k8Bit };
inline constexpr int64_t kAdamBlock = 256;

struct AdamUpdate {
  int64_t count = 0;
  int64_t first = 0;  // number of the first parameter in its tensor; with k8Bit a multiple of
                      // kAdamBlock, and so is count unless the run ends the tensor
  uint64_t key = 0;   // of the tensor and the job's seed, for stochastic rounding
  AdamConstants constants;
  int64_t step = 1;
  float clip = 1.0f;
  const float* gradient_fp32 = nullptr;  // one of the two
  const uint16_t* gradient_bf16 = nullptr;
  uint16_t* hi = nullptr;
  int16_t* lo = nullptr;  // null: bf16 weights without a low half (rounded as SplitMaster
                          // rounds after each update, as the paper has it)
  MomentType moments = MomentType::kFp32;
  void* m = nullptr;  // by `moments`
  void* v = nullptr;
  float* m_scales = nullptr;  // k8Bit: one for each block of this run
  float* v_scales = nullptr;
  float* weights = nullptr;      // also the updated weights as compute reads them; null: not wanted
  bool weights_from_hi = false;  // those are fp32(hi), else the exact master
  // CUDA: one number in device memory, set to the lowest number of a parameter whose new master is
  // not finite as bf16, or to all ones when there is none.
  uint64_t* first_refused = nullptr;
};

}  // namespace horizon

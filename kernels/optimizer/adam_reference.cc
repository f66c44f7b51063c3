#include <algorithm>
#include <bit>
#include <cmath>

#include "common/text/str_cat.h"
#include "kernels/host/reference_math.h"
#include "kernels/optimizer/adam.h"

namespace horizon {
namespace {

// The least magnitude that is infinite as bf16: half a unit past the largest bf16.
constexpr double kTooLarge = 0x1.FFp127;

uint64_t Mix(uint64_t z) {
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
  return z ^ (z >> 31);
}

// The two random fractions of a parameter, multiples of 2^-16 plus 2^-17.
struct Fractions {
  double of_m;
  double of_v;
};
Fractions FractionsOf(const AdamUpdate& args, int64_t i) {
  const auto number = static_cast<uint64_t>(args.first + i);
  uint64_t z = Mix(args.key + 0x9E3779B97F4A7C15);
  z = Mix(z ^ static_cast<uint64_t>(args.step));
  z = Mix(z ^ (number >> 32));
  uint32_t x = static_cast<uint32_t>(number) ^ static_cast<uint32_t>(z);
  x = (x ^ (x >> 16)) * 0x7FEB352D;
  x = (x ^ (x >> 15)) + static_cast<uint32_t>(z >> 32);
  x *= 0x846CA68B;
  x ^= x >> 16;
  return {((x >> 16) + 0.5) / 65536, ((x & 0xFFFF) + 0.5) / 65536};
}

// Rounds `value` >= 0 to a binary float with `bits` of mantissa and a least binade that begins at
// 2^least: up if `fraction` reaches the next number.
double Rounded(double value, int bits, int least, double fraction) {
  if (value == 0.0) return 0.0;
  const double unit = std::ldexp(1.0, std::max(std::ilogb(value), least) - bits);
  return std::floor(value / unit + fraction) * unit;
}

// The code of a number that Rounded has made: numbers in ascending order, zero first.
int CodeOf(double value, int bits, int least) {
  if (value == 0.0) return 0;
  const int exponent = std::max(std::ilogb(value), least);
  const auto mantissa = static_cast<int>(std::ldexp(value, bits - exponent));
  return (exponent - least) * (1 << bits) + mantissa;
}

double ValueOf(int code, int bits, int least) {
  const int binade = std::max((code >> bits) - 1, 0);
  return std::ldexp(static_cast<double>(code - binade * (1 << bits)), least + binade - bits);
}

constexpr int kMantissa = 3;
constexpr int kLeastM = -14;
constexpr int kLeastV = -30;

double LoadM(const AdamUpdate& args, int64_t i) {
  if (args.moments == MomentType::kFp32) return static_cast<const float*>(args.m)[i];
  if (args.moments == MomentType::kBf16) {
    return ReferenceFromBf16(static_cast<const uint16_t*>(args.m)[i]);
  }
  const int code = static_cast<const uint8_t*>(args.m)[i];
  const double magnitude = ValueOf(code & 127, kMantissa, kLeastM) * args.m_scales[i / kAdamBlock];
  return code < 128 ? magnitude : -magnitude;
}

double LoadV(const AdamUpdate& args, int64_t i) {
  if (args.moments == MomentType::kFp32) return static_cast<const float*>(args.v)[i];
  if (args.moments == MomentType::kBf16) {
    return ReferenceFromBf16(static_cast<const uint16_t*>(args.v)[i]);
  }
  const int code = static_cast<const uint8_t*>(args.v)[i];
  return ValueOf(code, kMantissa, kLeastV) * args.v_scales[i / kAdamBlock];
}

uint16_t RoundedToBf16Code(double value, double fraction) {
  const double rounded = Rounded(std::fabs(value), 7, -126, fraction);
  return ReferenceToBf16(static_cast<float>(std::copysign(rounded, value)));
}

// The power of two p for which the largest magnitude is in [15/16 p, 15/8 p].
double ScaleOf(double largest) {
  if (largest < std::ldexp(1.0, -126)) return 0.0;
  const double power = std::ldexp(1.0, std::ilogb(largest));
  return largest > 1.875 * power ? 2.0 * power : power;
}

// Stores the moments of parameters [first, first + count), at most one moment block.
void StoreMoments(const AdamUpdate& args, int64_t first, int64_t count, const double* m,
                  const double* v) {
  const double m_scale = ScaleOf(std::fabs(*std::max_element(
      m, m + count, [](double a, double b) { return std::fabs(a) < std::fabs(b); })));
  const double v_scale = ScaleOf(*std::max_element(v, v + count));
  for (int64_t j = 0; j < count; ++j) {
    const int64_t i = first + j;
    const Fractions fractions = FractionsOf(args, i);
    if (args.moments == MomentType::kFp32) {
      static_cast<float*>(args.m)[i] = static_cast<float>(m[j]);
      static_cast<float*>(args.v)[i] = static_cast<float>(v[j]);
    } else if (args.moments == MomentType::kBf16) {
      static_cast<uint16_t*>(args.m)[i] = RoundedToBf16Code(m[j], fractions.of_m);
      static_cast<uint16_t*>(args.v)[i] = RoundedToBf16Code(v[j], fractions.of_v);
    } else {
      const double m_units = m_scale > 0.0 ? std::fabs(m[j]) / m_scale : 0.0;
      const double v_units = v_scale > 0.0 ? v[j] / v_scale : 0.0;
      const double m_kept = Rounded(m_units, kMantissa, kLeastM, fractions.of_m);
      const double v_kept = Rounded(v_units, kMantissa, kLeastV, fractions.of_v);
      const int sign = std::signbit(m[j]) ? 128 : 0;
      const int v_least = v_units > 0.0 ? 1 : 0;
      static_cast<uint8_t*>(args.m)[i] =
          static_cast<uint8_t>(sign + CodeOf(m_kept, kMantissa, kLeastM));
      static_cast<uint8_t*>(args.v)[i] =
          static_cast<uint8_t>(std::max(v_least, CodeOf(v_kept, kMantissa, kLeastV)));
      args.m_scales[i / kAdamBlock] = static_cast<float>(m_scale);
      args.v_scales[i / kAdamBlock] = static_cast<float>(v_scale);
    }
  }
}

// False when the new master is not finite as bf16.
bool StoreMaster(const AdamUpdate& args, int64_t i, double w) {
  if (!(std::fabs(w) < kTooLarge)) return false;
  const auto master = static_cast<float>(w);
  const int64_t bits = std::bit_cast<uint32_t>(master);
  args.hi[i] = static_cast<uint16_t>((bits + 32768) / 65536);
  const int64_t low = bits - int64_t{args.hi[i]} * 65536;
  if (args.lo != nullptr) args.lo[i] = static_cast<int16_t>(low);
  if (args.weights != nullptr) {
    const bool from_hi = args.weights_from_hi || args.lo == nullptr;
    args.weights[i] = from_hi ? ReferenceFromBf16(args.hi[i]) : master;
  }
  return true;
}

}  // namespace

absl::Status AdamUpdateReference(const KernelContext&, const AdamUpdate& args) {
  const AdamConstants& c = args.constants;
  for (int64_t first = 0; first < args.count; first += kAdamBlock) {
    const int64_t count = std::min(kAdamBlock, args.count - first);
    double m[kAdamBlock];
    double v[kAdamBlock];
    for (int64_t j = 0; j < count; ++j) {
      const int64_t i = first + j;
      const double g = double{args.clip} * (args.gradient_fp32 != nullptr
                                                ? args.gradient_fp32[i]
                                                : ReferenceFromBf16(args.gradient_bf16[i]));
      const int64_t low = args.lo == nullptr ? 0 : args.lo[i];
      double w = std::bit_cast<float>(static_cast<uint32_t>(args.hi[i] * int64_t{65536} + low));
      m[j] = LoadM(args, i);
      v[j] = LoadV(args, i);
      w *= c.decay_factor;
      m[j] += c.one_minus_beta1 * (g - m[j]);
      v[j] = c.beta2 * v[j] + c.one_minus_beta2 * g * g;
      w -= c.step_size * m[j] / (std::sqrt(v[j]) * c.inverse_sqrt_bias_correction2 + c.epsilon);
      if (!StoreMaster(args, i, w)) {
        return RefusedUpdate(static_cast<uint64_t>(args.first + i));
      }
    }
    StoreMoments(args, first, count, m, v);
  }
  return absl::OkStatus();
}

}  // namespace horizon

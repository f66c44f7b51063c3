#include <algorithm>
#include <cmath>
#include <cstring>

#include "common/text/str_cat.h"
#include "kernels/optimizer/adam.h"

namespace horizon {
namespace {

// The oracle of the bits: AdamW in float, one parameter after another, with the operations and the
// order of adam.h. It shares no code with the other bodies, so that a test can hold them to it.

uint32_t BitsOf(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  return bits;
}
float FloatOf(uint32_t bits) {
  float value = 0.0f;
  std::memcpy(&value, &bits, sizeof(value));
  return value;
}

// The random bits of adam_moments.h.
uint32_t RandomBits(uint64_t key, uint64_t step, uint64_t number) {
  uint64_t z = key + 0x9E3779B97F4A7C15;
  for (const uint64_t mixed_in : {step, number >> 32, uint64_t{0}}) {
    z ^= z >> 30;
    z *= 0xBF58476D1CE4E5B9;
    z ^= z >> 27;
    z *= 0x94D049BB133111EB;
    z ^= z >> 31;
    z ^= mixed_in;
  }
  uint32_t x = static_cast<uint32_t>(number & 0xFFFFFFFF) ^ static_cast<uint32_t>(z & 0xFFFFFFFF);
  x ^= x >> 16;
  x *= 0x7FEB352D;
  x ^= x >> 15;
  x += static_cast<uint32_t>(z >> 32);
  x *= 0x846CA68B;
  x ^= x >> 16;
  return x;
}

// An 8-bit code of adam_moments.h, decoded and encoded in units of its block's scale. `least` is
// the smallest number with a full mantissa: 2^-14 for m, 2^-30 for v.
float DecodedUnits(uint32_t code, float least) {
  const uint32_t base = BitsOf(least) >> 20;
  if (code < 8) return FloatOf((base + code) << 20) - least;
  return FloatOf((base + code - 8) << 20);
}
uint32_t EncodedUnits(float units, float least, uint32_t random) {
  const uint32_t base = BitsOf(least) >> 20;
  const uint32_t added = random * 16 + 8;
  if (units < least) return ((BitsOf(units + least) + added) >> 20) - base;
  return ((BitsOf(units) + added) >> 20) - base + 8;
}

constexpr float kLeastM = 0x1p-14f;
constexpr float kLeastV = 0x1p-30f;

float ScaleOf(uint32_t largest_bits) { return FloatOf((largest_bits + 0xFFFFF) & 0x7F800000); }

struct Moments {
  float m = 0.0f;
  float v = 0.0f;
};

Moments Load(const AdamUpdate& args, int64_t i) {
  switch (args.moments) {
    case MomentType::kFp32:
      return {static_cast<const float*>(args.m)[i], static_cast<const float*>(args.v)[i]};
    case MomentType::kBf16:
      return {FloatOf(uint32_t{static_cast<const uint16_t*>(args.m)[i]} << 16),
              FloatOf(uint32_t{static_cast<const uint16_t*>(args.v)[i]} << 16)};
    case MomentType::k8Bit:
      break;
  }
  const uint32_t m = static_cast<const uint8_t*>(args.m)[i];
  const uint32_t v = static_cast<const uint8_t*>(args.v)[i];
  const float magnitude = DecodedUnits(m & 0x7F, kLeastM) * args.m_scales[i / kAdamBlock];
  return {(m & 0x80) != 0 ? -magnitude : magnitude,
          DecodedUnits(v, kLeastV) * args.v_scales[i / kAdamBlock]};
}

// Stores fp32 or bf16 moments.
void StorePlain(const AdamUpdate& args, int64_t i, const Moments& now) {
  if (args.moments == MomentType::kFp32) {
    static_cast<float*>(args.m)[i] = now.m;
    static_cast<float*>(args.v)[i] = now.v;
    return;
  }
  const uint32_t random =
      RandomBits(args.key, static_cast<uint64_t>(args.step), static_cast<uint64_t>(args.first + i));
  static_cast<uint16_t*>(args.m)[i] = static_cast<uint16_t>((BitsOf(now.m) + (random >> 16)) >> 16);
  static_cast<uint16_t*>(args.v)[i] =
      static_cast<uint16_t>((BitsOf(now.v) + (random & 0xFFFF)) >> 16);
}

// Stores a moment block in 8-bit codes.
void Store8Bit(const AdamUpdate& args, int64_t first, int64_t count, const Moments* block) {
  uint32_t m_bits = 0;
  uint32_t v_bits = 0;
  for (int64_t j = 0; j < count; ++j) {
    m_bits = std::max(m_bits, BitsOf(block[j].m) & 0x7FFFFFFF);
    v_bits = std::max(v_bits, BitsOf(block[j].v) & 0x7FFFFFFF);
  }
  const float m_scale = ScaleOf(m_bits);
  const float v_scale = ScaleOf(v_bits);
  args.m_scales[first / kAdamBlock] = m_scale;
  args.v_scales[first / kAdamBlock] = v_scale;
  const float per_m = m_scale > 0.0f ? 1.0f / m_scale : 0.0f;
  const float per_v = v_scale > 0.0f ? 1.0f / v_scale : 0.0f;
  for (int64_t j = 0; j < count; ++j) {
    const int64_t i = first + j;
    const uint32_t random = RandomBits(args.key, static_cast<uint64_t>(args.step),
                                       static_cast<uint64_t>(args.first + i));
    const uint32_t sign = BitsOf(block[j].m) >> 31 << 7;
    const uint32_t m = EncodedUnits(std::fabs(block[j].m) * per_m, kLeastM, random >> 16);
    uint32_t v = EncodedUnits(block[j].v * per_v, kLeastV, random & 0xFFFF);
    if (v_scale > 0.0f && block[j].v > 0.0f && v == 0) v = 1;
    static_cast<uint8_t*>(args.m)[i] = static_cast<uint8_t>((m & 0x7F) | sign);
    static_cast<uint8_t*>(args.v)[i] = static_cast<uint8_t>(v & 0xFF);
  }
}

// Updates parameter i of the call and its moments. Returns false if the new master is not finite as
// bf16.
bool UpdateOne(const AdamUpdate& args, int64_t i, Moments& now) {
  const AdamConstants& c = args.constants;
  const float gradient = args.gradient_fp32 != nullptr
                             ? args.gradient_fp32[i]
                             : FloatOf(uint32_t{args.gradient_bf16[i]} << 16);
  const float g = args.clip * gradient;
  uint32_t bits = uint32_t{args.hi[i]} << 16;
  if (args.lo != nullptr) bits += static_cast<uint32_t>(int32_t{args.lo[i]});
  float w = c.decay_factor * FloatOf(bits);
  now.m = now.m + c.one_minus_beta1 * (g - now.m);
  now.v = c.beta2 * now.v + (c.one_minus_beta2 * g) * g;
  w = w - (c.step_size * now.m) / (std::sqrt(now.v) * c.inverse_sqrt_bias_correction2 + c.epsilon);

  bits = BitsOf(w);
  const uint32_t rounded = bits + 0x8000;
  args.hi[i] = static_cast<uint16_t>(rounded >> 16);
  if (args.lo != nullptr) args.lo[i] = static_cast<int16_t>(bits & 0xFFFF);
  if (args.weights != nullptr) {
    const bool exact = args.lo != nullptr && !args.weights_from_hi;
    args.weights[i] = exact ? w : FloatOf(rounded & 0xFFFF0000);
  }
  return (bits & 0x7FFFFFFF) < 0x7F7F8000;
}

}  // namespace

absl::Status AdamUpdateScalar(const KernelContext&, const AdamUpdate& args) {
  for (int64_t first = 0; first < args.count; first += kAdamBlock) {
    const int64_t count = std::min(kAdamBlock, args.count - first);
    Moments block[kAdamBlock];
    for (int64_t j = 0; j < count; ++j) {
      const int64_t i = first + j;
      block[j] = Load(args, i);
      if (!UpdateOne(args, i, block[j])) {
        return RefusedUpdate(static_cast<uint64_t>(args.first + i));
      }
      if (args.moments != MomentType::k8Bit) StorePlain(args, i, block[j]);
    }
    if (args.moments == MomentType::k8Bit) Store8Bit(args, first, count, block);
  }
  return absl::OkStatus();
}

}  // namespace horizon

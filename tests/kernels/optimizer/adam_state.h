#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <random>
#include <vector>

#include "kernels/optimizer/adam.h"

namespace horizon {

inline int64_t MomentBytes(MomentType type) {
  return type == MomentType::kFp32 ? 4 : type == MomentType::kBf16 ? 2 : 1;
}

// The arrays of an update, one element behind an aligned place, for tests of Adam.
struct AdamState {
  AdamState(int64_t count_of, MomentType type)
      : count(count_of),
        moments(type),
        gradient(static_cast<size_t>(count) + 1),
        gradient_bf16(gradient.size()),
        hi(gradient.size(), 0xABCD),
        lo(gradient.size(), 0x5A5A),
        m(gradient.size() * static_cast<size_t>(MomentBytes(type))),
        v(m.size()),
        m_scales(gradient.size() / kAdamBlock + 1),
        v_scales(m_scales.size()),
        weights(gradient.size(), -77.0f) {
    for (int64_t i = 0; i < count; ++i) SetMaster(i, 1.0f);
  }

  void SetMaster(int64_t i, float master) {
    const uint32_t bits = std::bit_cast<uint32_t>(master);
    hi[static_cast<size_t>(i) + 1] = static_cast<uint16_t>((bits + 0x8000) >> 16);
    lo[static_cast<size_t>(i) + 1] = static_cast<int16_t>(bits);
  }
  float Master(int64_t i) const {
    const auto at = static_cast<size_t>(i) + 1;
    return std::bit_cast<float>((uint32_t{hi[at]} << 16) + static_cast<uint32_t>(int32_t{lo[at]}));
  }
  void SetGradient(int64_t i, float value) {
    gradient[static_cast<size_t>(i) + 1] = value;
    gradient_bf16[static_cast<size_t>(i) + 1] =
        static_cast<uint16_t>(std::bit_cast<uint32_t>(value) >> 16);
  }
  // Masters around 1, gradients over many magnitudes.
  void Randomize(uint32_t seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal;
    for (int64_t i = 0; i < count; ++i) {
      SetMaster(i, normal(random));
      SetGradient(
          i, normal(random) *
                 std::bit_cast<float>(0x30000000 + (static_cast<uint32_t>(random()) & 0x0F800000)));
    }
  }

  template <class T>
  T* MomentsOf(std::vector<uint8_t>& bytes) {
    return reinterpret_cast<T*>(bytes.data() + sizeof(T));
  }
  uint8_t* CodesOfM() { return MomentsOf<uint8_t>(m); }
  uint8_t* CodesOfV() { return MomentsOf<uint8_t>(v); }

  // The update of parameters [from, from + size) of this state.
  AdamUpdate Args(int64_t from, int64_t size) {
    return {.count = size,
            .first = from,
            .gradient_fp32 = gradient.data() + 1 + from,
            .hi = hi.data() + 1 + from,
            .lo = lo.data() + 1 + from,
            .moments = moments,
            .m = m.data() + (1 + from) * MomentBytes(moments),
            .v = v.data() + (1 + from) * MomentBytes(moments),
            .m_scales = m_scales.data() + from / kAdamBlock,
            .v_scales = v_scales.data() + from / kAdamBlock,
            .weights = weights.data() + 1 + from};
  }
  AdamUpdate Args() { return Args(0, count); }

  bool SameBytes(const AdamState& other) const {
    const auto same = [](const auto& a, const auto& b) {
      return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0;
    };
    return same(hi, other.hi) && same(lo, other.lo) && same(m, other.m) && same(v, other.v) &&
           same(m_scales, other.m_scales) && same(v_scales, other.v_scales) &&
           same(weights, other.weights);
  }

  int64_t count;
  MomentType moments;
  std::vector<float> gradient;
  std::vector<uint16_t> gradient_bf16;
  std::vector<uint16_t> hi;
  std::vector<int16_t> lo;
  std::vector<uint8_t> m;
  std::vector<uint8_t> v;
  std::vector<float> m_scales;
  std::vector<float> v_scales;
  std::vector<float> weights;
};

}  // namespace horizon

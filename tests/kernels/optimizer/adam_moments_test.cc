#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/optimizer/adam.h"
#include "tests/kernels/optimizer/adam_state.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

// Constants that make m the gradient, v its square, and leave the master alone.
constexpr AdamConstants kTakeGradient = {.step_size = 0.0f,
                                         .decay_factor = 1.0f,
                                         .one_minus_beta1 = 1.0f,
                                         .beta2 = 0.0f,
                                         .one_minus_beta2 = 1.0f,
                                         .inverse_sqrt_bias_correction2 = 1.0f,
                                         .epsilon = 1.0f};
// Those that leave moments and masters alone.
constexpr AdamConstants kKeep = {.step_size = 0.0f,
                                 .decay_factor = 1.0f,
                                 .one_minus_beta1 = 0.0f,
                                 .beta2 = 1.0f,
                                 .one_minus_beta2 = 0.0f,
                                 .inverse_sqrt_bias_correction2 = 1.0f,
                                 .epsilon = 1.0f};

void Update(AdamState& state, const AdamConstants& constants, uint64_t key, int64_t step = 1) {
  AdamUpdate args = state.Args();
  args.constants = constants;
  args.key = key;
  args.step = step;
  KernelLane lane(1);
  ASSERT_TRUE(AdamUpdateHost(lane.context(), args).ok());
}

// The number a code stands for, in units of its block's scale, from adam.h.
double UnitsOf(int code, int least) {
  const int exponent = code >> 3;
  const double mantissa = code & 7;
  return exponent == 0 ? mantissa * std::ldexp(1.0, least - 3)
                       : (8 + mantissa) * std::ldexp(1.0, least - 3 + exponent - 1);
}
double MOf(AdamState& state, int64_t i) {
  if (state.moments == MomentType::kBf16) {
    return std::bit_cast<float>(uint32_t{state.MomentsOf<uint16_t>(state.m)[i]} << 16);
  }
  const int code = state.CodesOfM()[i];
  const double scale = state.m_scales[static_cast<size_t>(i / kAdamBlock)];
  return (code < 128 ? 1 : -1) * UnitsOf(code & 127, -14) * scale;
}
double VOf(AdamState& state, int64_t i) {
  if (state.moments == MomentType::kBf16) {
    return std::bit_cast<float>(uint32_t{state.MomentsOf<uint16_t>(state.v)[i]} << 16);
  }
  const double scale = state.v_scales[static_cast<size_t>(i / kAdamBlock)];
  return UnitsOf(state.CodesOfV()[i], -30) * scale;
}

// Both moments of many parameters with one gradient; the first of each block has 1 instead, so that
// the scale of 8-bit blocks is 1.
struct Rounding {
  double m_mean = 0.0;
  double v_mean = 0.0;
  double both_up = 0.0;  // share of parameters
  int64_t count = 0;
};
Rounding RoundingOf(MomentType type, float gradient, uint64_t keys) {
  constexpr int64_t kCount = 64 * kAdamBlock;
  Rounding rounding;
  for (uint64_t key = 0; key < keys; ++key) {
    AdamState state(kCount, type);
    for (int64_t i = 0; i < kCount; ++i) {
      state.SetGradient(i, i % kAdamBlock == 0 ? 1.0f : gradient);
    }
    Update(state, kTakeGradient, key, static_cast<int64_t>(key) * 7 + 1);
    for (int64_t i = 0; i < kCount; ++i) {
      if (i % kAdamBlock == 0) continue;
      const double m = MOf(state, i);
      const double v = VOf(state, i);
      rounding.m_mean += m;
      rounding.v_mean += v;
      const double square = double{gradient} * gradient;
      rounding.both_up += std::fabs(m) > std::fabs(gradient) && v > square ? 1.0 : 0.0;
      ++rounding.count;
    }
  }
  const auto count = static_cast<double>(rounding.count);
  rounding.m_mean /= count;
  rounding.v_mean /= count;
  rounding.both_up /= count;
  return rounding;
}

// A rounding to one of two neighbours `unit` apart has a standard deviation of sqrt(f (1 - f))
// units where f is the fraction, so a mean of n of unit sqrt(f (1 - f) / n); five of them are
// exceeded by chance once in two million, and the keys are fixed anyway. 2^-17 units are the
// generator's.
struct Case {
  MomentType type;
  float gradient;
  double m_unit;
  double v_unit;
};
TEST(AdamMoments, StochasticRoundingKeepsTheMean) {
  const std::vector<Case> cases = {
      // m a quarter, v half and a bit of a unit above 1.
      {MomentType::kBf16, 1 + 0x1p-9f, 0x1p-7, 0x1p-7},
      {MomentType::kBf16, -(1 + 0x1p-14f), 0x1p-7, 0x1p-7},
      {MomentType::kBf16, 0x1.Fp-20f + 0x1p-31f, 0x1p-27, 0x1p-46},
      {MomentType::k8Bit, 1 + 0x1p-5f, 0x1p-3, 0x1p-3},
      {MomentType::k8Bit, -(1 + 0x1p-10f), 0x1p-3, 0x1p-3},
      // In the least binade of m and below it; of v below, too.
      {MomentType::k8Bit, 0x1.3p-14f, 0x1p-17, 0x1p-31},
      {MomentType::k8Bit, -2.25f * 0x1p-17f, 0x1p-17, 0x1p-33},
      {MomentType::k8Bit, 1.8f * 0x1p-17f, 0x1p-17, 0x1p-33},
  };
  for (const Case& c : cases) {
    const Rounding rounding = RoundingOf(c.type, c.gradient, 8);
    const auto count = static_cast<double>(rounding.count);
    const auto fraction = [](double units) { return units - std::floor(units); };
    const auto bound = [&](double f) { return 5 * std::sqrt(f * (1 - f) / count) + 0x1p-16; };
    const double m = c.gradient;
    const double v = m * m;
    const double m_up = fraction(std::fabs(m) / c.m_unit);
    const double v_up = fraction(v / c.v_unit);
    EXPECT_NEAR(rounding.m_mean / c.m_unit, m / c.m_unit, bound(m_up)) << c.gradient;
    EXPECT_NEAR(rounding.v_mean / c.v_unit, v / c.v_unit, bound(v_up)) << c.gradient;
    // Independent of each other: both up as often as chance has it.
    EXPECT_NEAR(rounding.both_up, m_up * v_up, bound(m_up * v_up)) << c.gradient;
  }
}

TEST(AdamMoments, RoundingIsReproducibleAndDiffersByKeyStepAndNumber) {
  const auto codes = [](uint64_t key, int64_t step, int64_t first) {
    AdamState state(kAdamBlock, MomentType::kBf16);
    for (int64_t i = 0; i < kAdamBlock; ++i) state.SetGradient(i, 1 + 0x1p-8f);
    AdamUpdate args = state.Args();
    args.constants = kTakeGradient;
    args.key = key;
    args.step = step;
    args.first = first;
    KernelLane lane(1);
    EXPECT_TRUE(AdamUpdateHost(lane.context(), args).ok());
    return state.m;
  };
  const auto begin = codes(1, 1, 0);
  EXPECT_EQ(codes(1, 1, 0), begin);
  EXPECT_NE(codes(2, 1, 0), begin);
  EXPECT_NE(codes(1, 2, 0), begin);
  EXPECT_NE(codes(1, 1, 256), begin);
  EXPECT_NE(codes(1, 1, int64_t{1} << 32), begin);
  EXPECT_NE(codes(uint64_t{1} << 63, 1, 0), codes(0, 1, 0));
}

// Every code, at every scale that leaves the least a number: m and v come back as they were.
TEST(AdamMoments, CodesOfRepresentableNumbersAreKeptWhateverTheKey) {
  for (const int exponent : {-110, -40, 0, 1, 60}) {
    for (uint64_t key = 0; key < 20; ++key) {
      AdamState state(kAdamBlock, MomentType::k8Bit);
      state.m_scales[0] = state.v_scales[0] = std::ldexp(1.0f, exponent);
      for (int i = 0; i < kAdamBlock; ++i) {
        state.CodesOfM()[i] = static_cast<uint8_t>(i);
        state.CodesOfV()[i] = static_cast<uint8_t>(255 - i);
      }
      Update(state, kKeep, key);
      ASSERT_EQ(state.m_scales[0], std::ldexp(1.0f, exponent));
      ASSERT_EQ(state.v_scales[0], std::ldexp(1.0f, exponent));
      for (int i = 0; i < kAdamBlock; ++i) {
        // -0 + 0 is 0.
        ASSERT_EQ(state.CodesOfM()[i], i == 128 ? 0 : i) << exponent;
        ASSERT_EQ(state.CodesOfV()[i], 255 - i) << exponent;
      }
    }
  }
}

// When the largest leaves a block, the scale shrinks and the numbers stay the same.
TEST(AdamMoments, NumbersAreKeptWhenTheScaleChanges) {
  AdamState state(kAdamBlock, MomentType::k8Bit);
  state.m_scales[0] = 64.0f;
  state.v_scales[0] = 64.0f;
  std::vector<double> m;
  std::vector<double> v;
  for (int i = 0; i < kAdamBlock; ++i) {
    state.CodesOfM()[i] = static_cast<uint8_t>((i % 90) | (i % 2 == 0 ? 128 : 0));
    state.CodesOfV()[i] = static_cast<uint8_t>(i % 200);
    m.push_back(MOf(state, i));
    v.push_back(VOf(state, i));
  }
  Update(state, kKeep, 5);
  EXPECT_LT(state.m_scales[0], 64.0f);
  EXPECT_LT(state.v_scales[0], 64.0f);
  for (int i = 0; i < kAdamBlock; ++i) {
    ASSERT_EQ(MOf(state, i), m[static_cast<size_t>(i)]);
    ASSERT_EQ(VOf(state, i), v[static_cast<size_t>(i)]);
  }
}

TEST(AdamMoments, TheScaleIsThePowerOfTwoBelowOrJustAboveTheLargest) {
  for (const float largest :
       {1.0f, 1.5f, 1.875f, 1.8750001f, 1.99f, 2.0f, 0x1p-126f, 0x1.Fp-100f}) {
    AdamState state(kAdamBlock, MomentType::k8Bit);
    state.SetGradient(100, -largest);
    Update(state, kTakeGradient, 1);
    const float scale = state.m_scales[0];
    EXPECT_EQ(std::ilogb(scale), std::log2(scale)) << "a power of two";
    EXPECT_LE(largest, 1.875f * scale);
    EXPECT_GE(largest, 0.9375f * scale);
  }
}

TEST(AdamMoments, ABlockOfZerosOrDenormalsIsZero) {
  for (const float gradient : {0.0f, -0.0f, 1e-40f, -1e-45f}) {
    AdamState state(2 * kAdamBlock - 3, MomentType::k8Bit);
    for (int64_t i = 0; i < state.count; ++i) state.SetGradient(i, gradient);
    Update(state, kTakeGradient, 1);
    EXPECT_EQ(state.m_scales[0], 0.0f);
    EXPECT_EQ(state.v_scales[1], 0.0f);
    for (int64_t i = 0; i < state.count; ++i) {
      ASSERT_EQ(MOf(state, i), 0.0);
      ASSERT_EQ(state.CodesOfM()[i] & 127, 0);
      ASSERT_EQ(state.CodesOfV()[i], 0);
    }
    Update(state, kTakeGradient, 2);  // and can be read again
    EXPECT_EQ(VOf(state, 0), 0.0);
  }
}

TEST(AdamMoments, OneHugeNumberLeavesTheOthersTheirLeastButNeverAVOfZero) {
  AdamState state(2 * kAdamBlock, MomentType::k8Bit);
  for (int64_t i = 0; i < state.count; ++i) state.SetGradient(i, 1e-3f);
  state.SetGradient(300, 1e6f);
  Update(state, kTakeGradient, 1);
  for (int64_t i = 0; i < state.count; ++i) {
    if (i == 300) continue;
    if (i < kAdamBlock) {
      EXPECT_NEAR(MOf(state, i), 1e-3, 1e-3 / 8) << "another block is not touched";
      EXPECT_NEAR(VOf(state, i), 1e-6, 1e-6 / 8);
    } else {
      EXPECT_LE(MOf(state, i), state.m_scales[1] * 0x1p-17);
      EXPECT_EQ(VOf(state, i), state.v_scales[1] * 0x1p-33);
    }
  }
  EXPECT_NEAR(MOf(state, 300), 1e6, 1e6 / 8);
}

// The reason of the floor: gradients far below their block's largest, for which v would fade to
// zero and m, now and then, not. No step may be larger than Adam's own bound: with betas 0.9 and
// 0.999, |m| <= 7.3 sqrt(v) by the inequality of Cauchy and Schwarz; the rounding of v to 3 bits,
// of m by up to its least number, and the correction of the first steps make it less than 20.
TEST(AdamMoments, StepsStayBoundedWhereVFades) {
  AdamState state(kAdamBlock, MomentType::k8Bit);
  std::mt19937 random(1);
  std::normal_distribution<float> normal;
  std::vector<float> before(kAdamBlock, 0.0f);
  for (int64_t i = 0; i < kAdamBlock; ++i) state.SetMaster(i, 0.0f);
  for (int64_t step = 1; step <= 300; ++step) {
    for (int64_t i = 0; i < kAdamBlock; ++i) {
      const float size = i < 4 ? 1e3f : i < 100 ? 1e-4f : i < 200 ? 1e-2f : 1e-7f;
      state.SetGradient(i, step > 200 ? 0.0f : normal(random) * size);
    }
    Update(state, AdamConstantsOf({.learning_rate = 1.0, .weight_decay = 0.0, .step = step}), 3,
           step);
    for (int64_t i = 0; i < kAdamBlock; ++i) {
      float& master = before[static_cast<size_t>(i)];
      ASSERT_LE(std::fabs(state.Master(i) - master), 20.0f) << "step " << step << " of " << i;
      master = state.Master(i);
    }
  }
}

// bf16 and 8-bit moments beside the reference's, which rounds by values and the same random bits:
// equal but where a value lies within fp32's error of the border, and then a unit apart.
TEST(AdamMoments, EqualTheReferenceButOnBorders) {
  for (const MomentType type : {MomentType::kBf16, MomentType::k8Bit}) {
    AdamState host(20'000, type);
    host.Randomize(4);
    AdamState reference = host;
    AdamUpdate args = reference.Args();
    args.constants = AdamConstantsOf({.step = 3});
    args.key = 11;
    args.step = 3;
    KernelLane lane(1);
    ASSERT_TRUE(AdamUpdateReference(lane.context(), args).ok());
    Update(host, args.constants, 11, 3);
    int64_t different = 0;
    const double relative = type == MomentType::kBf16 ? 0x1p-7 : 0x1p-3;
    for (int64_t i = 0; i < host.count; ++i) {
      const double m = MOf(reference, i);
      const double v = VOf(reference, i);
      different += m != MOf(host, i) || v != VOf(host, i) ? 1 : 0;
      const auto block = static_cast<size_t>(i / kAdamBlock);
      ASSERT_EQ(host.m_scales[block], reference.m_scales[block]);
      ASSERT_NEAR(MOf(host, i), m, std::fabs(m) * relative + reference.m_scales[block] * 0x1p-17);
      ASSERT_NEAR(VOf(host, i), v, v * relative + reference.v_scales[block] * 0x1p-33);
    }
    // A border is met with the probability of fp32's error in units, 4 x 2^-24 x 2^7 at most.
    EXPECT_LE(different, 20);
  }
}

}  // namespace
}  // namespace horizon

#include "kernels/optimizer/adam.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "tests/kernels/each_target.h"
#include "tests/kernels/optimizer/adam_state.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

using ::testing::HasSubstr;

constexpr double kUnit = 0x1p-24;

AdamConstants ConstantsOf(int64_t step) {
  return AdamConstantsOf({.learning_rate = 1e-2, .weight_decay = 0.1, .step = step});
}

class AdamTest : public testing::TestWithParam<MomentType> {};
std::string NameOf(const testing::TestParamInfo<MomentType>& tested) {
  if (tested.param == MomentType::kFp32) return "Fp32";
  return tested.param == MomentType::kBf16 ? "Bf16" : "EightBit";
}
INSTANTIATE_TEST_SUITE_P(Moments, AdamTest,
                         testing::Values(MomentType::kFp32, MomentType::kBf16, MomentType::k8Bit),
                         NameOf);

// Three updates of one state by `update(args)`, in the form the seed stands for.
template <class Update>
AdamState Updated(AdamState state, uint32_t form, const Update& update) {
  for (int64_t step = 1; step <= 3; ++step) {
    AdamUpdate args = state.Args();
    args.key = 99;
    args.constants = ConstantsOf(step);
    args.step = step;
    args.clip = 0.7f;
    if ((form & 1) != 0) args.lo = nullptr;
    if ((form & 2) != 0) args.weights = nullptr;
    args.weights_from_hi = (form & 4) != 0;
    if ((form & 8) != 0) {
      args.gradient_fp32 = nullptr;
      args.gradient_bf16 = state.gradient_bf16.data() + 1;
    }
    EXPECT_TRUE(update(state, args).ok());
  }
  return state;
}

absl::Status UpdateScalar(AdamState&, const AdamUpdate& args) { return AdamUpdateScalar({}, args); }

TEST_P(AdamTest, HostHasTheBitsOfItsScalarTwin) {
  KernelLane lane(2);
  for (const int64_t count : {0, 1, 7, 8, 9, 15, 16, 17, 255, 256, 257, 1000, 4099}) {
    for (uint32_t form = 0; form < 16; ++form) {
      AdamState begin(count, GetParam());
      begin.Randomize(static_cast<uint32_t>(count) + 1);
      const AdamState scalar = Updated(begin, form, UpdateScalar);
      const AdamState host = Updated(begin, form, [&](AdamState&, const AdamUpdate& args) {
        return AdamUpdateHost(lane.context(), args);
      });
      ASSERT_TRUE(host.SameBytes(scalar)) << count << " parameters, form " << form;
      ASSERT_TRUE(count == 0 || !host.SameBytes(begin));
    }
  }
}

TEST_P(AdamTest, BitsDoNotDependOnWorkersTargetsOrCuts) {
  constexpr int64_t kCount = 100'001;
  AdamState begin(kCount, GetParam());
  begin.Randomize(2);
  const AdamState scalar = Updated(begin, 0, UpdateScalar);
  const auto host_with = [&](int workers) {
    KernelLane lane(workers);
    return Updated(begin, 0, [&](AdamState&, const AdamUpdate& args) {
      return AdamUpdateHost(lane.context(), args);
    });
  };
  for (const int workers : {1, 2, 3, 5}) ASSERT_TRUE(host_with(workers).SameBytes(scalar));
  ForEachTarget([&](const char* target) { ASSERT_TRUE(host_with(1).SameBytes(scalar)) << target; });
  std::mt19937 random(3);
  KernelLane lane(2);
  const int64_t grain = GetParam() == MomentType::k8Bit ? kAdamBlock : 1;
  const AdamState cut = Updated(begin, 0, [&](AdamState& state, const AdamUpdate& args) {
    for (int64_t first = 0; first < kCount;) {
      const int64_t asked = (1 + static_cast<int64_t>(random() % 20'000)) / grain * grain;
      const int64_t count = std::min(kCount - first, asked);
      AdamUpdate run = state.Args(first, count);
      run.key = args.key;
      run.constants = args.constants;
      run.step = args.step;
      run.clip = args.clip;
      if (absl::Status status = AdamUpdateHost(lane.context(), run); !status.ok()) return status;
      first += count;
    }
    return absl::OkStatus();
  });
  EXPECT_TRUE(cut.SameBytes(scalar));
}

// Numbers of parameters past 2^32 change the generator's key in the middle of a run.
TEST_P(AdamTest, BitsAreTheTwinsWhereNumbersPass32Bits) {
  AdamState begin(700, GetParam());
  begin.Randomize(4);
  const int64_t first = (int64_t{1} << 32) - (GetParam() == MomentType::k8Bit ? 512 : 333);
  KernelLane lane(1);
  const auto at = [&](const AdamUpdate& args) {
    AdamUpdate there = args;
    there.first = first;
    return there;
  };
  const AdamState scalar = Updated(
      begin, 0, [&](AdamState&, const AdamUpdate& args) { return AdamUpdateScalar({}, at(args)); });
  const AdamState host = Updated(begin, 0, [&](AdamState&, const AdamUpdate& args) {
    return AdamUpdateHost(lane.context(), at(args));
  });
  EXPECT_TRUE(host.SameBytes(scalar));
}

// Denormal, huge (but finite) and zero gradients in one block, and blocks of one kind.
TEST_P(AdamTest, BitsAreTheTwinsForNumbersOfEverySize) {
  AdamState begin(4 * kAdamBlock, GetParam());
  begin.Randomize(5);
  for (int64_t i = 0; i < begin.count; ++i) {
    const std::vector<float> sizes = {0.0f, -0.0f, 1e-45f, -1e-39f, 1e-38f, 1e-30f, 1e-19f, 1e15f};
    const int64_t block = i / kAdamBlock;
    begin.SetGradient(i, block == 0   ? sizes[static_cast<size_t>(i % 8)]
                         : block == 1 ? 0.0f
                         : block == 2 ? 1e-40f
                                      : (i % kAdamBlock == 77 ? 1e10f : 1e-10f));
  }
  KernelLane lane(1);
  const AdamState scalar = Updated(begin, 0, UpdateScalar);
  const AdamState host = Updated(begin, 0, [&](AdamState&, const AdamUpdate& args) {
    return AdamUpdateHost(lane.context(), args);
  });
  EXPECT_TRUE(host.SameBytes(scalar));
}

TEST(Adam, EqualsTheReferenceInDouble) {
  AdamState host(4099, MomentType::kFp32);
  host.Randomize(6);
  AdamState reference = host;
  KernelLane lane(2);
  for (int64_t step = 1; step <= 5; ++step) {
    for (AdamState* state : {&host, &reference}) {
      AdamUpdate args = state->Args();
      args.constants = ConstantsOf(step);
      args.step = step;
      args.clip = 0.3f;
      ASSERT_TRUE(
          (state == &host ? AdamUpdateHost : AdamUpdateReference)(lane.context(), args).ok());
    }
    for (int64_t i = 0; i < host.count; ++i) {
      const double g = 0.3 * std::fabs(host.gradient[static_cast<size_t>(i) + 1]);
      const double m = reference.MomentsOf<float>(reference.m)[i];
      const double v = reference.MomentsOf<float>(reference.v)[i];
      // A step adds 4 roundings of at most |g| and |m| to m, 4 of v's magnitude to v (no term of
      // which is negative), and to w one of w for each of two operations, and of the step, which is
      // at most 0.01 x 7.3, those of m, v and 6 more operations. Denormal squares have their own.
      const auto steps = static_cast<double>(step);
      ASSERT_NEAR(host.MomentsOf<float>(host.m)[i], m, steps * 4 * kUnit * (g + std::fabs(m)));
      ASSERT_NEAR(host.MomentsOf<float>(host.v)[i], v, steps * 4 * kUnit * v + 0x1p-145);
      const double w = std::fabs(reference.Master(i));
      ASSERT_NEAR(host.Master(i), reference.Master(i),
                  steps * (3 * kUnit * w + 0.073 * 20 * kUnit));
      ASSERT_EQ(host.weights[static_cast<size_t>(i) + 1], host.Master(i));
    }
  }
}

// Ten steps of the formula of torch.optim.AdamW in double, lr 1e-3, betas 0.9 and 0.95, decay 0.1.
TEST(Adam, TenStepsEqualTorchWithinAFewUnits) {
  struct Golden {
    float begin;
    double end, m, v;
  };
  const std::vector<Golden> goldens = {
      {1.0f, 0.9969513901321824, 0.001350166765625001, 0.0003757994841332438},
      {-0.5f, -0.5008912705066441, 0.000853295107812499, 0.0003685946734299424},
      {0.03125f, 0.028624934586553002, -0.0019063122218749993, 0.0003521098147753718},
      {2.0f, 1.993415055193386, 0.3641802786999999, 1.6847472323135755}};
  KernelLane lane(1);
  for (const auto body : {&AdamUpdateHost, &AdamUpdateScalar, &AdamUpdateReference}) {
    AdamState state(4, MomentType::kFp32);
    for (int64_t k = 0; k < 4; ++k) state.SetMaster(k, goldens[static_cast<size_t>(k)].begin);
    for (int64_t step = 1; step <= 10; ++step) {
      for (int64_t k = 0; k < 4; ++k) {
        const auto numerator = static_cast<float>(step * (k + 3) % 7 - 3);
        state.SetGradient(k, numerator * (k < 3 ? 0x1p-6f : 1.0f));
      }
      AdamUpdate args = state.Args();
      args.constants = AdamConstantsOf({.learning_rate = 1e-3,
                                        .beta1 = 0.9,
                                        .beta2 = 0.95,
                                        .epsilon = 1e-8,
                                        .weight_decay = 0.1,
                                        .step = step});
      ASSERT_TRUE(body(lane.context(), args).ok());
    }
    for (int64_t k = 0; k < 4; ++k) {
      const Golden& golden = goldens[static_cast<size_t>(k)];
      // Two roundings of w a step; m may cancel, its error is that of gradients of up to 0.05 (3).
      EXPECT_NEAR(state.Master(k), golden.end, 20 * kUnit * std::fabs(golden.begin));
      EXPECT_NEAR(state.MomentsOf<float>(state.m)[k], golden.m, 10 * kUnit * (k < 3 ? 0.05 : 3.0));
      EXPECT_NEAR(state.MomentsOf<float>(state.v)[k], golden.v, 20 * kUnit * golden.v);
    }
  }
}

TEST(Adam, ConstantsComeFromTheStepInDouble) {
  const AdamConstants first = AdamConstantsOf({.learning_rate = 0.5, .weight_decay = 0.25});
  EXPECT_EQ(first.step_size, 5.0f);
  EXPECT_EQ(first.decay_factor, 0.875f);
  EXPECT_EQ(first.one_minus_beta1, static_cast<float>(1.0 - 0.9));
  EXPECT_EQ(first.beta2, 0.999f);
  EXPECT_EQ(first.one_minus_beta2, static_cast<float>(1.0 - 0.999));
  EXPECT_NEAR(first.inverse_sqrt_bias_correction2, 31.6227766, 4e-6);
  const AdamConstants late = AdamConstantsOf({.learning_rate = 0.5, .step = 1'000'000});
  EXPECT_EQ(late.step_size, 0.5f);
  EXPECT_EQ(late.inverse_sqrt_bias_correction2, 1.0f);
}

TEST_P(AdamTest, AMasterThatOverflowsBf16IsOutOfRangeNamingTheLowestNumber) {
  constexpr int64_t kCount = 100'000;
  for (const auto body : {&AdamUpdateHost, &AdamUpdateScalar, &AdamUpdateReference}) {
    for (const bool low_half : {true, false}) {
      AdamState state(kCount, GetParam());
      state.Randomize(7);
      for (const int64_t bad : {99'999, 41'003, 41'004, 70'000}) {
        state.SetMaster(bad, bad % 2 == 0 ? 0x1.FEp127f : -0x1.FEp127f);
        state.SetGradient(bad, bad % 2 == 0 ? -1.0f : 1.0f);
      }
      AdamUpdate args = state.Args();
      args.first = 2560;
      args.constants = AdamConstantsOf({.learning_rate = 1e36, .weight_decay = 0.0});
      if (!low_half) args.lo = nullptr;
      KernelLane lane(5);
      const absl::Status status = body(lane.context(), args);
      ASSERT_TRUE(absl::IsOutOfRange(status)) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("parameter 43563 "));
    }
  }
}

TEST_P(AdamTest, TheLargestMasterStaysAndLanesPastTheEndAreNotLookedAt) {
  AdamState state(3, GetParam());
  for (int64_t i = 0; i < 3; ++i) {
    state.SetMaster(i, std::bit_cast<float>(0x7F7F7FFF));
    state.SetGradient(i, 1.0f);
  }
  AdamUpdate args = state.Args();
  // An epsilon of zero: 0 / 0 where moments are zero, as they are past the end.
  args.constants = AdamConstantsOf({.learning_rate = 0.0, .epsilon = 0.0, .weight_decay = 0.0});
  KernelLane lane(1);
  ASSERT_TRUE(AdamUpdateHost(lane.context(), args).ok());
  EXPECT_EQ(state.Master(2), std::bit_cast<float>(0x7F7F7FFF));
}

TEST_P(AdamTest, GradientsThatAreNotFiniteEndInOutOfRange) {
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::bit_cast<float>(0x7FFFFFFF),
        std::bit_cast<float>(0xFFFFFFFF), std::numeric_limits<float>::infinity()}) {
    for (const auto body : {&AdamUpdateHost, &AdamUpdateScalar, &AdamUpdateReference}) {
      AdamState state(1000, GetParam());
      state.Randomize(8);
      state.SetGradient(567, bad);
      AdamUpdate args = state.Args();
      args.constants = ConstantsOf(1);
      args.lo = nullptr;
      KernelLane lane(1);
      const absl::Status status = body(lane.context(), args);
      ASSERT_TRUE(absl::IsOutOfRange(status)) << status;
      EXPECT_THAT(std::string(status.message()), HasSubstr("parameter 567 "));
    }
  }
}

// Weights without a low half are rounded at every update as SplitMaster rounds: ties away from
// zero.
TEST(Adam, WeightsWithoutALowHalfAreRounded) {
  AdamState state(2, MomentType::kFp32);
  for (int64_t i = 0; i < 2; ++i) state.SetGradient(i, i == 0 ? -1.0f : 1.0f);
  AdamUpdate args = state.Args();
  args.lo = nullptr;
  // The first step moves by the rate: 1 + 2^-8, a tie, to 1 + 2^-7; 1 - 2^-8 has a bf16.
  args.constants = {.step_size = 0x1p-8f,
                    .decay_factor = 1.0f,
                    .one_minus_beta1 = 1.0f,
                    .beta2 = 0.0f,
                    .one_minus_beta2 = 1.0f,
                    .inverse_sqrt_bias_correction2 = 1.0f,
                    .epsilon = 0.0f};
  KernelLane lane(1);
  ASSERT_TRUE(AdamUpdateHost(lane.context(), args).ok());
  EXPECT_EQ(state.hi[1], 0x3F81);
  EXPECT_EQ(state.hi[2], 0x3F7F);
  EXPECT_EQ(state.weights[1], 0x1.02p0f);
  EXPECT_EQ(state.weights[2], 0x1.FEp-1f);
}

}  // namespace
}  // namespace horizon

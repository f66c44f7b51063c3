#include "kernels/elementwise/residual.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "tests/kernels/each_target.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

constexpr double kUnit = 0x1p-24;

// Sizes around the length of a vector and of a worker's piece.
constexpr int64_t kSizes[] = {0, 1, 7, 8, 9, 31, 1003, 16384, 40001};
constexpr float kScales[] = {1.0f, 0.22f, -3.0f};

// What is added to what; `output` begins as something else.
struct Arrays {
  Arrays(int64_t count, float scale_of)
      : scale(scale_of),
        random(1),
        residual(RandomFloats(random, count, 4.0f)),
        branch(RandomFloats(random, count)),
        output(count, 9.0f) {}

  ResidualAdd Args() {
    return {.count = branch.size(),
            .residual = residual.data(),
            .branch = branch.data(),
            .scale = scale,
            .output = output.data()};
  }
  // The result by the contract: a product rounded to fp32, then a sum.
  GuardedFloats Expected(bool has_residual = true) const {
    GuardedFloats expected(branch.size());
    for (int64_t i = 0; i < branch.size(); ++i) {
      const auto product = static_cast<float>(double{scale} * branch[i]);
      expected[i] = has_residual ? residual[i] + product : product;
    }
    return expected;
  }

  float scale;
  std::mt19937 random;
  GuardedFloats residual;
  GuardedFloats branch;
  GuardedFloats output;
};

TEST(ResidualAdd, RoundsTheProductThenTheSumForAllWorkersAndTargets) {
  for (const float scale : kScales) {
    for (const int64_t count : kSizes) {
      for (const int workers : {1, 2, 3}) {
        Arrays arrays(count, scale);
        KernelLane lane(workers);
        ASSERT_TRUE(ResidualAddHost(lane.context(), arrays.Args()).ok());
        EXPECT_TRUE(SameBits(arrays.output, arrays.Expected())) << count;
        EXPECT_TRUE(arrays.output.guards_hold());
      }
    }
    ForEachTarget([&](const char* target) {
      Arrays arrays(1003, scale);
      KernelLane lane(1);
      ASSERT_TRUE(ResidualAddHost(lane.context(), arrays.Args()).ok());
      EXPECT_TRUE(SameBits(arrays.output, arrays.Expected())) << target;
    });
  }
}

TEST(ResidualAdd, EqualsTheReference) {
  for (const float scale : kScales) {
    for (const int64_t count : kSizes) {
      Arrays host(count, scale);
      Arrays expected(count, scale);
      KernelLane lane(2);
      ASSERT_TRUE(ResidualAddHost(lane.context(), host.Args()).ok());
      ASSERT_TRUE(ResidualAddReference(lane.context(), expected.Args()).ok());
      for (int64_t i = 0; i < count; ++i) {
        // A product and two sums are rounded.
        const double bound =
            kUnit * (std::fabs(scale * host.branch[i]) + 2 * std::fabs(expected.output[i]));
        ASSERT_NEAR(host.output[i], expected.output[i], bound) << i;
      }
    }
  }
}

TEST(ResidualAdd, WithoutAResidualItScalesTheBranch) {
  for (const auto body : {&ResidualAddHost, &ResidualAddReference}) {
    for (const float scale : kScales) {
      Arrays arrays(1003, scale);
      arrays.branch[5] = -0.0f;  // stays what it is, times the scale
      ResidualAdd args = arrays.Args();
      args.residual = nullptr;
      KernelLane lane(2);
      ASSERT_TRUE(body(lane.context(), args).ok());
      EXPECT_TRUE(SameBits(arrays.output, arrays.Expected(false)));
      EXPECT_TRUE(arrays.output.guards_hold());
    }
  }
}

TEST(ResidualAdd, MayWorkInPlace) {
  for (const auto body : {&ResidualAddHost, &ResidualAddReference}) {
    Arrays apart(40001, 0.22f);
    KernelLane lane(2);
    ASSERT_TRUE(body(lane.context(), apart.Args()).ok());
    Arrays residual(40001, 0.22f);
    ResidualAdd args = residual.Args();
    args.output = residual.residual.data();
    ASSERT_TRUE(body(lane.context(), args).ok());
    EXPECT_TRUE(SameBits(residual.residual, apart.output));
    Arrays branch(40001, 0.22f);
    args = branch.Args();
    args.output = branch.branch.data();
    ASSERT_TRUE(body(lane.context(), args).ok());
    EXPECT_TRUE(SameBits(branch.branch, apart.output));
  }
}

TEST(ResidualAdd, BitsDoNotDependOnTheCut) {
  constexpr int64_t kCount = 40001;
  Arrays whole(kCount, 0.22f);
  KernelLane lane(1);
  ASSERT_TRUE(ResidualAddHost(lane.context(), whole.Args()).ok());
  Arrays cut(kCount, 0.22f);
  std::mt19937 random(3);
  for (int64_t first = 0; first < kCount;) {
    const auto count = std::min<int64_t>(kCount - first, static_cast<int64_t>(random() % 5000));
    ResidualAdd args = cut.Args();
    args.count = count;
    args.residual = args.residual.From(first);
    args.branch = args.branch.From(first);
    args.output = args.output.From(first);
    ASSERT_TRUE(ResidualAddHost(lane.context(), args).ok());
    first += count;
  }
  EXPECT_TRUE(SameBits(cut.output, whole.output));
}

}  // namespace
}  // namespace horizon

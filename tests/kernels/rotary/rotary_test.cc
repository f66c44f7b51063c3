#include "kernels/rotary/rotary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "tests/kernels/each_target.h"
#include "tests/kernels/support/kernel_lane.h"
#include "tests/kernels/support/token_rows.h"

namespace horizon {
namespace {

constexpr double kUnit = 0x1p-24;

struct Shape {
  int64_t batch;
  int64_t sequence;
  int64_t heads;
  int64_t head_dim;
  int64_t rotary_dim;

  int64_t values() const { return batch * sequence * heads * head_dim; }
};

const std::vector<Shape>& Shapes() {
  static const std::vector<Shape> shapes = {{0, 5, 2, 8, 8},
                                            {1, 1, 1, 2, 2},
                                            {1, 3, 1, 6, 6},
                                            {2, 5, 3, 34, 34},
                                            {3, 70, 4, 64, 64},
                                            {1, 33, 5, 128, 128},
                                            // Some values of each head are not turned.
                                            {1, 3, 2, 3, 2},
                                            {2, 5, 3, 34, 14},
                                            {1, 7, 2, 80, 32},
                                            {3, 70, 4, 64, 16},
                                            {1, 33, 5, 128, 126}};
  return shapes;
}

std::vector<float> TableOf(const Shape& shape) {
  std::vector<float> frequencies(static_cast<size_t>(shape.rotary_dim / 2));
  for (size_t i = 0; i < frequencies.size(); ++i) {
    frequencies[i] = std::pow(0.3f, static_cast<float>(i));
  }
  std::vector<float> table(static_cast<size_t>(shape.sequence * shape.rotary_dim));
  FillRotaryTable(frequencies, 1.25f, shape.sequence, table);
  return table;
}

// Samples of several lengths share a row, so that position and place in the row differ.
std::vector<TokenRecord> RecordsOf(const Shape& shape) {
  std::mt19937 random(9);
  return PackedRows(shape.batch, shape.sequence, shape.sequence, random);
}

ApplyRotary ArgsOf(const Shape& shape, RotaryDirection direction,
                   const std::vector<TokenRecord>& records, const std::vector<float>& table,
                   GuardedFloats& x) {
  return {.direction = direction,
          .tokens = shape.batch * shape.sequence,
          .heads = shape.heads,
          .head_dim = shape.head_dim,
          .rotary_dim = shape.rotary_dim,
          .records = records.data(),
          .table = table.data(),
          .x = x.data()};
}

TEST(RotaryTable, HasCosinesThenSinesOfTheFp32Angle) {
  const std::vector<float> frequencies = {1.0f, 0.1f, 1e-4f};
  std::vector<float> table(size_t{5000} * 6);
  FillRotaryTable(frequencies, 1.5f, 5000, table);
  for (size_t t = 0; t < 5000; ++t) {
    for (size_t i = 0; i < 3; ++i) {
      // Rounded to fp32 first, as transformers has it: at position 4999 that moves the sine by
      // 1e-4.
      const double angle = static_cast<float>(t) * frequencies[i];
      ASSERT_NEAR(table[t * 6 + i], 1.5 * std::cos(angle), 1.5 * 2 * kUnit);
      ASSERT_NEAR(table[t * 6 + 3 + i], 1.5 * std::sin(angle), 1.5 * 2 * kUnit);
    }
  }
}

TEST(Rotary, TurnsAPairByHand) {
  // A quarter turn at position 1: (3, 5) becomes (-5, 3), and back.
  const std::vector<float> table = {1.0f, 0.0f, 0.0f, 1.0f};
  for (const auto body : {&ApplyRotaryHost, &ApplyRotaryReference}) {
    GuardedFloats x(4);
    x[0] = x[2] = 3.0f;
    x[1] = x[3] = 5.0f;
    const Shape shape = {1, 2, 1, 2, 2};
    const std::vector<TokenRecord> records = WholeRows(1, 2);
    KernelLane lane(1);
    ASSERT_TRUE(
        body(lane.context(), ArgsOf(shape, RotaryDirection::kForward, records, table, x)).ok());
    EXPECT_EQ((std::vector<float>{x[0], x[1], x[2], x[3]}),
              (std::vector<float>{3.0f, 5.0f, -5.0f, 3.0f}));
    ASSERT_TRUE(
        body(lane.context(), ArgsOf(shape, RotaryDirection::kBackward, records, table, x)).ok());
    EXPECT_EQ((std::vector<float>{x[2], x[3]}), (std::vector<float>{3.0f, 5.0f}));
  }
}

// Two heads of five values of which four are turned: pairs are (0, 2) and (1, 3), by a quarter turn
// and not at all.
TEST(Rotary, LeavesWhatLiesBehindTheTurnedValues) {
  const std::vector<float> table = {0.0f, 1.0f, 1.0f, 0.0f};
  const std::vector<TokenRecord> records = WholeRows(1, 1);
  for (const auto body : {&ApplyRotaryHost, &ApplyRotaryReference}) {
    GuardedFloats x(10);
    for (int64_t i = 0; i < 10; ++i) x[i] = static_cast<float>(i + 1);
    KernelLane lane(1);
    ASSERT_TRUE(
        body(lane.context(), ArgsOf({1, 1, 2, 5, 4}, RotaryDirection::kForward, records, table, x))
            .ok());
    EXPECT_EQ(std::vector<float>(x.span().begin(), x.span().end()),
              (std::vector<float>{-3, 2, 1, 4, 5, -8, 7, 6, 9, 10}));
    EXPECT_TRUE(x.guards_hold());
  }
}

TEST(RotaryDeathTest, TurnsAnEvenNumberOfAHeadsValues) {
  const std::vector<float> table(16);
  const std::vector<TokenRecord> records = WholeRows(1, 1);
  GuardedFloats x(8);
  KernelLane lane(1);
  for (const int64_t rotary_dim : {0, 1, 3, 10}) {
    EXPECT_DEATH(
        ApplyRotaryHost(lane.context(), ArgsOf({1, 1, 1, 8, rotary_dim}, RotaryDirection::kForward,
                                               records, table, x))
            .IgnoreError(),
        "rotary_dim");
  }
}

TEST(Rotary, EqualsTheReferenceWithTheSameBitsForAllWorkersAndTargets) {
  for (const Shape& shape : Shapes()) {
    for (const auto direction : {RotaryDirection::kForward, RotaryDirection::kBackward}) {
      std::mt19937 random(1);
      const GuardedFloats x = RandomFloats(random, shape.values(), 4.0f);
      const std::vector<float> table = TableOf(shape);
      const std::vector<TokenRecord> records = RecordsOf(shape);
      GuardedFloats expected = x;
      GuardedFloats one = x;
      KernelLane lane(1);
      ASSERT_TRUE(
          ApplyRotaryReference(lane.context(), ArgsOf(shape, direction, records, table, expected))
              .ok());
      ASSERT_TRUE(
          ApplyRotaryHost(lane.context(), ArgsOf(shape, direction, records, table, one)).ok());
      // Two products and a sum of magnitudes of at most 4 x 1.25 each, and the reference's
      // rounding.
      for (int64_t i = 0; i < x.size(); ++i) ASSERT_NEAR(one[i], expected[i], 10.0 * 3 * kUnit);
      EXPECT_TRUE(one.guards_hold());
      for (const int workers : {2, 3, 5}) {
        KernelLane many(workers);
        GuardedFloats here = x;
        ASSERT_TRUE(
            ApplyRotaryHost(many.context(), ArgsOf(shape, direction, records, table, here)).ok());
        EXPECT_TRUE(SameBits(here, one));
      }
      ForEachTarget([&](const char* target) {
        GuardedFloats here = x;
        ASSERT_TRUE(
            ApplyRotaryHost(lane.context(), ArgsOf(shape, direction, records, table, here)).ok());
        EXPECT_TRUE(SameBits(here, one)) << target;
      });
    }
  }
}

// Forward is linear, x -> R x; the gradient's way must be its transpose: <R x, g> = <x, R' g>. That
// is what finite differences would show, without their error.
TEST(Rotary, BackwardIsForwardTransposed) {
  for (const Shape& shape : Shapes()) {
    std::mt19937 random(2);
    const GuardedFloats x = RandomFloats(random, shape.values());
    const GuardedFloats g = RandomFloats(random, shape.values());
    const std::vector<float> table = TableOf(shape);
    const std::vector<TokenRecord> records = RecordsOf(shape);
    for (const auto body : {&ApplyRotaryHost, &ApplyRotaryReference}) {
      GuardedFloats forward = x;
      GuardedFloats backward = g;
      KernelLane lane(2);
      ASSERT_TRUE(
          body(lane.context(), ArgsOf(shape, RotaryDirection::kForward, records, table, forward))
              .ok());
      ASSERT_TRUE(
          body(lane.context(), ArgsOf(shape, RotaryDirection::kBackward, records, table, backward))
              .ok());
      double left = 0.0;
      double right = 0.0;
      for (int64_t i = 0; i < x.size(); ++i) {
        left += double{forward[i]} * g[i];
        right += double{x[i]} * backward[i];
      }
      // Each of 2 x values() products is off by 3 units of at most 2.5.
      EXPECT_NEAR(left, right, static_cast<double>(shape.values()) * 2 * 2.5 * 3 * kUnit);
    }
  }
}

}  // namespace
}  // namespace horizon

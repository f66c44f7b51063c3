#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

#include "kernels/rotary/rotary.h"
#include "tests/kernels/cuda/cuda_kernel_test.h"
#include "tests/kernels/cuda/device_array.h"
#include "tests/kernels/support/bf16_values.h"
#include "tests/kernels/support/kernel_lane.h"
#include "tests/kernels/support/token_rows.h"

namespace horizon {
namespace {

class RotaryCudaTest : public CudaKernelTest {};
INSTANTIATE_TEST_SUITE_P(Offset, RotaryCudaTest, testing::Values(0, 1, 4));

struct Shape {
  int64_t rows;
  int64_t sequence;
  int64_t heads;
  int64_t head_dim;
  int64_t rotary_dim;
};

struct Heads {
  Heads(Shape shape_of, uint32_t seed)
      : shape(shape_of),
        random(seed),
        records(PackedRows(shape.rows, shape.sequence, 9, random)),
        x(RandomBf16(random, shape.rows * shape.sequence * shape.heads * shape.head_dim, 3.0f)),
        table(static_cast<size_t>(shape.sequence * shape.rotary_dim)) {
    std::vector<float> frequencies(static_cast<size_t>(shape.rotary_dim / 2));
    for (size_t i = 0; i < frequencies.size(); ++i) {
      frequencies[i] = std::pow(100.0f, -static_cast<float>(i) / 8.0f);
    }
    FillRotaryTable(frequencies, 1.25f, shape.sequence, table);
  }
  ApplyRotary Args(RotaryDirection direction) const {
    return {.direction = direction,
            .tokens = shape.rows * shape.sequence,
            .heads = shape.heads,
            .head_dim = shape.head_dim,
            .rotary_dim = shape.rotary_dim};
  }
  Shape shape;
  std::mt19937 random;
  std::vector<TokenRecord> records;
  std::vector<uint16_t> x;
  std::vector<float> table;
};

std::vector<uint16_t> OnCuda(const Heads& heads, RotaryDirection direction, int64_t offset,
                             uint64_t seed) {
  const CudaStream stream(seed);
  const DeviceArray<TokenRecord> records(stream, heads.records, 0);
  const DeviceArray<float> table(stream, heads.table, offset);
  const DeviceArray<uint16_t> x(stream, heads.x, offset);
  ApplyRotary args = heads.Args(direction);
  args.records = records.data();
  args.table = table.data();
  args.x = x.data();
  EXPECT_TRUE(ApplyRotaryCuda(stream.context(), args).ok());
  return x.Read();
}

std::vector<float> OnHost(const Heads& heads, RotaryDirection direction,
                          decltype(&ApplyRotaryHost) body) {
  std::vector<float> x = Widened(heads.x);
  KernelLane lane(1);
  ApplyRotary args = heads.Args(direction);
  args.records = heads.records.data();
  args.table = heads.table.data();
  args.x = x.data();
  EXPECT_TRUE(body(lane.context(), args).ok());
  return x;
}

TEST_P(RotaryCudaTest, HasTheHostsBitsRoundedOnceInAnyOrderAndPlace) {
  for (const Shape shape :
       {Shape{0, 4, 2, 8, 8}, Shape{1, 1, 1, 2, 2}, Shape{2, 13, 3, 16, 16},
        Shape{1, 40, 5, 10, 10}, Shape{3, 7, 4, 128, 128}, Shape{1, 5, 33, 64, 64},
        Shape{1, 2, 32, 4096, 4096}, Shape{1, 4'200, 1, 16, 16},
        // Some values of each head are not turned; the last head cannot be moved in vectors.
        Shape{1, 3, 2, 3, 2}, Shape{2, 13, 3, 16, 6}, Shape{1, 40, 5, 80, 32},
        Shape{3, 7, 4, 128, 126}, Shape{1, 5, 33, 64, 16}, Shape{2, 9, 3, 36, 16}}) {
    const Heads heads(shape, 1);
    for (const auto direction : {RotaryDirection::kForward, RotaryDirection::kBackward}) {
      const std::vector<uint16_t> first = OnCuda(heads, direction, offset(), 1);
      EXPECT_EQ(first, Narrowed(OnHost(heads, direction, &ApplyRotaryHost)));
      EXPECT_EQ(OnCuda(heads, direction, 0, 2), first);
      const std::vector<float> reference = OnHost(heads, direction, &ApplyRotaryReference);
      // Two products and a sum of numbers of up to 3 x 1.25, and the rounding to bf16.
      ExpectNear("x", Widened(first), reference, [&](size_t i) {
        return std::fabs(reference[i]) * kBf16Unit + 3 * 3.75 * 2 * kFp32Unit;
      });
    }
  }
}

TEST_P(RotaryCudaTest, RefusesToTurnAnOddNumberOfValuesOrMoreThanThereAre) {
  const CudaStream stream;
  for (const int64_t rotary_dim : {0, 1, 3, 10, -2}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ApplyRotaryCuda(
        stream.context(), {.tokens = 1, .heads = 1, .head_dim = 8, .rotary_dim = rotary_dim})))
        << rotary_dim;
  }
}

}  // namespace
}  // namespace horizon

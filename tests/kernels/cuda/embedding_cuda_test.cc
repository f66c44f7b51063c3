#include <gtest/gtest.h>

#include <random>
#include <vector>

#include "kernels/embedding/embedding.h"
#include "tests/kernels/cuda/cuda_kernel_test.h"
#include "tests/kernels/cuda/device_array.h"
#include "tests/kernels/support/bf16_values.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

class EmbeddingCudaTest : public CudaKernelTest {};
INSTANTIATE_TEST_SUITE_P(Offset, EmbeddingCudaTest, testing::Values(0, 1, 4));

struct Shape {
  int64_t tokens;
  int64_t hidden;
};
const std::vector<Shape>& Shapes() {
  static const std::vector<Shape> shapes = {{0, 8},   {1, 1},    {5, 7},     {40, 64},
                                            {33, 24}, {9, 1030}, {50, 4096}, {4'200, 8}};
  return shapes;
}

constexpr int64_t kVocabulary = 23;
// None, and sqrt(2048).
constexpr float kScales[] = {1.0f, 45.254834f};

// Tokens of a small vocabulary, one of them much more often than others.
std::vector<TokenRecord> Tokens(int64_t count, std::mt19937& random) {
  std::vector<TokenRecord> records(static_cast<size_t>(count));
  for (TokenRecord& record : records) {
    const auto id = static_cast<int32_t>(random() % (2 * kVocabulary));
    record.id = id < kVocabulary ? id : 11;
  }
  LinkSameTokens(records);
  return records;
}

std::vector<uint16_t> ForwardOnCuda(Shape shape, const std::vector<TokenRecord>& tokens,
                                    const std::vector<uint16_t>& table_of, float scale,
                                    int64_t offset, uint64_t seed) {
  const CudaStream stream(seed);
  const DeviceArray<TokenRecord> records(stream, tokens, 0);
  const DeviceArray<uint16_t> table(stream, table_of, offset);
  const DeviceArray<uint16_t> output(
      stream, std::vector<uint16_t>(static_cast<size_t>(shape.tokens * shape.hidden), 0xFFFF),
      offset);
  // Two shards; the second has rows that no token has.
  for (const int64_t first_row : {0, 10}) {
    EXPECT_TRUE(
        EmbedForwardCuda(stream.context(), {.tokens = shape.tokens,
                                            .hidden = shape.hidden,
                                            .first_row = first_row,
                                            .rows = first_row == 0 ? 10 : kVocabulary - 10,
                                            .scale = scale,
                                            .records = records.data(),
                                            .table = table.data() + first_row * shape.hidden,
                                            .output = output.data()})
            .ok());
  }
  return output.Read();
}

TEST_P(EmbeddingCudaTest, ForwardCopiesRowsAsTheHostGathersThem) {
  for (const float scale : kScales) {
    for (const Shape shape : Shapes()) {
      std::mt19937 random(1);
      const std::vector<TokenRecord> tokens = Tokens(shape.tokens, random);
      const std::vector<uint16_t> table = RandomBf16(random, kVocabulary * shape.hidden);
      const std::vector<float> wide = Widened(table);
      std::vector<float> expected(static_cast<size_t>(shape.tokens * shape.hidden));
      ASSERT_TRUE(EmbedForwardReference({}, {.tokens = shape.tokens,
                                             .hidden = shape.hidden,
                                             .rows = kVocabulary,
                                             .scale = scale,
                                             .records = tokens.data(),
                                             .table = wide.data(),
                                             .output = expected.data()})
                      .ok());
      std::vector<uint16_t> gathered(expected.size());
      KernelLane lane(1);
      ASSERT_TRUE(GatherRowsHost(lane.context(), {.tokens = shape.tokens,
                                                  .hidden = shape.hidden,
                                                  .rows = kVocabulary,
                                                  .scale = scale,
                                                  .records = tokens.data(),
                                                  .hi = table.data(),
                                                  .output = gathered.data()})
                      .ok());
      EXPECT_EQ(gathered, Narrowed(expected));
      for (const uint64_t seed : {1, 2}) {
        EXPECT_EQ(ForwardOnCuda(shape, tokens, table, scale, offset(), seed), gathered);
      }
    }
  }
}

TEST_P(EmbeddingCudaTest, TheFirstShardClearsOtherTokensAndLaterOnesLeaveThem) {
  const CudaStream stream;
  const DeviceArray<TokenRecord> records(stream, {{.id = 7}, {.id = 1}}, 0);
  const DeviceArray<uint16_t> table(stream, {5, 6, 7}, offset());
  for (const int64_t first_row : {0, 2}) {
    const DeviceArray<uint16_t> output(stream, std::vector<uint16_t>(6, 9), offset());
    ASSERT_TRUE(EmbedForwardCuda(stream.context(), {.tokens = 2,
                                                    .hidden = 3,
                                                    .first_row = first_row,
                                                    .rows = first_row == 0 ? 0 : 1,
                                                    .scale = -2.0f,
                                                    .records = records.data(),
                                                    .table = table.data(),
                                                    .output = output.data()})
                    .ok());
    EXPECT_EQ(output.Read(), std::vector<uint16_t>(6, first_row == 0 ? 0 : 9));
  }
}

// How a gradient is stored: leaving, or a sum that is put or added to, rounded or not.
struct Storing {
  bool leaving;
  bool add;
  bool rounded;
};

template <typename T>
GradientOut OutOf(T* array, Storing storing) {
  GradientOut out = {.add = storing.add, .rounded = storing.rounded};
  if constexpr (sizeof(T) == 2) {
    out.bf16 = array;
  } else {
    out.sum = array;
  }
  return out;
}

template <typename T>
void ExpectBackwardHasTheHostsBits(Shape shape, float scale, Storing storing, int64_t offset) {
  std::mt19937 random(2);
  const std::vector<TokenRecord> tokens = Tokens(shape.tokens, random);
  const std::vector<uint16_t> gradients = RandomBf16(random, shape.tokens * shape.hidden);
  const std::vector<float> wide = Widened(gradients);
  // Rows 3 .. 20: some tokens lie outside, some rows have none.
  constexpr int64_t kFirst = 3;
  constexpr int64_t kRows = 17;
  std::vector<T> expected(static_cast<size_t>(kRows * shape.hidden), T{3});
  const std::vector<T> before = expected;
  EmbedBackward args = {.tokens = shape.tokens,
                        .hidden = shape.hidden,
                        .first_row = kFirst,
                        .rows = kRows,
                        .scale = scale,
                        .records = tokens.data(),
                        .output_gradient = wide.data(),
                        .gradient = OutOf(expected.data(), storing)};
  KernelLane lane(1);
  ASSERT_TRUE(EmbedBackwardHost(lane.context(), args).ok());
  for (const uint64_t seed : {1, 2, 3}) {
    const CudaStream stream(seed);
    const DeviceArray<TokenRecord> records(stream, tokens, 0);
    const DeviceArray<uint16_t> output_gradient(stream, gradients, offset);
    const DeviceArray<T> gradient(stream, before, offset);
    args.records = records.data();
    args.output_gradient = output_gradient.data();
    args.gradient = OutOf(gradient.data(), storing);
    ASSERT_TRUE(EmbedBackwardCuda(stream.context(), args).ok());
    ASSERT_EQ(gradient.Read(), expected)
        << shape.tokens << " tokens of " << shape.hidden << ", add " << storing.add << ", rounded "
        << storing.rounded << ", order " << seed;
  }
}

TEST_P(EmbeddingCudaTest, BackwardHasTheHostsBitsInAnyOrderAndPlace) {
  for (const float scale : kScales) {
    for (const Shape shape : Shapes()) {
      ExpectBackwardHasTheHostsBits<uint16_t>(shape, scale, {.leaving = true}, offset());
      for (const bool add : {false, true}) {
        for (const bool rounded : {false, true}) {
          ExpectBackwardHasTheHostsBits<float>(shape, scale, {.add = add, .rounded = rounded},
                                               offset());
        }
      }
    }
  }
}

}  // namespace
}  // namespace horizon

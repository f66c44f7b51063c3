#include "kernels/optimizer/squared_norm.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "tests/kernels/each_target.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

// Numbers of very different size, so that another order gives other bits.
std::vector<float> Numbers(int64_t count) {
  std::mt19937 random(1);
  std::vector<float> numbers(static_cast<size_t>(count));
  for (float& number : numbers) {
    number = std::ldexp(static_cast<float>(static_cast<int32_t>(random())) * 0x1p-31f,
                        static_cast<int>(random() % 40) - 20);
  }
  return numbers;
}

std::vector<uint16_t> UpperHalves(const std::vector<float>& numbers) {
  std::vector<uint16_t> halves(numbers.size());
  for (size_t i = 0; i < numbers.size(); ++i) {
    halves[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(numbers[i]) >> 16);
  }
  return halves;
}

size_t Blocks(const SquaredNorm& args) {
  return static_cast<size_t>((args.count + args.block - 1) / args.block);
}

std::vector<double> PartialsOf(decltype(&SquaredNormHost) body, SquaredNorm args, int workers) {
  std::vector<double> partials(Blocks(args) + 1, -1.0);
  args.partials = partials.data();
  KernelLane lane(workers);
  EXPECT_TRUE(body(lane.context(), args).ok());
  EXPECT_EQ(partials.back(), -1.0) << "a partial too many";
  partials.pop_back();
  return partials;
}

TEST(SquaredNorm, EqualsTheReferenceAndTheOrderOfSixteenLanes) {
  const std::vector<float> numbers = Numbers(5001);
  const std::vector<uint16_t> halves = UpperHalves(numbers);
  for (const int64_t count : {0, 1, 15, 16, 17, 100, 999, 5000}) {
    for (const int64_t block : {1, 5, 64, 1000, 65536}) {
      for (const bool bf16 : {false, true}) {
        // One behind the beginning: not aligned.
        const SquaredNorm args = {.count = count,
                                  .block = block,
                                  .fp32 = bf16 ? nullptr : numbers.data() + 1,
                                  .bf16 = bf16 ? halves.data() + 1 : nullptr};
        const std::vector<double> host = PartialsOf(&SquaredNormHost, args, 2);
        const std::vector<double> reference = PartialsOf(&SquaredNormReference, args, 1);
        for (size_t j = 0; j < host.size(); ++j) {
          // Squares are exact and not negative: each sum's rounding, at most `block` of them.
          const double terms = static_cast<double>(std::min(block, count));
          ASSERT_NEAR(host[j], reference[j], reference[j] * terms * 0x1p-53);
          double lanes[16] = {};
          const int64_t begin = static_cast<int64_t>(j) * block;
          for (int64_t i = begin; i < std::min(count, begin + block); ++i) {
            const auto at = static_cast<size_t>(i + 1);
            const double value =
                bf16 ? std::bit_cast<float>(uint32_t{halves[at]} << 16) : numbers[at];
            lanes[(i - begin) % 16] += value * value;
          }
          double sum = lanes[0];
          for (int lane = 1; lane < 16; ++lane) sum += lanes[lane];
          ASSERT_EQ(host[j], sum) << count << " " << block << " " << j;
        }
      }
    }
  }
}

TEST(SquaredNorm, BitsDoNotDependOnWorkersOrTargets) {
  const std::vector<float> numbers = Numbers(100'003);
  const SquaredNorm args = {.count = 100'003, .block = 4096, .fp32 = numbers.data()};
  const std::vector<double> one = PartialsOf(&SquaredNormHost, args, 1);
  for (const int workers : {2, 3, 5}) EXPECT_EQ(PartialsOf(&SquaredNormHost, args, workers), one);
  ForEachTarget(
      [&](const char* target) { EXPECT_EQ(PartialsOf(&SquaredNormHost, args, 1), one) << target; });
}

TEST(SquaredNorm, LargeNumbersDoNotOverflowAndOthersShow) {
  std::vector<float> numbers(300, std::numeric_limits<float>::max());
  SquaredNorm args = {.count = 300, .block = 100, .fp32 = numbers.data()};
  for (const double partial : PartialsOf(&SquaredNormHost, args, 1))
    EXPECT_TRUE(std::isfinite(partial));
  for (const float bad :
       {std::numeric_limits<float>::infinity(), -std::numeric_limits<float>::infinity(),
        std::numeric_limits<float>::quiet_NaN()}) {
    for (const size_t place : {0u, 99u, 100u, 163u, 299u}) {
      std::vector<float> with = numbers;
      with[place] = bad;
      args.fp32 = with.data();
      const std::vector<double> partials = PartialsOf(&SquaredNormHost, args, 2);
      for (size_t j = 0; j < 3; ++j) {
        EXPECT_EQ(std::isfinite(partials[j]), place / 100 != j) << place << " " << j;
      }
    }
  }
}

}  // namespace
}  // namespace horizon

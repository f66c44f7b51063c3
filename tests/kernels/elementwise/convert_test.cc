#include "kernels/elementwise/convert.h"

#include <gtest/gtest.h>

#include <bit>
#include <cstring>
#include <random>
#include <vector>

#include "tests/kernels/each_target.h"
#include "tests/kernels/support/kernel_lane.h"

namespace horizon {
namespace {

// Around the length of a vector and of a worker's piece.
constexpr int64_t kSizes[] = {0, 1, 7, 8, 9, 31, 1003, 65536, 200'001};
// The last is written past the caches.
constexpr int64_t kStreamedSizes[] = {0, 1, 7, 8, 9, 1003, 65536, (int64_t{2} << 20) + 5};

template <class T>
std::vector<T> RandomBits(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<T> values(static_cast<size_t>(count));
  for (T& value : values) value = static_cast<T>(random());
  return values;
}

// Finite and not tiny, of both signs.
std::vector<float> RandomNumbers(int64_t count, uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(static_cast<size_t>(count));
  for (float& value : values) {
    const auto bits = static_cast<uint32_t>(random());
    value = std::bit_cast<float>((bits & 0x87FFFFFF) | 0x38000000);
  }
  return values;
}

template <class T>
bool SameBytes(const std::vector<T>& a, const std::vector<T>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(T)) == 0;
}

// Runs `kernel(context, bodies are host's)` for the reference and for the host with 1, 2, 3 and 5
// workers, on every target with one, and expects the bytes of `result` to be the same each time.
template <class Result, class Kernel>
void ExpectSameBytes(int64_t count, const Result& begin, const Kernel& kernel) {
  KernelLane one(1);
  Result expected = begin;
  ASSERT_TRUE(kernel(one.context(), false, expected).ok());
  for (const int workers : {1, 2, 3, 5}) {
    KernelLane lane(workers);
    Result result = begin;
    ASSERT_TRUE(kernel(lane.context(), true, result).ok());
    ASSERT_TRUE(SameBytes(result, expected)) << count << " values, " << workers << " workers";
  }
  ForEachTarget([&](const char* target) {
    Result result = begin;
    ASSERT_TRUE(kernel(one.context(), true, result).ok());
    ASSERT_TRUE(SameBytes(result, expected)) << count << " values, " << target;
  });
}

// Arrays have room for three more than are used, one before and two behind: places are not aligned,
// and what lies beside is compared too.
constexpr int64_t kRoom = 3;

TEST(Convert, ExpandedWeightsAreTheHalvesOfEveryKind) {
  for (const int64_t count : kStreamedSizes) {
    const auto hi = RandomBits<uint16_t>(count + kRoom, 1);
    const auto lo = RandomBits<int16_t>(count + kRoom, 2);
    const std::vector<float> begin(static_cast<size_t>(count + kRoom), 7.0f);
    for (const bool both : {false, true}) {
      ExpectSameBytes(count, begin,
                      [&](const KernelContext& context, bool host, std::vector<float>& weights) {
                        return (host ? ExpandWeightsHost : ExpandWeightsReference)(
                            context, {.count = count,
                                      .hi = hi.data() + 1,
                                      .lo = both ? lo.data() + 1 : nullptr,
                                      .weights = weights.data() + 1});
                      });
    }
  }
}

TEST(Convert, GradientsAreStoredAsGradientOutSays) {
  for (const int64_t count : kSizes) {
    const std::vector<float> sum = RandomNumbers(count + kRoom, 3);
    const std::vector<uint16_t> leaving(static_cast<size_t>(count + kRoom), 7);
    ExpectSameBytes(
        count, leaving, [&](const KernelContext& context, bool host, std::vector<uint16_t>& out) {
          return (host ? StoreGradientHost : StoreGradientReference)(
              context,
              {.count = count, .sum = sum.data() + 2, .gradient = {.bf16 = out.data() + 1}});
        });
    const std::vector<float> begin = RandomNumbers(count + kRoom, 4);
    for (const bool add : {false, true}) {
      for (const bool rounded : {false, true}) {
        ExpectSameBytes(
            count, begin, [&](const KernelContext& context, bool host, std::vector<float>& out) {
              return (host ? StoreGradientHost : StoreGradientReference)(
                  context, {.count = count,
                            .sum = sum.data() + 2,
                            .gradient = {.sum = out.data() + 1, .add = add, .rounded = rounded}});
            });
      }
    }
  }
}

TEST(Convert, AccumulatesEveryPairOfTypes) {
  for (const int64_t count : kStreamedSizes) {
    const std::vector<float> wide = RandomNumbers(count + kRoom, 5);
    const std::vector<float> begin = RandomNumbers(count + kRoom, 6);
    std::vector<uint16_t> narrow(wide.size());
    std::vector<uint16_t> narrow_begin(wide.size());
    for (size_t i = 0; i < wide.size(); ++i) {
      narrow[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(wide[i]) >> 16);
      narrow_begin[i] = static_cast<uint16_t>(std::bit_cast<uint32_t>(begin[i]) >> 16);
    }
    for (const bool add : {false, true}) {
      for (const bool from_bf16 : {false, true}) {
        Accumulate args = {.count = count,
                           .gradient_fp32 = from_bf16 ? nullptr : wide.data() + 1,
                           .gradient_bf16 = from_bf16 ? narrow.data() + 1 : nullptr,
                           .add = add};
        ExpectSameBytes(count, begin,
                        [&](const KernelContext& context, bool host, std::vector<float>& kept) {
                          args.kept_bf16 = nullptr;
                          args.kept_fp32 = kept.data() + 1;
                          return (host ? AccumulateHost : AccumulateReference)(context, args);
                        });
        ExpectSameBytes(count, narrow_begin,
                        [&](const KernelContext& context, bool host, std::vector<uint16_t>& kept) {
                          args.kept_fp32 = nullptr;
                          args.kept_bf16 = kept.data() + 1;
                          return (host ? AccumulateHost : AccumulateReference)(context, args);
                        });
      }
    }
  }
}

TEST(Convert, ScalesInFp32) {
  for (const int64_t count : kSizes) {
    ExpectSameBytes(count, RandomNumbers(count + kRoom, 7),
                    [&](const KernelContext& context, bool host, std::vector<float>& values) {
                      return (host ? ScaleHost : ScaleReference)(
                          context, {.count = count, .factor = 0.3f, .values = values.data() + 1});
                    });
  }
}

TEST(Convert, CopiesBytesAtEveryPlace) {
  for (const int64_t bytes : {int64_t{0}, int64_t{1}, int64_t{63}, int64_t{1000}, int64_t{262'144},
                              int64_t{700'001}, (int64_t{8} << 20) + 77}) {
    const auto from = RandomBits<uint8_t>(bytes + 64, 8);
    const std::vector<uint8_t> begin(from.size(), 9);
    for (const int64_t place : {0, 1, 17}) {
      ExpectSameBytes(
          bytes, begin, [&](const KernelContext& context, bool host, std::vector<uint8_t>& to) {
            return (host ? CopyBytesHost : CopyBytesReference)(
                context, {.bytes = bytes, .from = from.data() + 5, .to = to.data() + place});
          });
    }
  }
}

TEST(Convert, AnyCutGivesTheSameBits) {
  constexpr int64_t kCount = 100'003;
  const std::vector<float> sum = RandomNumbers(kCount, 9);
  KernelLane lane(2);
  std::vector<uint16_t> whole(kCount);
  ASSERT_TRUE(
      StoreGradientHost(lane.context(),
                        {.count = kCount, .sum = sum.data(), .gradient = {.bf16 = whole.data()}})
          .ok());
  std::mt19937 random(10);
  for (int repeat = 0; repeat < 5; ++repeat) {
    std::vector<uint16_t> cut(kCount);
    for (int64_t first = 0; first < kCount;) {
      const auto count = std::min<int64_t>(kCount - first, static_cast<int64_t>(random() % 9999));
      const GradientOut out = GradientOut{.bf16 = cut.data()}.From(first);
      ASSERT_TRUE(StoreGradientHost(lane.context(),
                                    {.count = count, .sum = sum.data() + first, .gradient = out})
                      .ok());
      first += count;
    }
    EXPECT_TRUE(SameBytes(cut, whole));
  }
}

// Known values, since reference and host could share a misunderstanding.
TEST(Convert, KnownValues) {
  KernelLane lane(1);
  const std::vector<uint16_t> hi = {0x3F80, 0x3F81, 0xBF81};
  const std::vector<int16_t> lo = {1, -32768, -32768};
  std::vector<float> weights(3);
  ASSERT_TRUE(
      ExpandWeightsHost(lane.context(),
                        {.count = 3, .hi = hi.data(), .lo = lo.data(), .weights = weights.data()})
          .ok());
  EXPECT_EQ(weights, (std::vector<float>{0x1.000002p0f, 0x1.01p0f, -0x1.01p0f}));
  // 1 + 2^-8 lies between 1 and 1 + 2^-7: to the even one; 1 + 3 x 2^-8 to 1 + 2^-6.
  const std::vector<float> gradient = {0x1p-8f, 0x1.8p-7f, 0x1.02p-8f};
  std::vector<uint16_t> kept = {0x3F80, 0x3F80, 0x3F80};
  ASSERT_TRUE(
      AccumulateHost(
          lane.context(),
          {.count = 3, .gradient_fp32 = gradient.data(), .add = true, .kept_bf16 = kept.data()})
          .ok());
  EXPECT_EQ(kept, (std::vector<uint16_t>{0x3F80, 0x3F82, 0x3F81}));
}

}  // namespace
}  // namespace horizon

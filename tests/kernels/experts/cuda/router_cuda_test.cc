#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "kernels/experts/router.h"
#include "tests/kernels/cuda/cuda_kernel_test.h"
#include "tests/kernels/cuda/device_array.h"
#include "tests/kernels/experts/cuda/routed_tokens.h"
#include "tests/kernels/support/bf16_values.h"

namespace horizon {
namespace {

class RouterCudaTest : public CudaKernelTest {};
INSTANTIATE_TEST_SUITE_P(Offset, RouterCudaTest, testing::Values(0, 1, 4));

constexpr RouterWeights kKinds[] = {RouterWeights::kSoftmaxOfAll, RouterWeights::kSoftmaxOfChosen};
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();
// What exponentials below the least normal number may lose.
constexpr double kTiny = 0x1p-120;

struct Shape {
  int64_t tokens, experts, per_token;
};
const std::vector<Shape>& Shapes() {
  static const std::vector<Shape> shapes = {{1, 1, 1},     {1, 8, 8},   {3, 31, 2},   {9, 32, 4},
                                            {7, 33, 33},   {65, 60, 4}, {40, 128, 8}, {17, 129, 4},
                                            {20, 512, 10}, {300, 6, 2}};
  return shapes;
}

struct Routing {
  std::vector<float> probabilities;
  std::vector<int32_t> chosen;
  std::vector<float> weights;
};

Routing Unwritten(const Shape& shape) {
  return {std::vector<float>(static_cast<size_t>(shape.tokens * shape.experts), -1.0f),
          std::vector<int32_t>(static_cast<size_t>(shape.tokens * shape.per_token), -1),
          std::vector<float>(static_cast<size_t>(shape.tokens * shape.per_token), -1.0f)};
}

RouterForward ForwardOf(const Shape& shape, RouterWeights kind) {
  return {
      .kind = kind, .tokens = shape.tokens, .experts = shape.experts, .per_token = shape.per_token};
}

Routing ByReference(const Shape& shape, RouterWeights kind, const std::vector<float>& logits,
                    const std::vector<uint16_t>& bias) {
  Routing routing = Unwritten(shape);
  const std::vector<float> wide = Widened(bias);
  RouterForward args = ForwardOf(shape, kind);
  args.logits = logits.data();
  if (!bias.empty()) args.bias = wide.data();
  args.probabilities = routing.probabilities.data();
  args.chosen = routing.chosen.data();
  args.weights = routing.weights.data();
  EXPECT_TRUE(RouterForwardReference({}, args).ok());
  return routing;
}

Routing OnCuda(const Shape& shape, RouterWeights kind, const std::vector<float>& logits_of,
               const std::vector<uint16_t>& bias_of, bool in_place, int64_t offset, uint64_t seed) {
  const Routing unwritten = Unwritten(shape);
  const CudaStream stream(seed);
  const DeviceArray<float> logits(stream, logits_of, offset);
  const DeviceArray<uint16_t> bias(stream, bias_of, offset);
  const DeviceArray<float> elsewhere(stream, unwritten.probabilities, offset);
  const DeviceArray<float>& probabilities = in_place ? logits : elsewhere;
  const DeviceArray<int32_t> chosen(stream, unwritten.chosen, offset);
  const DeviceArray<float> weights(stream, unwritten.weights, offset);
  RouterForward args = ForwardOf(shape, kind);
  args.logits = logits.data();
  if (!bias_of.empty()) args.bias = bias.data();
  args.probabilities = probabilities.data();
  args.chosen = chosen.data();
  args.weights = weights.data();
  const absl::Status status = RouterForwardCuda(stream.context(), args);
  EXPECT_TRUE(status.ok()) << status;
  return {probabilities.Read(), chosen.Read(), weights.Read()};
}

// The relative error of one exponential over a sum of them: the distance from the largest logit is
// rounded once, exp is within 2 units on a GPU, a sum of `experts` positive numbers has a rounding
// for each at most, and there is a quotient.
double ShareError(const Shape& shape, float spread) {
  return (2.0 * spread + static_cast<double>(shape.experts) + 8.0) * kFp32Unit;
}

void ExpectNearReference(const Shape& shape, float spread, const Routing& actual,
                         const Routing& expected) {
  EXPECT_EQ(actual.chosen, expected.chosen);
  const double error = ShareError(shape, spread);
  ExpectNear("probabilities", actual.probabilities, expected.probabilities,
             [&](size_t i) { return expected.probabilities[i] * error + kTiny; });
  ExpectNear("weights", actual.weights, expected.weights,
             [&](size_t i) { return expected.weights[i] * error + kTiny; });
}

TEST_P(RouterCudaTest, ForwardEqualsTheReferenceInAnyOrderPlaceAndInPlace) {
  constexpr float kLargest = 10.0f;
  for (const RouterWeights kind : kKinds) {
    for (const Shape& shape : Shapes()) {
      std::mt19937 random(1);
      const std::vector<float> logits = RandomFp32(random, shape.tokens * shape.experts, kLargest);
      for (const bool has_bias : {false, true}) {
        const std::vector<uint16_t> bias =
            RandomBf16(random, has_bias ? shape.experts : 0, kLargest);
        const Routing first = OnCuda(shape, kind, logits, bias, false, offset(), 1);
        ExpectNearReference(shape, 4 * kLargest, first, ByReference(shape, kind, logits, bias));
        const Routing again = OnCuda(shape, kind, logits, bias, true, offset(), 2);
        EXPECT_EQ(again.chosen, first.chosen);
        EXPECT_EQ(again.weights, first.weights);
        EXPECT_EQ(again.probabilities, first.probabilities);
      }
    }
  }
}

// Few different logits, so that the last place is nearly always one of several equal ones.
TEST_P(RouterCudaTest, TiesGoToTheLowerNumber) {
  for (const Shape& shape : Shapes()) {
    std::mt19937 random(2);
    std::vector<float> logits(static_cast<size_t>(shape.tokens * shape.experts));
    const float values[] = {-1.0f, -0.0f, 0.0f, 0.5f};
    for (float& logit : logits) logit = values[random() % 4];
    const Routing expected = ByReference(shape, RouterWeights::kSoftmaxOfChosen, logits, {});
    EXPECT_EQ(OnCuda(shape, RouterWeights::kSoftmaxOfChosen, logits, {}, false, offset(), 1).chosen,
              expected.chosen);
  }
  EXPECT_EQ(OnCuda({1, 5, 2}, RouterWeights::kSoftmaxOfAll, {1, 2, 3, 2, 2}, {}, false, offset(), 1)
                .chosen,
            (std::vector<int32_t>{1, 2}));
}

TEST_P(RouterCudaTest, NanCountsAsTheSmallestLogit) {
  const auto chosen = [&](const std::vector<float>& logits, int64_t per_token) {
    return OnCuda({1, static_cast<int64_t>(logits.size()), per_token},
                  RouterWeights::kSoftmaxOfChosen, logits, {}, false, offset(), 1)
        .chosen;
  };
  EXPECT_EQ(chosen({kNan, -5.0f, -3e38f, kNan}, 2), (std::vector<int32_t>{1, 2}));
  EXPECT_EQ(chosen({kNan, -5.0f, -kNan, kNan}, 3), (std::vector<int32_t>{0, 1, 2}));
  EXPECT_EQ(chosen({kNan, kNan, kNan}, 2), (std::vector<int32_t>{0, 1}));
  EXPECT_EQ(chosen({kNan, -kInfinity, kInfinity, 1.0f}, 3), (std::vector<int32_t>{0, 2, 3}));
  EXPECT_EQ(chosen({-kInfinity, kNan, kInfinity, kInfinity}, 3), (std::vector<int32_t>{0, 2, 3}));
  for (const Shape& shape : Shapes()) {
    std::mt19937 random(3);
    const float values[] = {kNan, -kInfinity, kInfinity, 1.0f, -2.0f};
    std::vector<float> logits(static_cast<size_t>(shape.tokens * shape.experts));
    for (float& logit : logits) logit = values[random() % 5];
    EXPECT_EQ(OnCuda(shape, RouterWeights::kSoftmaxOfAll, logits, {}, false, offset(), 4).chosen,
              ByReference(shape, RouterWeights::kSoftmaxOfAll, logits, {}).chosen);
  }
}

// More tokens than the warps of all thread blocks.
TEST_P(RouterCudaTest, ManyTokensAreStridedOver) {
  if (offset() != 0) return;
  const Shape shape = {33'000, 3, 1};
  std::mt19937 random(4);
  const std::vector<float> logits = RandomFp32(random, shape.tokens * shape.experts);
  ExpectNearReference(shape, 2.0f,
                      OnCuda(shape, RouterWeights::kSoftmaxOfChosen, logits, {}, false, 0, 1),
                      ByReference(shape, RouterWeights::kSoftmaxOfChosen, logits, {}));
}

// Records of which every third is padding and every fifth has no label.
std::vector<TokenRecord> SomePadding(int64_t tokens) {
  std::vector<TokenRecord> records(static_cast<size_t>(tokens));
  for (size_t i = 0; i < records.size(); ++i) {
    records[i].label = i % 3 == 1 ? kPaddingLabel : i % 5 == 0 ? -100 : 7;
  }
  return records;
}

// Forward's results and the gradients of them.
struct Gradients {
  Gradients(const Shape& shape_of, RouterWeights kind_of, uint32_t seed)
      : shape(shape_of), kind(kind_of), random(seed) {
    const std::vector<float> logits = RandomFp32(random, shape.tokens * shape.experts, 3.0f);
    routing = ByReference(shape, kind, logits, {});
    weight_gradient = RandomFp32(random, shape.tokens * shape.per_token);
    probability_gradient = RandomFp32(random, shape.experts);
    records = SomePadding(shape.tokens);
  }
  RouterBackward Args() const {
    return {.kind = kind,
            .tokens = shape.tokens,
            .experts = shape.experts,
            .per_token = shape.per_token};
  }
  Shape shape;
  RouterWeights kind;
  std::mt19937 random;
  Routing routing;
  std::vector<float> weight_gradient;
  std::vector<float> probability_gradient;
  std::vector<TokenRecord> records;
};

std::vector<uint16_t> BackwardOnCuda(const Gradients& g, bool with_loss, int64_t offset,
                                     uint64_t seed) {
  const CudaStream stream(seed);
  const DeviceArray<float> probabilities(stream, g.routing.probabilities, offset);
  const DeviceArray<int32_t> chosen(stream, g.routing.chosen, offset);
  const DeviceArray<float> weights(stream, g.routing.weights, offset);
  const DeviceArray<float> weight_gradient(stream, g.weight_gradient, offset);
  const DeviceArray<float> probability_gradient(stream, g.probability_gradient, offset);
  const DeviceArray<TokenRecord> records(stream, g.records, 0);
  const DeviceArray<uint16_t> logit_gradient(
      stream, std::vector<uint16_t>(g.routing.probabilities.size(), 0xFFFF), offset);
  RouterBackward args = g.Args();
  args.probabilities = probabilities.data();
  args.chosen = chosen.data();
  args.weights = weights.data();
  args.weight_gradient = weight_gradient.data();
  if (with_loss) {
    args.probability_gradient = probability_gradient.data();
    args.records = records.data();
  }
  args.logit_gradient = logit_gradient.data();
  const absl::Status status = RouterBackwardCuda(stream.context(), args);
  EXPECT_TRUE(status.ok()) << status;
  return logit_gradient.Read();
}

// Gradients are at most 1, and so are sums of them with weights or probabilities. Those sums are
// off by a rounding for each term, and a result is rounded twice more before it becomes a bf16.
TEST_P(RouterCudaTest, BackwardEqualsTheReferenceInAnyOrderAndPlace) {
  for (const RouterWeights kind : kKinds) {
    for (const Shape& shape : Shapes()) {
      const Gradients g(shape, kind, 5);
      for (const bool with_loss : {false, true}) {
        std::vector<float> expected(g.routing.probabilities.size());
        RouterBackward args = g.Args();
        args.probabilities = g.routing.probabilities.data();
        args.chosen = g.routing.chosen.data();
        args.weights = g.routing.weights.data();
        args.weight_gradient = g.weight_gradient.data();
        if (with_loss) {
          args.probability_gradient = g.probability_gradient.data();
          args.records = g.records.data();
        }
        args.logit_gradient = expected.data();
        ASSERT_TRUE(RouterBackwardReference({}, args).ok());
        const std::vector<uint16_t> first = BackwardOnCuda(g, with_loss, offset(), 1);
        const auto terms = static_cast<double>(shape.experts + shape.per_token + 8);
        ExpectNear("logit_gradient", Widened(first), expected, [&](size_t i) {
          // The weight of the expert, if it was chosen.
          double share = g.routing.probabilities[i];
          const auto token = static_cast<int64_t>(i) / shape.experts;
          const auto expert = static_cast<int64_t>(i) % shape.experts;
          for (int64_t j = token * shape.per_token; j < (token + 1) * shape.per_token; ++j) {
            const auto at = static_cast<size_t>(j);
            if (g.routing.chosen[at] == expert) share += g.routing.weights[at];
          }
          return std::fabs(expected[i]) * kBf16Unit + 4.0 * share * terms * kFp32Unit + kTiny;
        });
        EXPECT_EQ(BackwardOnCuda(g, with_loss, offset(), 2), first);
      }
    }
  }
}

struct Statistics {
  std::vector<int64_t> counts;
  std::vector<double> sums;
  bool operator==(const Statistics&) const = default;
};

TEST_P(RouterCudaTest, StatisticsHaveTheReferencesBitsInAnyOrderAndPlace) {
  for (const Shape& shape : std::vector<Shape>{{0, 5, 2},
                                               {1, 1, 1},
                                               {63, 33, 3},
                                               {64, 8, 8},
                                               {65, 60, 4},
                                               {2049, 40, 2},
                                               {4200, 32, 1},
                                               {100, 512, 8}}) {
    std::mt19937 random(6);
    const RoutedTokens routed = RandomRoutes(shape.tokens, shape.experts, shape.per_token, random);
    // Of such different sizes that the order of additions shows.
    std::vector<float> p = RandomFp32(random, shape.tokens * shape.experts);
    for (float& value : p) value = std::ldexp(value, -static_cast<int>(random() % 50));
    const std::vector<TokenRecord> tokens = SomePadding(shape.tokens);
    const Statistics before = {std::vector<int64_t>(static_cast<size_t>(shape.experts), 77),
                               std::vector<double>(static_cast<size_t>(shape.experts), 77.0)};
    Statistics expected = before;
    RouterStatistics args = {.tokens = shape.tokens,
                             .experts = shape.experts,
                             .per_token = shape.per_token,
                             .records = tokens.data(),
                             .probabilities = p.data(),
                             .chosen = routed.chosen.data(),
                             .counts = expected.counts.data(),
                             .probability_sums = expected.sums.data()};
    ASSERT_TRUE(RouterStatisticsReference({}, args).ok());
    for (const uint64_t seed : {1, 2}) {
      const CudaStream stream(seed);
      const DeviceArray<TokenRecord> records(stream, tokens, 0);
      const DeviceArray<float> probabilities(stream, p, offset());
      const DeviceArray<int32_t> chosen(stream, routed.chosen, offset());
      const DeviceArray<int64_t> counts(stream, before.counts, offset());
      const DeviceArray<double> sums(stream, before.sums, offset());
      args.records = records.data();
      args.probabilities = probabilities.data();
      args.chosen = chosen.data();
      args.counts = counts.data();
      args.probability_sums = sums.data();
      const absl::Status status = RouterStatisticsCuda(stream.context(), args);
      ASSERT_TRUE(status.ok()) << status;
      EXPECT_EQ((Statistics{counts.Read(), sums.Read()}), expected)
          << shape.tokens << " tokens, " << shape.experts << " experts";
    }
  }
}

// Counts above 2^53, which a double does not hold one by one.
TEST_P(RouterCudaTest, LossGradientHasTheReferencesBits) {
  for (const auto& [layers, experts] :
       std::vector<std::pair<int64_t, int64_t>>{{0, 3}, {1, 1}, {3, 60}, {48, 300}}) {
    const int64_t stride = experts + 5;
    std::mt19937_64 random(7);
    std::vector<int64_t> all(static_cast<size_t>(layers * stride));
    for (int64_t& count : all) count = static_cast<int64_t>(random() % (uint64_t{1} << 56));
    std::vector<float> expected(static_cast<size_t>(experts));
    RouterLossGradient args = {.layers = layers,
                               .experts = experts,
                               .counts = all.data(),
                               .layer_stride = stride,
                               .scale = 1.7e-18,
                               .gradient = expected.data()};
    ASSERT_TRUE(RouterLossGradientReference({}, args).ok());
    const CudaStream stream;
    const DeviceArray<int64_t> counts(stream, all, offset());
    const DeviceArray<float> gradient(stream, std::vector<float>(expected.size(), -1.0f), offset());
    args.counts = counts.data();
    args.gradient = gradient.data();
    const absl::Status status = RouterLossGradientCuda(stream.context(), args);
    ASSERT_TRUE(status.ok()) << status;
    EXPECT_EQ(gradient.Read(), expected) << layers << " layers";
  }
}

}  // namespace
}  // namespace horizon

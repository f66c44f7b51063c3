#include "runtime/parameters/random_init.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <string>
#include <vector>

#include "model/stages.h"
#include "model/tensor_role.h"
#include "tests/model/model_specs.h"

namespace horizon {
namespace {

ModelSpec Spec() {
  ModelSpec spec;
  spec.initializer_range = 0.02;
  return spec;
}

TensorSpec Tensor(std::string name, uint64_t parameters) {
  TensorSpec tensor;
  tensor.name = std::move(name);
  tensor.shape = {static_cast<int64_t>(parameters)};
  tensor.parameters = parameters;
  return tensor;
}

std::vector<float> Values(const TensorSpec& tensor, int64_t seed) {
  std::vector<float> values(tensor.parameters);
  FillRandomTensor(Spec(), tensor, seed, 0, values);
  return values;
}

TEST(RandomInit, AnyCutGivesTheSameBits) {
  const TensorSpec tensor = Tensor("model.embed_tokens.weight", 1003);
  const std::vector<float> whole = Values(tensor, 7);
  for (const size_t piece : {1u, 2u, 3u, 4u, 5u, 64u, 1002u, 1003u}) {
    std::vector<float> pieces(whole.size() + 1, -1.0F);
    for (size_t first = 0; first < whole.size(); first += piece) {
      const size_t count = std::min(piece, whole.size() - first);
      FillRandomTensor(Spec(), tensor, 7, first, std::span(pieces).subspan(first, count));
    }
    EXPECT_EQ(pieces.back(), -1.0F);
    pieces.pop_back();
    EXPECT_EQ(pieces, whole) << piece;
  }
  FillRandomTensor(Spec(), tensor, 7, 1003, {});
}

TEST(RandomInit, MatricesAreNormalWithTheModelsDeviation) {
  constexpr uint64_t kCount = 400'000;
  const std::vector<float> values = Values(Tensor("model.layers.0.mlp.up_proj.weight", kCount), 1);
  double sum = 0;
  double squares = 0;
  double cubes = 0;
  double fourths = 0;
  int beyond_two = 0;
  for (const float value : values) {
    const double x = value / 0.02;
    sum += x;
    squares += x * x;
    cubes += x * x * x;
    fourths += x * x * x * x;
    beyond_two += std::abs(x) > 2 ? 1 : 0;
  }
  // The mean of n draws deviates by sqrt(variance / n): 1, 2, 15 and 96 are the variances of a
  // normal number's powers. Six deviations each.
  const auto six = [](double variance) { return 6 * std::sqrt(variance / kCount); };
  EXPECT_NEAR(sum / kCount, 0, six(1));
  EXPECT_NEAR(squares / kCount, 1, six(2));
  EXPECT_NEAR(cubes / kCount, 0, six(15));
  EXPECT_NEAR(fourths / kCount, 3, six(96));
  EXPECT_NEAR(static_cast<double>(beyond_two) / kCount, 0.0455003, six(0.0455 * 0.9545));
}

TEST(RandomInit, NeighboursAreNotCorrelated) {
  constexpr uint64_t kCount = 400'000;
  const std::vector<float> values = Values(Tensor("lm_head.weight", kCount), 3);
  for (size_t lag = 1; lag <= 8; ++lag) {
    double sum = 0;
    for (size_t i = lag; i < values.size(); ++i) sum += values[i] * values[i - lag] / (0.02 * 0.02);
    EXPECT_NEAR(sum / kCount, 0, 6 / std::sqrt(kCount)) << lag;
  }
}

TEST(RandomInit, SeedsAndNamesGiveOtherValues) {
  std::set<std::vector<float>> all;
  for (const int64_t seed : {int64_t{0}, int64_t{1}, int64_t{1} << 40}) {
    for (const char* name : {"lm_head.weight", "model.layers.0.self_attn.q_proj.weight",
                             "model.layers.1.self_attn.q_proj.weight"}) {
      EXPECT_TRUE(all.insert(Values(Tensor(name, 16), seed)).second) << seed << " " << name;
    }
  }
}

TEST(RandomInit, TheSameJobGivesTheSameModelInEveryVersion) {
  const std::vector<float> values = Values(Tensor("lm_head.weight", 4), 0);
  // A library's logarithm and sine may differ by a bit in double, which fp32 seldom shows.
  const std::vector<float> expected = {-0.020930735F, -0.0076753767F, -0.012338703F, -0.015136785F};
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(values[i], expected[i], 1e-8) << i;
}

TEST(RandomInit, EveryTensorOfEveryFamilyIsOfItsKind) {
  for (const std::string_view family : TestedFamilies()) {
    const ModelSpec spec = TinySpec(family);
    for (const Stage& stage : ListStages(spec)) {
      for (const TensorSpec& tensor : stage.tensors) {
        std::vector<float> values(std::min<uint64_t>(tensor.parameters, 64));
        FillRandomTensor(spec, tensor, 0, 0, values);
        const auto all_are = [&](float value) {
          return std::count(values.begin(), values.end(), value) ==
                 static_cast<int64_t>(values.size());
        };
        const bool is_norm = tensor.name.find("norm") != std::string::npos;
        const bool is_sink = tensor.name.find("sinks") != std::string::npos;
        const bool is_bias = !tensor.decays && !is_norm && !is_sink;
        EXPECT_EQ(all_are(1.0F), is_norm && !spec.norm_adds_one) << family << " " << tensor.name;
        EXPECT_EQ(all_are(0.0F), is_bias || (is_norm && spec.norm_adds_one))
            << family << " " << tensor.name;
      }
    }
  }
}

TEST(RandomInit, TheRoleDecidesAndNotTheName) {
  TensorSpec tensor = Tensor("model.layers.0.norm.weight.bias", 8);
  ModelSpec spec = Spec();
  const auto values_of = [&](TensorRole role) {
    tensor.role = role;
    std::vector<float> values(tensor.parameters);
    FillRandomTensor(spec, tensor, 0, 0, values);
    return values;
  };
  const std::vector<float> ones(8, 1.0F);
  const std::vector<float> zeros(8, 0.0F);
  for (int i = 0; i < kTensorRoles; ++i) {
    const auto role = static_cast<TensorRole>(i);
    const std::string word(ToString(role));
    const bool is_norm = word.find("norm") != std::string::npos;
    const bool is_bias = word.find("bias") != std::string::npos;
    spec.norm_adds_one = false;
    EXPECT_EQ(values_of(role) == ones, is_norm) << word;
    EXPECT_EQ(values_of(role) == zeros, is_bias) << word;
    spec.norm_adds_one = true;
    EXPECT_EQ(values_of(role) == zeros, is_bias || is_norm) << word;
    EXPECT_NE(values_of(role), ones) << word;
  }
}

TEST(RandomInit, TheDeviationIsTheSpecs) {
  const TensorSpec tensor = Tensor("lm_head.weight", 64);
  ModelSpec wide = Spec();
  wide.initializer_range = 0.04;
  std::vector<float> doubled(64);
  FillRandomTensor(wide, tensor, 5, 0, doubled);
  const std::vector<float> values = Values(tensor, 5);
  for (size_t i = 0; i < values.size(); ++i) EXPECT_EQ(doubled[i], 2 * values[i]);
}

}  // namespace
}  // namespace horizon

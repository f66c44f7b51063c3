// The files that only the goldens of mixtures of experts have agree with themselves, with the model
// and with the definition of the auxiliary loss.
#include "tests/runtime/support/expert_goldens.h"

#include <cmath>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/goldens/golden_names.h"
#include "tests/runtime/support/training_case.h"

namespace horizon {
namespace {

std::set<std::string> NamesOnDisk(const Golden& golden) {
  std::set<std::string> names;
  for (const auto& [name, parts] : golden.parts_on_disk) names.insert(name);
  return names;
}

template <typename Values>
std::set<std::string> NamesOf(const std::map<std::string, Values>& values) {
  std::set<std::string> names;
  for (const auto& [name, value] : values) names.insert(name);
  return names;
}

double TotalNorm(const std::map<std::string, double>& norms) {
  double squares = 0;
  for (const auto& [name, norm] : norms) squares += norm * norm;
  return std::sqrt(squares);
}

class ExpertGolden : public testing::TestWithParam<std::string> {
 protected:
  const Golden golden_ = LoadGolden(GetParam());
};

// Norms are fp32 numbers, of which each is rounded once.
constexpr double kRounding = 1e-6;

TEST_P(ExpertGolden, NormsOfTheFirstStepAreByTheNamesOnDisk) {
  EXPECT_EQ(NamesOf(golden_.gradient_norms), NamesOnDisk(golden_));
  EXPECT_LT(RelativeError(TotalNorm(golden_.gradient_norms), golden_.gradient_norm), kRounding);
}

TEST_P(ExpertGolden, Bf16StepHasNormAndSamplesOfEveryTensor) {
  const Bf16Golden bf16 = LoadBf16Golden(GetParam());
  EXPECT_EQ(NamesOf(bf16.gradient_norms), NamesOnDisk(golden_));
  EXPECT_EQ(NamesOf(bf16.gradient_samples), NamesOnDisk(golden_));
  EXPECT_LT(RelativeError(TotalNorm(bf16.gradient_norms), bf16.gradient_norm), kRounding);
  EXPECT_GT(bf16.least_router_gap, 0);
  // Close to the weights that were not rounded, but not the same.
  EXPECT_LT(RelativeError(bf16.first_loss, golden_.first_loss), 1e-3);
  EXPECT_NE(bf16.first_loss, golden_.first_loss);
  for (const auto& [name, parts] : golden_.parts_on_disk) {
    uint64_t elements = 0;
    for (const std::string& part : parts) elements += golden_.tensors.at(part).size();
    const std::vector<float>& samples = bf16.gradient_samples.at(name);
    EXPECT_EQ(samples.size(), SampleGradient(std::vector<float>(elements)).size()) << name;
    double squares = 0;
    for (const float sample : samples) squares += double{sample} * sample;
    const double norm = bf16.gradient_norms.at(name);
    EXPECT_LE(std::sqrt(squares), norm * (1 + kRounding)) << name;
    if (samples.size() == elements) {
      EXPECT_LT(RelativeError(std::sqrt(squares), norm), kRounding) << name;
    }
  }
}

TEST_P(ExpertGolden, RouterLossIsExpertsTimesSharesTimesProbabilities) {
  const std::vector<RouterLossCase> cases = LoadRouterLossCases(GetParam());
  ASSERT_EQ(cases.size(), 2u);
  const auto experts = static_cast<size_t>(golden_.spec.experts.experts);
  for (const RouterLossCase& one : cases) {
    SCOPED_TRACE(one.name);
    EXPECT_EQ(NamesOf(one.gradient_norms), NamesOnDisk(golden_));
    ASSERT_EQ(one.losses.size(), 4u);
    ASSERT_EQ(one.router_losses.size(), 4u);
    ASSERT_EQ(one.gradient_norms_of_steps.size(), 4u);
    EXPECT_LT(RelativeError(TotalNorm(one.gradient_norms), one.gradient_norms_of_steps[0]),
              kRounding);
    const int64_t tokens = std::accumulate(one.row_tokens.begin(), one.row_tokens.end(), 0);
    ASSERT_EQ(one.mean_probabilities.size(), experts);
    std::vector<double> shares(experts);
    for (const std::vector<int64_t>& layer : one.counts) {
      ASSERT_EQ(layer.size(), experts);
      EXPECT_EQ(std::accumulate(layer.begin(), layer.end(), int64_t{0}),
                tokens * golden_.spec.experts.experts_per_token);
      for (size_t e = 0; e < experts; ++e) {
        shares[e] += static_cast<double>(layer[e]) /
                     static_cast<double>(tokens * static_cast<int64_t>(one.counts.size()));
      }
    }
    double loss = 0;
    for (size_t e = 0; e < experts; ++e) loss += shares[e] * one.mean_probabilities[e];
    EXPECT_LT(RelativeError(one.router_losses[0], static_cast<double>(experts) * loss), kRounding);
  }
  EXPECT_LT(RelativeError(cases[0].losses[0], golden_.first_loss), kRounding) << "no padding";
}

INSTANTIATE_TEST_SUITE_P(Families, ExpertGolden, testing::ValuesIn(ExpertGoldens()),
                         [](const auto& family) { return family.param; });

TEST(SampleGradient, TakesTheFirstTheLastAndWhatLiesBetween) {
  std::vector<float> gradient(2047);
  std::iota(gradient.begin(), gradient.end(), 0.0F);
  const std::vector<float> samples = SampleGradient(gradient);
  ASSERT_EQ(samples.size(), 1024u);
  for (size_t i = 0; i < samples.size(); ++i) EXPECT_EQ(samples[i], static_cast<float>(2 * i));
  gradient.resize(1000);
  EXPECT_EQ(SampleGradient(gradient), gradient);
}

TEST(PadRows, TheLastTokenOfARowHasNothingToPredict) {
  std::vector<TokenRecord> records(8);
  for (TokenRecord& record : records) record.label = 7;
  const std::vector<TokenRecord> padded = PadRows(records, {4, 2}, -9);
  std::vector<int32_t> labels;
  for (const TokenRecord& record : padded) labels.push_back(record.label);
  EXPECT_EQ(labels, (std::vector<int32_t>{7, 7, 7, -100, 7, -100, -9, -9}));
}

}  // namespace
}  // namespace horizon

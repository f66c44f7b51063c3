// Mixtures of experts: PyTorch's answers for weights rounded to bf16, and with the auxiliary loss
// of the routers.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/goldens/golden_names.h"
#include "tests/runtime/support/expert_goldens.h"
#include "tests/runtime/support/training_case.h"

namespace horizon {
namespace {

class GoldenExperts : public testing::TestWithParam<std::string> {};

// The masters are rounded, so the high halves are all there is: the bounds are those of dense
// models against answers in fp32.
TEST_P(GoldenExperts, ComputeInBf16IsCloseToPyTorchWithRoundedWeights) {
  const Golden golden = LoadGolden(GetParam());
  const Bf16Golden wanted = LoadBf16Golden(GetParam());
  TrainingJob job = golden.job;
  job.compute_type = NumberType::kBf16;
  job.gradient_type = NumberType::kBf16;
  const TrainingCaseOutcome outcome = RunGolden(golden, job, StreamPlan{}, 1);
  ASSERT_EQ(outcome.steps.size(), 1u);
  EXPECT_LT(RelativeError(outcome.steps[0].loss, wanted.first_loss), 1e-3);
  EXPECT_LT(RelativeError(outcome.steps[0].gradient_norm, wanted.gradient_norm), 2e-2);
  ASSERT_EQ(outcome.tensor_names.size(), wanted.gradient_norms.size());
  for (size_t i = 0; i < outcome.tensor_names.size(); ++i) {
    const std::string& name = outcome.tensor_names[i];
    EXPECT_LT(RelativeError(outcome.steps[0].norms[i], wanted.gradient_norms.at(name)), 2e-2)
        << name;
    const std::vector<float> got = SampleGradient(outcome.gradients.at(name));
    const std::vector<float>& samples = wanted.gradient_samples.at(name);
    if (wanted.gradient_norms.at(name) == 0) {
      EXPECT_EQ(got, samples) << name << ", of an expert without a token";
    } else {
      EXPECT_GE(Cosine(got, samples), 0.999) << name;
    }
  }
}

TEST_P(GoldenExperts, TheAuxiliaryLossIsPyTorchs) {
  const Golden golden = LoadGolden(GetParam());
  for (const RouterLossCase& wanted : LoadRouterLossCases(GetParam())) {
    SCOPED_TRACE(wanted.name);
    TrainingJob job = golden.job;
    job.router_aux_loss = wanted.coefficient;
    absl::StatusOr<TrainingCaseOutcome> outcome =
        RunTrainingCase({.spec = golden.spec,
                         .job = job,
                         .plan = StreamPlan{},
                         .source = SourceOf(golden),
                         .batch =
                             [&](int64_t step, int64_t) {
                               return PadRows(golden.batches[static_cast<size_t>(step - 1)],
                                              wanted.row_tokens, kPaddingLabel);
                             },
                         .steps = static_cast<int64_t>(wanted.losses.size())});
    ASSERT_TRUE(outcome.ok()) << outcome.status();
    const StepResult& first = outcome->steps.at(0);
    const auto experts = static_cast<size_t>(golden.spec.experts.experts);
    ASSERT_EQ(first.expert_counts.size(), wanted.counts.size() * experts);
    for (size_t router = 0; router < wanted.counts.size(); ++router) {
      const auto begin = first.expert_counts.begin() + static_cast<int64_t>(router * experts);
      EXPECT_EQ(std::vector<int64_t>(begin, begin + static_cast<int64_t>(experts)),
                wanted.counts[router])
          << router;
    }
    for (size_t i = 0; i < outcome->tensor_names.size(); ++i) {
      const std::string& name = outcome->tensor_names[i];
      EXPECT_LT(RelativeError(first.norms[i], wanted.gradient_norms.at(name)), 2e-5) << name;
    }
    for (size_t step = 0; step < wanted.losses.size(); ++step) {
      SCOPED_TRACE(step);
      const StepResult& got = outcome->steps.at(step);
      EXPECT_LT(RelativeError(got.loss, wanted.losses[step]), 5e-5);
      EXPECT_LT(RelativeError(got.router_aux_loss, wanted.router_losses[step]), 5e-5);
      EXPECT_LT(RelativeError(got.gradient_norm, wanted.gradient_norms_of_steps[step]), 1e-3);
    }
    EXPECT_LT(RelativeError(first.router_aux_loss, wanted.router_losses[0]), 1e-6);
    EXPECT_LT(RelativeError(first.gradient_norm, wanted.gradient_norms_of_steps[0]), 2e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenExperts, testing::ValuesIn(ExpertGoldens()),
                         [](const auto& family) { return family.param; });

}  // namespace
}  // namespace horizon

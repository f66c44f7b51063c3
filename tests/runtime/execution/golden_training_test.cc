// PyTorch's losses and gradient norms on tiny Hugging Face models, met by the runtime.
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "model/stages.h"
#include "schedule/chunk_table.h"
#include "tests/runtime/support/training_case.h"

namespace horizon {
namespace {

class GoldenTraining : public testing::TestWithParam<std::string> {};

// PyTorch in fp64 differs from the goldens by 1.1e-7, 3e-6 and 6e-6 at most.
TEST_P(GoldenTraining, LossesAndGradientNormsInFp32AreThoseOfPyTorch) {
  const Golden golden = LoadGolden(GetParam());
  const TrainingCaseOutcome outcome = RunGolden(golden, golden.job, StreamPlan{}, 8);
  ASSERT_EQ(outcome.steps.size(), 8u);
  EXPECT_LT(RelativeError(outcome.steps[0].loss, golden.first_loss), 1e-6);
  EXPECT_LT(RelativeError(outcome.steps[0].gradient_norm, golden.gradient_norm), 2e-5);
  const std::map<std::string, double> norms = NormsOnDisk(golden, outcome);
  ASSERT_EQ(norms.size(), golden.gradient_norms.size());
  for (const auto& [name, norm] : norms) {
    EXPECT_LT(RelativeError(norm, golden.gradient_norms.at(name)), 2e-5) << name;
  }
  for (size_t step = 0; step < 8; ++step) {
    EXPECT_LT(RelativeError(outcome.steps[step].loss, golden.losses[step]), 5e-5) << step;
  }
}

// Rounded weights send a few tokens to other experts, so models with experts are compared with
// answers for rounded weights (golden_experts_test.cc).
class DenseGoldenTraining : public testing::TestWithParam<std::string> {};

// Weights rounded to bf16 (8 bits), gradients rounded once more.
TEST_P(DenseGoldenTraining, LossesAndGradientNormsInBf16AreClose) {
  const Golden golden = LoadGolden(GetParam());
  TrainingJob job = golden.job;
  job.compute_type = NumberType::kBf16;
  job.gradient_type = NumberType::kBf16;
  const TrainingCaseOutcome outcome = RunGolden(golden, job, StreamPlan{}, 1);
  ASSERT_EQ(outcome.steps.size(), 1u);
  EXPECT_LT(RelativeError(outcome.steps[0].loss, golden.first_loss), 1e-3);
  for (const auto& [name, norm] : NormsOnDisk(golden, outcome)) {
    EXPECT_LT(RelativeError(norm, golden.gradient_norms.at(name)), 2e-2) << name;
  }
}

// Gate, up and down apart; attention is smaller than the table.
TEST_P(GoldenTraining, MatricesThatStreamOneByOneGiveTheSameBits) {
  const Golden golden = LoadGolden(GetParam());
  StreamPlan plan;
  plan.chunk_bytes = LeastChunkBytes(ListStages(golden.spec), golden.job);
  const TrainingCaseOutcome whole = RunGolden(golden, golden.job, StreamPlan{}, 2);
  const TrainingCaseOutcome shards = RunGolden(golden, golden.job, plan, 2);
  ASSERT_EQ(shards.steps.size(), 2u);
  EXPECT_EQ(shards.digest, whole.digest);
  for (size_t step = 0; step < 2; ++step) {
    EXPECT_EQ(shards.steps[step].loss, whole.steps[step].loss);
    EXPECT_EQ(shards.steps[step].norms, whole.steps[step].norms);
  }
}

TEST_P(DenseGoldenTraining, GradientsInBf16PointWhereThoseInFp32Do) {
  const Golden golden = LoadGolden(GetParam());
  TrainingJob job = golden.job;
  const TrainingCaseOutcome fp32 = RunGolden(golden, job, StreamPlan{}, 1);
  job.compute_type = NumberType::kBf16;
  job.gradient_type = NumberType::kBf16;
  const TrainingCaseOutcome bf16 = RunGolden(golden, job, StreamPlan{}, 1);
  ASSERT_EQ(fp32.gradients.size(), golden.tensors.size());
  for (const auto& [name, gradient] : fp32.gradients) {
    ASSERT_FALSE(gradient.empty()) << name;
    ASSERT_EQ(gradient.size(), bf16.gradients.at(name).size()) << name;
    EXPECT_GE(Cosine(gradient, bf16.gradients.at(name)), 0.999) << name;
  }
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenTraining, testing::ValuesIn(AllGoldens()),
                         [](const auto& family) { return family.param; });

INSTANTIATE_TEST_SUITE_P(Families, DenseGoldenTraining, testing::ValuesIn(DenseGoldens()),
                         [](const auto& family) { return family.param; });

}  // namespace
}  // namespace horizon

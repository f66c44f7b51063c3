// PyTorch's runs that train some tensors of a model and freeze the others (tests/goldens/*/
// frozen.json), met by the runtime.
#include <cmath>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "model/stages.h"
#include "schedule/chunk_table.h"
#include "tests/goldens/golden_names.h"
#include "tests/runtime/support/golden_json.h"
#include "tests/runtime/support/training_case.h"

namespace horizon {
namespace {

// What PyTorch says of a tensor that a case trains.
struct TrainedTensor {
  double gradient_norm = 0;     // on the first batch, before clipping
  double norm = 0;              // of the weights after the run
  double moved = 0;             // the norm of their distance from where they began
  std::vector<double> samples;  // evenly spaced, from the first weight to the last
};

struct FrozenCase {
  std::string name;
  std::vector<std::string> train;
  std::vector<std::string> freeze;
  std::vector<double> losses;
  std::vector<double> gradient_norms;            // of each step
  std::map<std::string, TrainedTensor> tensors;  // all that are trained, by the names on disk
};

std::vector<FrozenCase> LoadCases(const std::string& family) {
  const Document document = ReadGoldenJson(family + "/frozen.json");
  std::vector<FrozenCase> cases;
  for (const Value& value : *Member(document.root, "cases").As<Value::Array>()) {
    FrozenCase frozen = {.name = *Member(value, "name").As<std::string>(),
                         .train = Words(Member(value, "train")),
                         .freeze = Words(Member(value, "freeze")),
                         .losses = Numbers(Member(value, "losses")),
                         .gradient_norms = Numbers(Member(value, "gradient_norm_per_step"))};
    for (const auto& [name, array] : *Member(value, "tensors").As<Value::Object>()) {
      const std::vector<double> numbers = Numbers(array);
      frozen.tensors[name] = {.gradient_norm = numbers.at(0),
                              .norm = numbers.at(1),
                              .moved = numbers.at(2),
                              .samples = {numbers.begin() + 3, numbers.end()}};
    }
    cases.push_back(std::move(frozen));
  }
  return cases;
}

TrainingJob JobOf(const Golden& golden, const FrozenCase& frozen) {
  TrainingJob job = golden.job;
  job.train = frozen.train;
  job.freeze = frozen.freeze;
  return job;
}

bool SameBits(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

double NormOf(const std::vector<float>& values) {
  double squares = 0;
  for (const float value : values) squares += double{value} * value;
  return std::sqrt(squares);
}

// The README of the goldens has the noise of all these numbers; it is at most a fifth of what is
// allowed here.
void ExpectTrainedWeight(const std::vector<float>& before, const std::vector<float>& after,
                         const TrainedTensor& wanted) {
  EXPECT_LT(RelativeError(NormOf(after), wanted.norm), 1e-4);
  std::vector<float> moved(after.size());
  for (size_t i = 0; i < after.size(); ++i) moved[i] = after[i] - before[i];
  EXPECT_LT(RelativeError(NormOf(moved), wanted.moved), 1e-3);
  const size_t last = wanted.samples.size() - 1;
  for (size_t i = 0; i <= last; ++i) {
    EXPECT_NEAR(after[(after.size() - 1) * i / last], wanted.samples[i], 5e-4) << i;
  }
}

void ExpectFirstGradients(const Golden& golden, const TrainingCaseOutcome& outcome,
                          const FrozenCase& frozen, double error) {
  const std::map<std::string, double> norms = NormsOnDisk(golden, outcome);
  EXPECT_EQ(norms.size(), frozen.tensors.size()) << "gradients of other tensors";
  for (const auto& [name, tensor] : frozen.tensors) {
    ASSERT_TRUE(norms.contains(name)) << name << " has no gradient";
    EXPECT_LT(RelativeError(norms.at(name), tensor.gradient_norm), error) << name;
  }
}

class FrozenTraining : public testing::TestWithParam<std::string> {
 protected:
  const Golden golden_ = LoadGolden(GetParam());
  const std::vector<FrozenCase> cases_ = LoadCases(GetParam());
};

TEST_P(FrozenTraining, LossesAndGradientNormsAreThoseOfPyTorch) {
  ASSERT_FALSE(cases_.empty());
  for (const FrozenCase& frozen : cases_) {
    SCOPED_TRACE(frozen.name);
    const TrainingCaseOutcome outcome = RunGolden(golden_, JobOf(golden_, frozen), StreamPlan{}, 8);
    ASSERT_EQ(outcome.steps.size(), 8u);
    EXPECT_LT(RelativeError(outcome.steps[0].loss, frozen.losses[0]), 1e-6);
    EXPECT_LT(RelativeError(outcome.steps[0].gradient_norm, frozen.gradient_norms[0]), 2e-5);
    ExpectFirstGradients(golden_, outcome, frozen, 2e-5);
    for (size_t step = 0; step < 8; ++step) {
      EXPECT_LT(RelativeError(outcome.steps[step].loss, frozen.losses[step]), 5e-5) << step;
      EXPECT_LT(RelativeError(outcome.steps[step].gradient_norm, frozen.gradient_norms[step]), 2e-3)
          << step;
    }
  }
}

TEST_P(FrozenTraining, TrainedWeightsAreThoseOfPyTorchAndFrozenOnesKeepTheirBits) {
  const std::map<std::string, std::vector<float>> before = TensorsOnDisk(golden_, golden_.tensors);
  for (const FrozenCase& frozen : cases_) {
    SCOPED_TRACE(frozen.name);
    const TrainingCaseOutcome outcome = RunGolden(golden_, JobOf(golden_, frozen), StreamPlan{}, 8);
    ASSERT_EQ(outcome.tensors.size(), golden_.tensors.size());
    const auto after = TensorsOnDisk(golden_, outcome.tensors);
    size_t trained = 0;
    for (const auto& [name, values] : after) {
      SCOPED_TRACE(name);
      const auto found = frozen.tensors.find(name);
      if (found == frozen.tensors.end()) {
        EXPECT_TRUE(SameBits(values, before.at(name)));
      } else {
        ++trained;
        ExpectTrainedWeight(before.at(name), values, found->second);
      }
    }
    EXPECT_EQ(trained, frozen.tensors.size());
  }
}

// Rounded weights send a few tokens to other experts (golden_experts_test.cc).
class DenseFrozenTraining : public FrozenTraining {};

// Weights rounded to bf16 (8 bits), gradients rounded once more.
TEST_P(DenseFrozenTraining, FirstStepInBf16IsClose) {
  for (const FrozenCase& frozen : cases_) {
    SCOPED_TRACE(frozen.name);
    TrainingJob job = JobOf(golden_, frozen);
    job.compute_type = NumberType::kBf16;
    job.gradient_type = NumberType::kBf16;
    const TrainingCaseOutcome outcome = RunGolden(golden_, job, StreamPlan{}, 1);
    ASSERT_EQ(outcome.steps.size(), 1u);
    EXPECT_LT(RelativeError(outcome.steps[0].loss, frozen.losses[0]), 1e-3);
    ExpectFirstGradients(golden_, outcome, frozen, 2e-2);
  }
}

// Of one tensor nothing is lost or added when others are frozen: its gradient has the same bits.
TEST_P(FrozenTraining, FirstGradientsHaveTheBitsOfTrainingEverything) {
  const TrainingCaseOutcome all = RunGolden(golden_, golden_.job, StreamPlan{}, 1);
  for (const FrozenCase& frozen : cases_) {
    SCOPED_TRACE(frozen.name);
    const TrainingCaseOutcome some = RunGolden(golden_, JobOf(golden_, frozen), StreamPlan{}, 1);
    ASSERT_EQ(some.steps.size(), 1u);
    EXPECT_EQ(some.steps[0].loss, all.steps[0].loss);
    for (const auto& [name, gradient] : some.gradients) {
      const bool trained = frozen.tensors.contains(golden_.disk_names.at(name));
      EXPECT_EQ(gradient.empty(), !trained) << name;
      EXPECT_TRUE(SameBits(gradient, trained ? all.gradients.at(name) : std::vector<float>()))
          << name;
    }
  }
}

TEST_P(FrozenTraining, MatricesThatStreamOneByOneGiveTheSameBits) {
  for (const FrozenCase& frozen : cases_) {
    SCOPED_TRACE(frozen.name);
    const TrainingJob job = JobOf(golden_, frozen);
    StreamPlan plan;
    plan.chunk_bytes = LeastChunkBytes(ListStages(golden_.spec), job);
    const TrainingCaseOutcome whole = RunGolden(golden_, job, StreamPlan{}, 2);
    ExpectEqualRuns(RunGolden(golden_, job, plan, 2), whole);
    ExpectEqualRuns(RunGolden(golden_, job, ResidentPlan(), 2), whole);
  }
}

std::vector<std::string> GoldensWithFrozenRuns() {
  std::vector<std::string> names = FrozenGoldens();
  for (const std::string& name : ExpertGoldens()) names.push_back(name);
  return names;
}

INSTANTIATE_TEST_SUITE_P(Families, FrozenTraining, testing::ValuesIn(GoldensWithFrozenRuns()),
                         [](const auto& family) { return family.param; });
INSTANTIATE_TEST_SUITE_P(Families, DenseFrozenTraining, testing::ValuesIn(FrozenGoldens()),
                         [](const auto& family) { return family.param; });

}  // namespace
}  // namespace horizon

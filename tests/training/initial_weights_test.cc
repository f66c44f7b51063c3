#include "training/initial_weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

#include "model/stages.h"
#include "runtime/parameters/random_init.h"
#include "tests/training/small_run.h"

namespace horizon {
namespace {

using testing::HasSubstr;

TEST(InitialWeights, RandomOnesAreThoseOfTheirSeed) {
  SmallRun run;
  const ModelSpec& spec = run.model().config.spec;
  const TensorSpec tensor = ListStages(spec).front().tensors.front();
  std::vector<float> wanted(100), found(100), other(100);
  FillRandomTensor(spec, tensor, 7, 5, wanted);
  const absl::StatusOr<ParameterStore::Source> source =
      OpenWeights(run.io(), RandomWeights{.seed = 7}, spec);
  ASSERT_TRUE(source.ok()) << source.status();
  ASSERT_TRUE((*source)(tensor, 5, found).ok());
  EXPECT_EQ(found, wanted);
  ASSERT_TRUE(OpenWeights(RandomWeights{.seed = 8}, spec)(tensor, 5, other).ok());
  EXPECT_NE(other, wanted);
}

TEST(InitialWeights, OnlyAFolderCanHaveWeights) {
  SmallRun run;
  EXPECT_TRUE(CheckWeightSource(run.io(), RandomWeights{}).ok());
  EXPECT_TRUE(CheckWeightSource(run.io(), FolderWeights{.folder = run.Path("")}).ok());
  const absl::Status status =
      CheckWeightSource(run.io(), FolderWeights{.folder = run.Path("config.json")});
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr("--init random"));
}

TEST(InitialWeights, AFolderWithoutTheTensorsIsRefused) {
  SmallRun run;
  EXPECT_FALSE(
      OpenWeights(run.io(), FolderWeights{.folder = run.Path("")}, run.model().config.spec).ok());
}

}  // namespace
}  // namespace horizon

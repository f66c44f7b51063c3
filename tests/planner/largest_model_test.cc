#include "planner/largest_model.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "common/files/io.h"
#include "model/stages.h"
#include "planner/machines/machine_catalog.h"
#include "planner/planned_job.h"
#include "tests/planner/small_cases.h"

namespace horizon {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class LargestModelTest : public testing::Test {
 protected:
  static LargestRequest Request(Bytes host_memory, StateFormat state = StateFormat::kFp32) {
    LargestRequest request;
    request.profile = WithOverrides(CatalogMachine("rtx4090"), {.host_memory = host_memory});
    request.job = JobFor(request.profile, Strategy::kHorizon);
    request.job.sequence = 1024;
    request.job.state_format = state;
    return request;
  }

  LargestModels Find(const LargestRequest& request) {
    absl::StatusOr<LargestModels> largest = FindLargestModels(*io_, request);
    EXPECT_TRUE(largest.ok()) << largest.status();
    return largest.ok() ? *std::move(largest) : LargestModels{};
  }

  // Whether a model of this many layers has any plan, by a full plan of its own.
  static bool Fits(const LargestRequest& request, const std::string& name, int64_t layers) {
    ModelSpec spec = CatalogModel(name);
    spec.layers.resize(layers, LayerSpec(spec.layers.front()));
    TrainingJob job = request.job;
    job.micro_batch = 1;
    const absl::StatusOr<PlanAnswer> answer =
        MakePlan({.spec = spec,
                  .job = job,
                  .fixed = PlanFor(request.strategy),
                  .fixed_fields = {},
                  .setting = {.profile = request.profile, .margin = request.margin},
                  .effort = SearchEffort::kQuick});
    EXPECT_TRUE(answer.ok()) << answer.status();
    return answer.ok() && answer->feasible;
  }

  std::unique_ptr<Io> io_ = MakePosixIo();
};

TEST_F(LargestModelTest, OneMoreLayerDoesNotFit) {
  const LargestRequest request = Request(9_GiB);
  const LargestModels largest = Find(request);
  ASSERT_TRUE(largest.by_depth.has_value());
  ASSERT_TRUE(largest.by_size.has_value());
  const SizedModel& depth = *largest.by_depth;
  const std::string base = largest.by_size->name;
  EXPECT_EQ(depth.name, base + " with " + std::to_string(depth.layers) + " layers");
  EXPECT_TRUE(Fits(request, base, depth.layers));
  EXPECT_FALSE(Fits(request, base, depth.layers + 1));
  EXPECT_EQ(largest.limit, "host memory");
  EXPECT_GE(depth.layers, largest.by_size->layers);
  EXPECT_GE(depth.parameters, largest.by_size->parameters);
  for (const SizedModel* sized : {&depth, &*largest.by_size}) {
    EXPECT_TRUE(sized->answer.feasible);
    EXPECT_TRUE(sized->answer.search.plan.has_value());
    EXPECT_GT(sized->answer.search.prediction.tokens_per_second, 0);
    EXPECT_DOUBLE_EQ(sized->days_per_billion_tokens(),
                     1e9 / sized->answer.search.prediction.tokens_per_second / 86400);
  }
  ModelSpec spec = CatalogModel(base);
  EXPECT_EQ(largest.by_size->parameters, CountParameters(ListStages(spec)).total);
  EXPECT_EQ(largest.by_size->layers, spec.layer_count());
  spec.layers.resize(depth.layers);
  EXPECT_EQ(depth.parameters, CountParameters(ListStages(spec)).total);
}

TEST_F(LargestModelTest, MoreRamNeverGivesASmallerModel) {
  uint64_t before = 0;
  for (const Bytes ram : {4_GiB, 5_GiB, 12_GiB}) {
    const LargestModels largest = Find(Request(ram));
    ASSERT_TRUE(largest.by_depth.has_value());
    EXPECT_GE(largest.by_depth->parameters, before) << ToString(ram);
    before = largest.by_depth->parameters;
  }
}

TEST_F(LargestModelTest, ASmallerStateGivesALargerModel) {
  uint64_t before = 0;
  for (const StateFormat state :
       {StateFormat::kFp32, StateFormat::kBf16Moments, StateFormat::k8BitMoments}) {
    const LargestModels largest = Find(Request(5_GiB, state));
    ASSERT_TRUE(largest.by_depth.has_value());
    EXPECT_GT(largest.by_depth->parameters, before) << ToString(state);
    before = largest.by_depth->parameters;
  }
}

TEST_F(LargestModelTest, DeviceMemoryCanBeTheLimit) {
  LargestRequest request = Request(24_GiB);
  request.profile = WithOverrides(request.profile, {.device_memory = 700_MiB});
  const LargestModels largest = Find(request);
  EXPECT_EQ(largest.limit, "device memory");
  EXPECT_FALSE(largest.by_size.has_value());
}

// Few layers at the width of the smallest.
TEST_F(LargestModelTest, EveryFamilyHasItsOwnShapes) {
  for (const auto& [family, prefix] : std::vector<std::pair<std::string, std::string>>{
           {"qwen2.5", "qwen2.5-"}, {"llama3", "llama-3.1-8b with"}, {"qwen3", "qwen3-"}}) {
    EXPECT_THAT(ModelFamilyNames(), testing::Contains(family));
    LargestRequest request = Request(family == "llama3" ? 24_GiB : 5_GiB);
    request.family = family;
    const LargestModels largest = Find(request);
    ASSERT_TRUE(largest.by_depth.has_value()) << family;
    EXPECT_TRUE(largest.by_depth->name.starts_with(prefix)) << largest.by_depth->name;
  }
}

TEST_F(LargestModelTest, AnUnknownFamilyIsRefused) {
  LargestRequest request = Request(9_GiB);
  request.family = "qwen25";
  const absl::Status status = FindLargestModels(*io_, request).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()),
              AllOf(HasSubstr("qwen2.5, llama3, qwen3"), HasSubstr("did you mean 'qwen2.5'?")));
}

TEST_F(LargestModelTest, WhereNothingFitsTheAnswerIsEmpty) {
  const LargestRequest request = Request(1_GiB);
  const LargestModels largest = Find(request);
  EXPECT_FALSE(largest.by_depth.has_value());
  EXPECT_FALSE(largest.by_size.has_value());
  EXPECT_EQ(largest.limit, "host memory");
  const absl::StatusOr<std::vector<Change>> purchases = ComparePurchases(*io_, request, largest);
  ASSERT_TRUE(purchases.ok());
  EXPECT_TRUE(purchases->empty());
  const absl::StatusOr<std::vector<Change>> free = CompareFreeChanges(*io_, request, largest);
  ASSERT_TRUE(free.ok());
  EXPECT_TRUE(free->empty());
}

// Layers may be taken away: smaller than the smallest real size, but something.
TEST_F(LargestModelTest, LessThanTheSmallestSizeIsFoundByDepth) {
  const LargestModels largest = Find(Request(5_GiB));
  EXPECT_FALSE(largest.by_size.has_value());
  ASSERT_TRUE(largest.by_depth.has_value());
  EXPECT_EQ(largest.by_depth->name,
            "qwen2.5-0.5b with " + std::to_string(largest.by_depth->layers) + " layers");
  EXPECT_LT(largest.by_depth->layers, 24);
}

double BestGain(const Change& change) { return std::max(change.size_gain, change.speed_gain); }

// Each says what it makes of the largest model, the largest gain first, and gains more than noise.
void ExpectConsistent(const std::vector<Change>& changes, const LargestModels& today) {
  double before = 1e9;
  for (const Change& change : changes) {
    EXPECT_LE(BestGain(change), before) << change.what;
    before = BestGain(change);
    EXPECT_GE(BestGain(change), kNoiseGain) << change.what;
    EXPECT_NEAR(
        change.size_gain,
        static_cast<double>(change.parameters) / static_cast<double>(today.by_depth->parameters) -
            1,
        1e-12);
    EXPECT_NEAR(
        change.tokens_per_second,
        (1 + change.speed_gain) * today.by_depth->answer.search.prediction.tokens_per_second,
        1e-6 * change.tokens_per_second);
  }
}

TEST_F(LargestModelTest, PurchasesAreSortedByGainAndGainSomething) {
  LargestRequest request = Request(9_GiB);
  request.others = {CatalogMachine("t4"), CatalogMachine("h100-pcie"), CatalogMachine("gh200"),
                    CatalogMachine("rtx5090"), CatalogMachine("cpu-desktop")};
  const LargestModels largest = Find(request);
  const absl::StatusOr<std::vector<Change>> purchases = ComparePurchases(*io_, request, largest);
  ASSERT_TRUE(purchases.ok()) << purchases.status();
  ExpectConsistent(*purchases, largest);
  ASSERT_FALSE(purchases->empty());
  // RAM is what lacks, so twice of it gives about twice the model, and nothing else does.
  int ram = 0;
  int cards = 0;
  for (const Change& purchase : *purchases) {
    EXPECT_TRUE(purchase.options.empty());
    EXPECT_TRUE(purchase.cost.empty());
    // Nothing bought makes it smaller, nor slower beyond what a quick search may miss.
    EXPECT_GE(purchase.parameters, largest.by_depth->parameters);
    EXPECT_GE(purchase.speed_gain, -kNoiseGain) << purchase.what;
    if (purchase.what == "host memory x2 (18 GiB)") {
      ++ram;
      EXPECT_GT(purchase.size_gain, 0.9);
    } else {
      EXPECT_LT(purchase.size_gain, 0.05) << purchase.what;
    }
    cards +=
        purchase.what.starts_with("H100 PCIe") || purchase.what.starts_with("GeForce RTX 5090");
    // A slower card is nothing to buy, and a GH200's device is no card.
    for (const char* what : {"T4", "GH200", "AVX2"}) {
      EXPECT_EQ(purchase.what.find(what), std::string::npos) << purchase.what;
    }
  }
  EXPECT_EQ(ram, 1);
  EXPECT_EQ(cards, 2);
}

TEST_F(LargestModelTest, FreeChangesSayWhatTheyGainAndWhatTheyCost) {
  const LargestRequest request = Request(9_GiB);
  const LargestModels largest = Find(request);
  const absl::StatusOr<std::vector<Change>> free = CompareFreeChanges(*io_, request, largest);
  ASSERT_TRUE(free.ok()) << free.status();
  ExpectConsistent(*free, largest);
  std::vector<std::string> what;
  for (const Change& change : *free) {
    what.push_back(change.what);
    EXPECT_TRUE(change.options.starts_with("--")) << change.options;
    EXPECT_FALSE(change.cost.empty());
  }
  // 14 bytes a parameter become 12, 10, 8 or 6.
  EXPECT_EQ(what.front(), "8-bit moments, updated in backward");
  EXPECT_GT(free->front().size_gain, 0.8);
  EXPECT_THAT(what,
              testing::IsSupersetOf({"8-bit moments", "bf16 moments", "updated in backward"}));
  // What the job has already is no change.
  LargestRequest small = request;
  small.job.state_format = StateFormat::k8BitMoments;
  small.job.optimizer_place = OptimizerPlace::kInBackward;
  small.job.clip_norm = 0;
  const absl::StatusOr<std::vector<Change>> rest = CompareFreeChanges(*io_, small, Find(small));
  ASSERT_TRUE(rest.ok()) << rest.status();
  for (const Change& change : *rest) {
    EXPECT_EQ(change.what.find("moments"), std::string::npos) << change.what;
    EXPECT_EQ(change.what.find("backward"), std::string::npos) << change.what;
  }
}

TEST_F(LargestModelTest, EveryStateHasALargestModelTheMostExactFirst) {
  const LargestRequest request = Request(5_GiB);
  const absl::StatusOr<std::vector<LargestByState>> all = FindLargestByState(*io_, request);
  ASSERT_TRUE(all.ok()) << all.status();
  ASSERT_EQ(all->size(), 3U);
  uint64_t before = 0;
  for (const LargestByState& one : *all) {
    ASSERT_TRUE(one.models.by_depth.has_value());
    EXPECT_GT(one.models.by_depth->parameters, before);
    before = one.models.by_depth->parameters;
    EXPECT_EQ(before, Find(Request(5_GiB, one.state)).by_depth->parameters);
  }
  EXPECT_EQ(all->front().state, StateFormat::kFp32);
}

}  // namespace
}  // namespace horizon

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "common/documents/json.h"
#include "common/files/io.h"
#include "common/text/str_cat.h"
#include "model/families/family.h"
#include "model/load_model_spec.h"
#include "model/stages.h"
#include "tests/goldens/golden_names.h"

namespace horizon {
namespace {

using Shapes = std::map<std::string, std::vector<int64_t>>;

// Names and shapes in a safetensors header, read without model/'s own reader.
Shapes ShapesInFile(const std::string& path) {
  Shapes shapes;
  const std::string bytes = ReadTextFile(*MakePosixIo(), path).value();
  uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof(length));
  const Document header = ParseJson(path, std::string_view(bytes).substr(8, length)).value();
  for (const auto& [name, value] : *header.root.As<Value::Object>()) {
    if (name == "__metadata__") continue;
    std::vector<int64_t>& shape = shapes[name];
    for (const Value& dimension : *value.Find("shape")->As<Value::Array>()) {
      shape.push_back(*dimension.As<int64_t>());
    }
  }
  return shapes;
}

// The tensor on disk that a tensor of the family is a part of, or nullptr.
const FusedTensor* FusedOf(const Family& family, StageKind stage, TensorRole role) {
  for (const FusedTensor& fused : family.fused) {
    if (fused.stage != stage) continue;
    if (std::find(fused.roles.begin(), fused.roles.end(), role) != fused.roles.end()) return &fused;
  }
  return nullptr;
}

class GoldenTensors : public testing::TestWithParam<std::string> {};

TEST_P(GoldenTensors, StagesListWhatLiesInTheFile) {
  const std::string folder = "tests/goldens/" + GetParam();
  const absl::StatusOr<ModelConfig> config = LoadModelSpec(*MakePosixIo(), folder);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->spec.name, GetParam());
  EXPECT_TRUE(config->ignored_keys.empty()) << config->ignored_keys[0];
  const Family* family = FindFamily(config->spec.family);
  ASSERT_NE(family, nullptr);
  Shapes listed;
  for (const Stage& stage : ListStages(config->spec)) {
    for (const TensorSpec& tensor : stage.tensors) {
      if (const FusedTensor* fused = FusedOf(*family, stage.kind, tensor.role)) {
        // Rows after rows.
        auto& shape = listed[StrCat("model.layers.", stage.layer, ".", fused->name)];
        if (shape.empty()) shape = {0, tensor.shape[1]};
        shape[0] += tensor.shape[0];
        continue;
      }
      EXPECT_TRUE(listed.emplace(tensor.name, tensor.shape).second) << tensor.name << " is twice";
    }
  }
  EXPECT_EQ(listed, ShapesInFile(folder + "/model.safetensors"));
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenTensors, testing::ValuesIn(PlainGoldens()),
                         [](const auto& test) { return test.param; });
INSTANTIATE_TEST_SUITE_P(FamiliesWithExperts, GoldenTensors, testing::ValuesIn(ExpertGoldens()),
                         [](const auto& test) { return test.param; });

TEST(GoldenConfigs, WrappersAreReadWhole) {
  for (const std::string& name : WrapperGoldens()) {
    const absl::StatusOr<ModelConfig> config =
        LoadModelSpec(*MakePosixIo(), "tests/goldens/" + name);
    ASSERT_TRUE(config.ok()) << config.status();
    EXPECT_TRUE(config->ignored_keys.empty()) << config->ignored_keys[0];
    EXPECT_EQ(config->spec.wrapper + "_wrapper", name);
    EXPECT_EQ(config->spec.vocab, 320);
  }
}

}  // namespace
}  // namespace horizon

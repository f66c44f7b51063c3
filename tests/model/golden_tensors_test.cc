#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "common/io.h"
#include "common/json.h"
#include "model/load_model_spec.h"
#include "model/stages.h"

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

class GoldenTensors : public testing::TestWithParam<std::string> {};

TEST_P(GoldenTensors, StagesListWhatLiesInTheFile) {
  const std::string folder = "tests/goldens/" + GetParam();
  const absl::StatusOr<ModelConfig> config = LoadModelSpec(*MakePosixIo(), folder);
  ASSERT_TRUE(config.ok()) << config.status();
  EXPECT_EQ(config->spec.name, GetParam());
  EXPECT_TRUE(config->ignored_keys.empty()) << config->ignored_keys[0];
  Shapes listed;
  for (const Stage& stage : ListStages(config->spec)) {
    for (const TensorSpec& tensor : stage.tensors) {
      EXPECT_TRUE(listed.emplace(tensor.name, tensor.shape).second) << tensor.name << " is twice";
    }
  }
  EXPECT_EQ(listed, ShapesInFile(folder + "/model.safetensors"));
}

INSTANTIATE_TEST_SUITE_P(Families, GoldenTensors,
                         testing::Values("gpt_oss", "llama", "mistral_window", "mixtral", "qwen2",
                                         "qwen3", "qwen3_moe"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace horizon

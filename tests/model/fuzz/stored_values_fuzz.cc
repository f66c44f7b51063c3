// Whatever the bytes of a weights file, it is matched with its model or refused; and what is
// accepted can be read, dequantised, in any ranges, or is refused for a value of its own. The first
// byte says which model and layout the rest is to be.
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "common/check.h"
#include "common/documents/json.h"
#include "model/files/match_tensors.h"
#include "model/files/model_files.h"
#include "model/files/stored_values.h"
#include "model/read_config.h"
#include "model/stages.h"
#include "tests/common/files/memory_io.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

constexpr std::string_view kConfigs[] = {
    R"({"model_type": "gpt_oss", "hidden_size": 32, "head_dim": 2, "num_attention_heads": 1,
        "num_key_value_heads": 1, "intermediate_size": 32, "vocab_size": 2, "num_hidden_layers": 1,
        "num_local_experts": 1, "num_experts_per_tok": 1, "layer_types": ["full_attention"],
        "quantization_config": {"quant_method": "mxfp4"}})",
    R"({"model_type": "qwen3_moe", "hidden_size": 5, "head_dim": 2, "num_attention_heads": 1,
        "num_key_value_heads": 1, "moe_intermediate_size": 3, "vocab_size": 2,
        "num_hidden_layers": 1, "num_experts": 2, "num_experts_per_tok": 1,
        "quantization_config": {"quant_method": "fp8", "weight_block_size": [2, 3]}})",
    R"({"model_type": "mixtral", "hidden_size": 4, "head_dim": 2, "num_attention_heads": 2,
        "num_key_value_heads": 1, "intermediate_size": 3, "vocab_size": 2,
        "num_hidden_layers": 1, "num_local_experts": 2, "num_experts_per_tok": 1})"};

struct Model {
  ModelConfig config;
  std::vector<Stage> stages;
};

std::vector<Model> MakeModels() {
  std::vector<Model> models;
  for (const std::string_view text : kConfigs) {
    absl::StatusOr<ModelConfig> config = ReadConfig(*ParseJson("config.json", text), "fuzz");
    CHECK(config.ok());
    std::vector<Stage> stages = ListStages(config->spec);
    models.push_back({.config = *std::move(config), .stages = std::move(stages)});
  }
  return models;
}

// Reads all of a tensor at once and in pieces, which must agree.
void TryTensor(const StoredTensor& tensor, StoredValues& values) {
  uint64_t elements = 1;
  for (const int64_t length : tensor.shape) elements *= static_cast<uint64_t>(length);
  std::vector<float> whole(elements);
  const absl::Status read = values.Read(tensor, 0, whole);
  CHECK(read.ok() || absl::IsDataLoss(read));
  bool all_read = true;
  for (uint64_t first = 0; first < elements; first += 37) {
    std::vector<float> piece(std::min<uint64_t>(37, elements - first));
    const absl::Status part = values.Read(tensor, first, piece);
    CHECK(part.ok() || absl::IsDataLoss(part));
    all_read &= part.ok();
    for (size_t i = 0; read.ok() && part.ok() && i < piece.size(); ++i) {
      CHECK(std::bit_cast<uint32_t>(piece[i]) == std::bit_cast<uint32_t>(whole[first + i]));
    }
  }
  CHECK(all_read == read.ok());
}

void TryFile(const Model& model, std::string_view file) {
  MemoryIo io({.files = {{1, std::string(file)}},
               .folders = {{0, {{"model", 2}}}, {2, {{"model.safetensors", 1}}}}});
  const absl::StatusOr<ModelFiles> files = ModelFiles::Open(io, "/model");
  if (!files.ok()) {
    CHECK(absl::IsDataLoss(files.status()));
    return;
  }
  const absl::StatusOr<MatchedTensors> matched = MatchTensors(
      model.config.spec, model.stages, *files, {.quantization = model.config.quantization});
  if (!matched.ok()) {
    CHECK(absl::IsDataLoss(matched.status()) || absl::IsInvalidArgument(matched.status()));
    return;
  }
  CHECK(matched->stored.size() == matched->tensors.size());
  StoredValues values(*files);
  for (const StoredTensor& tensor : matched->stored) TryTensor(tensor, values);
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::vector<horizon::Model> models = horizon::MakeModels();
  if (size == 0) return 0;
  horizon::TryFile(models[data[0] % models.size()],
                   {reinterpret_cast<const char*>(data) + 1, size - 1});
  return 0;
}

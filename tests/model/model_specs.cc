#include "tests/model/model_specs.h"

#include <utility>

#include "common/check.h"
#include "common/json.h"
#include "common/str_cat.h"

namespace horizon {
namespace {

constexpr std::string_view kFamilies[] = {"llama",   "qwen2",     "qwen3",  "mistral",
                                          "mixtral", "qwen3_moe", "gpt_oss"};

bool HasExperts(std::string_view family) {
  return family == "mixtral" || family == "qwen3_moe" || family == "gpt_oss";
}

}  // namespace

absl::StatusOr<ModelConfig> ReadConfigText(std::string_view text) {
  absl::StatusOr<Document> document = ParseJson("config.json", text);
  if (!document.ok()) return document.status();
  return ReadConfig(*document, "test");
}

std::span<const std::string_view> TestedFamilies() { return kFamilies; }

ModelSpec TinySpec(std::string_view family) {
  std::string text =
      StrCat(R"({"model_type": ")", family,
             R"(", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,)",
             R"( "head_dim": 16, "intermediate_size": 176, "vocab_size": 320,)",
             R"( "num_hidden_layers": 2)");
  if (family != "llama" && family != "gpt_oss") {
    text += R"(, "sliding_window": null)";
  }
  if (family == "gpt_oss") {
    text += R"(, "layer_types": ["full_attention", "full_attention"])";
  }
  if (HasExperts(family)) text += R"(, "num_local_experts": 4, "num_experts_per_tok": 2)";
  if (family == "qwen3_moe") text += R"(, "moe_intermediate_size": 176)";
  absl::StatusOr<ModelConfig> config = ReadConfigText(text + "}");
  CHECK(config.ok());
  return config->spec;
}

rc::Gen<ModelSpec> AnySpec() {
  return rc::gen::exec([] {
    const auto size = [](int64_t end) { return *rc::gen::inRange<int64_t>(1, end); };
    ModelSpec spec = TinySpec(*rc::gen::elementOf(
        std::vector<std::string_view>(std::begin(kFamilies), std::end(kFamilies))));
    spec.hidden = size(70);
    spec.kv_heads = size(5);
    spec.heads = spec.kv_heads * size(5);
    spec.head_dim = 2 * size(10);
    spec.vocab = size(2000);
    spec.tied = *rc::gen::arbitrary<bool>();
    const int64_t intermediate = size(400);
    if (HasExperts(spec.family)) {
      spec.experts.experts = size(20);
      spec.experts.experts_per_token = size(spec.experts.experts + 1);
      spec.experts.intermediate = intermediate;
    }
    spec.layers.resize(static_cast<size_t>(size(5)));
    for (LayerSpec& layer : spec.layers) {
      layer.sliding_window = *rc::gen::inRange<int64_t>(0, 9);
      // Only qwen3_moe has layers of both kinds.
      layer.has_experts =
          HasExperts(spec.family) && (spec.family != "qwen3_moe" || *rc::gen::arbitrary<bool>());
    }
    spec.intermediate = intermediate;
    return spec;
  });
}

}  // namespace horizon

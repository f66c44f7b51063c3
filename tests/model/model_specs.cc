#include "tests/model/model_specs.h"

#include <utility>

#include "common/check.h"
#include "common/json.h"
#include "common/str_cat.h"

namespace horizon {
namespace {

constexpr ModelFamily kFamilies[] = {
    ModelFamily::kLlama,   ModelFamily::kQwen2,    ModelFamily::kQwen3, ModelFamily::kMistral,
    ModelFamily::kMixtral, ModelFamily::kQwen3Moe, ModelFamily::kGptOss};

bool HasExperts(ModelFamily family) {
  return family == ModelFamily::kMixtral || family == ModelFamily::kQwen3Moe ||
         family == ModelFamily::kGptOss;
}

}  // namespace

absl::StatusOr<ModelConfig> ReadConfigText(std::string_view text) {
  absl::StatusOr<Document> document = ParseJson("config.json", text);
  if (!document.ok()) return document.status();
  return ReadConfig(*document, "test");
}

std::span<const ModelFamily> AllFamilies() { return kFamilies; }

ModelSpec TinySpec(ModelFamily family) {
  std::string text =
      StrCat(R"({"model_type": ")", ToString(family),
             R"(", "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,)",
             R"( "head_dim": 16, "intermediate_size": 176, "vocab_size": 320,)",
             R"( "num_hidden_layers": 2)");
  if (family != ModelFamily::kLlama && family != ModelFamily::kGptOss) {
    text += R"(, "sliding_window": null)";
  }
  if (family == ModelFamily::kGptOss) {
    text += R"(, "layer_types": ["full_attention", "full_attention"])";
  }
  if (HasExperts(family)) text += R"(, "num_local_experts": 4, "num_experts_per_tok": 2)";
  if (family == ModelFamily::kQwen3Moe) text += R"(, "moe_intermediate_size": 176)";
  absl::StatusOr<ModelConfig> config = ReadConfigText(text + "}");
  CHECK(config.ok());
  return config->spec;
}

rc::Gen<ModelSpec> AnySpec() {
  return rc::gen::exec([] {
    const auto size = [](int64_t end) { return *rc::gen::inRange<int64_t>(1, end); };
    ModelSpec spec = TinySpec(
        *rc::gen::elementOf(std::vector<ModelFamily>(std::begin(kFamilies), std::end(kFamilies))));
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
      layer.has_experts = HasExperts(spec.family) &&
                          (spec.family != ModelFamily::kQwen3Moe || *rc::gen::arbitrary<bool>());
    }
    spec.intermediate = intermediate;
    return spec;
  });
}

}  // namespace horizon

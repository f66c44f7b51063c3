#include "tests/model/model_specs.h"

#include <utility>
#include <vector>

#include "common/check.h"
#include "common/documents/json.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr std::string_view kFamilies[] = {
    "llama", "qwen2", "qwen3", "mistral", "mixtral", "qwen3_moe",  "gpt_oss", "gemma3_text",
    "olmo2", "olmo3", "phi3",  "smollm3", "granite", "ministral3", "exaone4"};

bool HasExperts(std::string_view family) {
  return family == "mixtral" || family == "qwen3_moe" || family == "gpt_oss";
}

template <typename T>
T AnyOf(std::vector<T> values) {
  return *rc::gen::elementOf(std::move(values));
}

RopeSpec AnyRope(int64_t head_dim) {
  RopeSpec rope;
  rope.kind = AnyOf<RopeKind>({RopeKind::kDefault, RopeKind::kLinear, RopeKind::kLlama3,
                               RopeKind::kYarn, RopeKind::kLongrope});
  rope.theta = AnyOf<double>({100.0, 1e4, 5e5});
  rope.rotary_dim = 2 * *rc::gen::inRange<int64_t>(0, head_dim / 2 + 1);
  if (rope.kind != RopeKind::kDefault) rope.factor = AnyOf<double>({1.0, 2.5, 8.0});
  if (rope.kind != RopeKind::kDefault && rope.kind != RopeKind::kLinear) {
    rope.original_max_positions = *rc::gen::inRange<int64_t>(2, 64);
  }
  if (rope.kind == RopeKind::kLongrope) {
    const auto pairs = static_cast<size_t>((rope.rotary_dim == 0 ? head_dim : rope.rotary_dim) / 2);
    rope.short_factors.assign(pairs, AnyOf<double>({1.0, 1.5}));
    rope.long_factors.assign(pairs, AnyOf<double>({2.0, 33.0}));
  }
  // A query scale needs its positions, and goes with whole heads only.
  if (rope.rotary_dim == 0 && *rc::gen::arbitrary<bool>()) {
    rope.query_scale_beta = 0.1;
    rope.original_max_positions = 16;
  }
  return rope;
}

// The blocks of a layer, whichever the family is.
void SetAnyBlocks(ModelSpec& spec) {
  spec.norm_place = AnyOf<NormPlace>({NormPlace::kBefore, NormPlace::kAfter, NormPlace::kBoth});
  spec.norm_adds_one = *rc::gen::arbitrary<bool>();
  spec.qk_norm = AnyOf<QkNorm>({QkNorm::kNone, QkNorm::kPerHead, QkNorm::kFullWidth});
  spec.activation = AnyOf<Activation>({Activation::kSilu, Activation::kGeluTanh});
  spec.attention_scale = AnyOf<double>({0.0, 0.1, 1.0});
  spec.embedding_multiplier = AnyOf<double>({1.0, 12.0});
  spec.residual_multiplier = AnyOf<double>({1.0, 0.22});
  spec.logit_multiplier = AnyOf<double>({1.0, 0.125});
  spec.ropes.clear();
  const int32_t ropes = *rc::gen::inRange<int32_t>(1, 4);
  for (int32_t i = 0; i < ropes; ++i) spec.ropes.push_back(AnyRope(spec.head_dim));
  for (LayerSpec& layer : spec.layers) {
    layer.rope = *rc::gen::inRange<int32_t>(kNoRotary, ropes);
  }
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
             R"( "num_hidden_layers": 2, "tie_word_embeddings": false)");
  // Where windows are part of the family, every layer has to be told that it has none.
  if (family == "gpt_oss" || family == "gemma3_text" || family == "olmo3") {
    text += R"(, "layer_types": ["full_attention", "full_attention"])";
  }
  if (family != "gpt_oss") text += R"(, "sliding_window": null)";
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
    SetAnyBlocks(spec);
    return spec;
  });
}

}  // namespace horizon

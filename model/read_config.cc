#include "model/read_config.h"

#include <algorithm>
#include <string_view>
#include <utility>

#include "common/nearest_word.h"
#include "common/quote.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "model/config_fields.h"
#include "model/config_tables.h"
#include "model/read_rope.h"
#include "model/stages.h"

namespace horizon {
namespace {

bool IsOneOf(ModelFamily family, std::initializer_list<ModelFamily> families) {
  return std::find(families.begin(), families.end(), family) != families.end();
}

absl::StatusOr<FamilyDefaults> FamilyOf(const Document& document) {
  std::vector<std::string> words;
  std::string list;
  for (const FamilyDefaults& family : KnownFamilies()) {
    words.emplace_back(ToString(family.family));
    list += StrCat(list.empty() ? "" : ", ", words.back());
  }
  std::string model_type;
  ObjectReader reader(document, document.root);
  reader.Required("model_type", &model_type);
  RETURN_IF_ERROR(reader.FinishIgnoringUnknown());
  for (const FamilyDefaults& family : KnownFamilies()) {
    if (model_type == ToString(family.family)) return family;
  }
  reader.Fail("model_type", StrCat(Quoted(model_type), " is not supported; known are ", list,
                                   DidYouMean(model_type, words)));
  return reader.FinishIgnoringUnknown();
}

// One reading of one file; the steps run in order and leave the first error in `fields_`.
class ConfigReader {
 public:
  ConfigReader(const Document& document, const FamilyDefaults& defaults)
      : document_(document), defaults_(defaults), fields_(document, document.root) {
    spec_.family = defaults.family;
  }

  absl::StatusOr<ModelConfig> Read(std::string name) {
    spec_.name = std::move(name);
    ReadSizes();
    ReadActivation();
    ReadBiases();
    ReadExperts();
    RETURN_IF_ERROR(fields_.status());
    ReadWindows();
    ReadExpertLayers();
    RETURN_IF_ERROR(fields_.status());
    ASSIGN_OR_RETURN(spec_.rope, ReadRope(document_, fields_, spec_.max_positions, DefaultRope()));
    for (const NeutralKey& entry : KeysNotHonoured())
      fields_.RefuseUnless(entry.key, entry.neutral);
    for (std::string_view key : HarmlessKeys()) fields_.Ignore(key);
    RETURN_IF_ERROR(fields_.status());
    if (absl::Status status = ValidateSpec(spec_); !status.ok()) {
      return ErrorAt(document_, document_.root, "", StrCat(status.message()));
    }
    return ModelConfig{.spec = std::move(spec_), .ignored_keys = fields_.UnknownKeys()};
  }

 private:
  ModelFamily family() const { return spec_.family; }

  void ReadSizes() {
    spec_.hidden = fields_.Size("hidden_size", defaults_.hidden);
    spec_.intermediate = fields_.Size("intermediate_size", defaults_.intermediate);
    spec_.heads = fields_.Size("num_attention_heads", defaults_.heads);
    spec_.kv_heads =
        fields_.SizeOrNull("num_key_value_heads",
                           defaults_.kv_heads == 0 ? spec_.heads : defaults_.kv_heads, spec_.heads);
    if (fields_.ok() && spec_.heads % spec_.kv_heads != 0) {
      fields_.Fail("num_key_value_heads", StrCat("is ", spec_.kv_heads, ", which does not divide ",
                                                 spec_.heads, " attention heads"));
    }
    ReadHeadDim();
    spec_.vocab = fields_.Size("vocab_size", defaults_.vocab);
    spec_.max_positions = fields_.Size("max_position_embeddings", defaults_.max_positions);
    spec_.tied = fields_.Flag("tie_word_embeddings", false);
    spec_.norm_epsilon = fields_.Positive("rms_norm_eps", defaults_.norm_epsilon);
    spec_.initializer_range = fields_.AtLeastZero("initializer_range", 0.02);
    const int64_t layers = fields_.Size("num_hidden_layers", defaults_.layers);
    if (layers > kMaxLayers) {
      fields_.Fail("num_hidden_layers",
                   StrCat("is ", layers, "; at most ", kMaxLayers, " layers are supported"));
    }
    if (fields_.ok()) spec_.layers.resize(static_cast<size_t>(layers));
  }

  void ReadHeadDim() {
    const bool given = fields_.Has("head_dim");
    // Only Qwen3Config declares head_dim as a plain int, which null is not.
    spec_.head_dim = family() == "qwen3" ? fields_.Size("head_dim", defaults_.head_dim)
                                         : fields_.SizeOrNull("head_dim", defaults_.head_dim, 0);
    if (!fields_.ok()) return;
    if (spec_.head_dim == 0) {
      if (spec_.hidden % spec_.heads != 0) {
        fields_.Fail("num_attention_heads",
                     StrCat("is ", spec_.heads, ", which does not divide hidden_size ",
                            spec_.hidden, "; give head_dim or correct one of them"));
      }
      spec_.head_dim = spec_.hidden / spec_.heads;
    }
    if (fields_.ok() && spec_.head_dim % 2 != 0) {
      fields_.Fail(given ? "head_dim" : "num_attention_heads",
                   StrCat("makes heads of ", spec_.head_dim,
                          " channels; rotary embedding needs an even number"));
    }
  }

  void ReadActivation() {
    const std::string activation = fields_.Text("hidden_act", "silu");
    if (fields_.ok() && activation != "silu" && activation != "swish") {
      fields_.Refuse("hidden_act", "only silu is");
    }
    if (family() == "gpt_oss") {
      spec_.swiglu_limit = fields_.Positive("swiglu_limit", 7.0);
      spec_.swiglu_alpha = fields_.Positive("swiglu_alpha", 1.702);
    } else {
      fields_.RefuseUnless("swiglu_limit", Neutral::kNull);
      fields_.RefuseUnless("swiglu_alpha", Neutral::kNull);
    }
  }

  void ReadBiases() {
    spec_.qk_norm = IsOneOf(family(), {"qwen3", "qwen3_moe"});
    spec_.attention_sinks = family() == "gpt_oss";
    if (IsOneOf(family(), {"llama", "qwen3", "qwen3_moe", "gpt_oss"})) {
      spec_.qkv_bias = fields_.Flag("attention_bias", family() == "gpt_oss");
      spec_.output_bias = spec_.qkv_bias;
    } else {
      fields_.RefuseUnless("attention_bias", Neutral::kFalse);
      spec_.qkv_bias = family() == "qwen2";
    }
    if (family() == "llama") {
      spec_.mlp_bias = fields_.Flag("mlp_bias", false);
    } else {
      fields_.RefuseUnless("mlp_bias", Neutral::kFalse);
    }
  }

  // transformers takes the number of experts under either name.
  int64_t NumberOfExperts(int64_t missing) {
    const int64_t local = fields_.Count("num_local_experts", -1);
    const int64_t plain = fields_.Count("num_experts", -1);
    if (fields_.ok() && local >= 0 && plain >= 0 && local != plain) {
      fields_.Fail("num_experts", StrCat("is ", plain, ", but num_local_experts is ", local));
    }
    if (local >= 0) return local;
    return plain >= 0 ? plain : missing;
  }

  void ReadExperts() {
    if (!IsOneOf(family(), {"mixtral", "qwen3_moe", "gpt_oss"})) {
      fields_.RefuseUnless("num_local_experts", Neutral::kZero);
      fields_.RefuseUnless("num_experts", Neutral::kZero);
      return;
    }
    const bool qwen = family() == "qwen3_moe";
    const bool fused = family() == "gpt_oss";
    ExpertsSpec& experts = spec_.experts;
    experts.experts = NumberOfExperts(family() == "mixtral" ? 8 : 128);
    experts.experts_per_token = fields_.Size("num_experts_per_tok", qwen ? 8 : (fused ? 4 : 2));
    experts.intermediate = qwen ? fields_.Size("moe_intermediate_size", 768) : spec_.intermediate;
    // Softmax over the chosen logits (gpt_oss) is softmax over all, scaled to sum to one.
    experts.normalise_top_k = qwen ? fields_.Flag("norm_topk_prob", false) : true;
    experts.fused_tensors = fused;
    spec_.expert_bias = fused;
    if (fields_.ok() && !(qwen && experts.experts == 0) &&
        experts.experts_per_token > experts.experts) {
      fields_.Fail("num_experts_per_tok", StrCat("is ", experts.experts_per_token,
                                                 ", but there are ", experts.experts, " experts"));
    }
  }

  void ReadExpertLayers() {
    const ExpertsSpec& experts = spec_.experts;
    if (family() == "qwen3_moe") {
      const int64_t step = fields_.Size("decoder_sparse_step", 1);
      for (int64_t i = 0; i < spec_.layer_count(); ++i) {
        spec_.layers[i].has_experts = experts.experts > 0 && (i + 1) % step == 0;
      }
      for (int64_t layer : fields_.Integers("mlp_only_layers")) {
        if (layer >= 0 && layer < spec_.layer_count()) spec_.layers[layer].has_experts = false;
      }
    } else {
      fields_.RefuseUnless("decoder_sparse_step", Neutral::kOne);
      fields_.RefuseUnless("mlp_only_layers", Neutral::kEmpty);
      for (LayerSpec& layer : spec_.layers) layer.has_experts = experts.experts > 0;
    }
    const auto count = std::count_if(spec_.layers.begin(), spec_.layers.end(),
                                     [](const LayerSpec& layer) { return layer.has_experts; });
    // What no layer uses is not part of the model.
    if (count == 0) spec_.experts = {};
    if (count == spec_.layer_count()) spec_.intermediate = 0;
  }

  // The window in tokens, 0 where the family's rule switches it off.
  int64_t Window() {
    if (family() == "llama") {
      fields_.RefuseUnless("use_sliding_window", Neutral::kFalse);
      fields_.RefuseUnless("sliding_window", Neutral::kNull);
      return 0;
    }
    const int64_t window = fields_.SizeOrNull("sliding_window", defaults_.sliding_window, 0);
    if (IsOneOf(family(), {"qwen2", "qwen3", "qwen3_moe"})) {
      return fields_.Flag("use_sliding_window", false) ? window : 0;
    }
    return window;
  }

  void ReadWindows() {
    const int64_t window = Window();
    const int64_t first = FirstSlidingLayer(window);
    const bool alternates = family() == "gpt_oss";
    for (int64_t i = first; i < spec_.layer_count(); i += alternates ? 2 : 1) {
      spec_.layers[i].sliding_window = window;
    }
    const std::vector<std::string> types = fields_.Texts("layer_types");
    if (fields_.Has("layer_types") && fields_.ok()) ApplyLayerTypes(types, window);
    // GptOssConfig's own list has sliding layers, so a window must be there.
    if (fields_.ok() && alternates && window == 0 && !fields_.Has("layer_types")) {
      fields_.Refuse("sliding_window", "every second layer of this family slides");
    }
  }

  int64_t FirstSlidingLayer(int64_t window) {
    if (IsOneOf(family(), {"qwen2", "qwen3"})) {
      return fields_.Count("max_window_layers", 28);
    }
    // Releases of transformers disagree on what it means for qwen3_moe.
    if (family() == "qwen3_moe" && window > 0) {
      fields_.RefuseUnless("max_window_layers", Neutral::kZero);
    } else {
      fields_.Ignore("max_window_layers");
    }
    return 0;
  }

  void ApplyLayerTypes(const std::vector<std::string>& types, int64_t window) {
    if (types.size() != spec_.layers.size()) {
      fields_.Fail("layer_types",
                   StrCat("has ", types.size(), " entries for ", spec_.layer_count(), " layers"));
      return;
    }
    // The other classes have no such list and go by sliding_window alone.
    const bool honours = IsOneOf(family(), {"qwen2", "qwen3", "gpt_oss"});
    for (size_t i = 0; i < types.size(); ++i) {
      const bool slides = types[i] == "sliding_attention";
      if (!slides && types[i] != "full_attention") {
        fields_.Fail("layer_types", StrCat(Quoted(types[i]), " of layer ", i,
                                           " is not supported; known are full_attention and "
                                           "sliding_attention"));
        return;
      }
      if (slides && window == 0) {
        fields_.Fail("layer_types",
                     StrCat("layer ", i, " slides, but no sliding_window is in use"));
        return;
      }
      const int64_t wanted = slides ? window : 0;
      if (!honours && spec_.layers[i].sliding_window != wanted) {
        fields_.Fail("layer_types", StrCat(Quoted(types[i]), " of layer ", i,
                                           " contradicts sliding_window, which goes for every "
                                           "layer of ",
                                           ToString(family())));
        return;
      }
      spec_.layers[i].sliding_window = wanted;
    }
  }

  RopeDefaults DefaultRope() const {
    RopeDefaults rope{.theta = defaults_.rope_theta};
    if (family() == "gpt_oss") {
      rope.spec = {.kind = RopeKind::kYarn,
                   .factor = 32.0,
                   .original_max_positions = 4096,
                   .beta_fast = 32.0,
                   .beta_slow = 1.0,
                   .truncate = false};
    }
    return rope;
  }

  const Document& document_;
  const FamilyDefaults defaults_;
  ConfigFields fields_;
  ModelSpec spec_;
};

}  // namespace

absl::StatusOr<ModelConfig> ReadConfig(const Document& document, std::string name) {
  ASSIGN_OR_RETURN(const FamilyDefaults defaults, FamilyOf(document));
  return ConfigReader(document, defaults).Read(std::move(name));
}

}  // namespace horizon

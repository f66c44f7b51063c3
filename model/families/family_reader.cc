#include "model/families/family_reader.h"

#include <algorithm>
#include <utility>

#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/config_tables.h"

namespace horizon {

FamilyReader::FamilyReader(const Document& document, const Value& object, std::string path)
    : document_(document), fields_(document, object, std::move(path)) {}

void FamilyReader::Sizes(const SizeDefaults& defaults) {
  spec_.hidden = fields_.Size("hidden_size", defaults.hidden);
  spec_.intermediate = fields_.Size("intermediate_size", defaults.intermediate);
  spec_.heads = fields_.Size("num_attention_heads", defaults.heads);
  const int64_t kv_heads = defaults.kv_heads == 0 ? spec_.heads : defaults.kv_heads;
  spec_.kv_heads = defaults.null_kv_heads
                       ? fields_.SizeOrNull("num_key_value_heads", kv_heads, spec_.heads)
                       : fields_.Size("num_key_value_heads", kv_heads);
  if (fields_.ok() && spec_.heads % spec_.kv_heads != 0) {
    fields_.Fail("num_key_value_heads", StrCat("is ", spec_.kv_heads, ", which does not divide ",
                                               spec_.heads, " attention heads"));
  }
  HeadDim(defaults);
  spec_.vocab = fields_.Size("vocab_size", defaults.vocab);
  spec_.max_positions = fields_.Size("max_position_embeddings", defaults.max_positions);
  spec_.tied = fields_.Flag("tie_word_embeddings", defaults.tied);
  PaddingToken(defaults.padding_token);
  spec_.norm_epsilon = fields_.Positive("rms_norm_eps", defaults.norm_epsilon);
  spec_.initializer_range = fields_.AtLeastZero("initializer_range", 0.02);
  const int64_t layers = fields_.Size("num_hidden_layers", defaults.layers);
  if (layers > kMaxLayers) {
    fields_.Fail("num_hidden_layers",
                 StrCat("is ", layers, "; at most ", kMaxLayers, " layers are supported"));
  }
  if (fields_.ok()) spec_.layers.resize(static_cast<size_t>(layers));
}

// PyTorch counts a negative one from the end of the table. One that is not in the table names no
// row.
void FamilyReader::PaddingToken(int64_t missing) {
  int64_t token = fields_.IntegerOrNull("pad_token_id", missing, -1);
  const bool given = fields_.Has("pad_token_id");
  if (given && token < 0) token += spec_.vocab;
  spec_.padding_token = token >= 0 && token < spec_.vocab ? token : -1;
}

void FamilyReader::HeadDim(const SizeDefaults& defaults) {
  const bool given = fields_.Has("head_dim");
  spec_.head_dim = defaults.null_head_dim ? fields_.SizeOrNull("head_dim", defaults.head_dim, 0)
                                          : fields_.Size("head_dim", defaults.head_dim);
  if (!fields_.ok()) return;
  if (spec_.head_dim == 0) {
    if (spec_.hidden % spec_.heads != 0) {
      fields_.Fail("num_attention_heads",
                   StrCat("is ", spec_.heads, ", which does not divide hidden_size ", spec_.hidden,
                          "; give head_dim or correct one of them"));
    }
    spec_.head_dim = spec_.hidden / spec_.heads;
  }
  if (fields_.ok() && spec_.head_dim % 2 != 0) {
    fields_.Fail(given ? "head_dim" : "num_attention_heads",
                 StrCat("makes heads of ", spec_.head_dim,
                        " channels; rotary embedding needs an even number"));
  }
}

void FamilyReader::Silu() {
  const std::string activation = fields_.Text("hidden_act", "silu");
  if (ok() && activation != "silu" && activation != "swish") {
    fields_.Refuse("hidden_act", "only silu is");
  }
  spec_.activation = Activation::kSilu;
}

void FamilyReader::GeluTanh(std::string_view key) {
  constexpr std::string_view kWord = "gelu_pytorch_tanh";
  if (fields_.Text(key, kWord) != kWord && ok()) {
    fields_.Refuse(key, StrCat("only ", kWord, " is"));
  }
  spec_.activation = Activation::kGeluTanh;
}

void FamilyReader::AttentionBias(bool missing) {
  spec_.qkv_bias = fields_.Flag("attention_bias", missing);
  spec_.output_bias = spec_.qkv_bias;
}

void FamilyReader::MlpBias() { spec_.mlp_bias = fields_.Flag("mlp_bias", false); }

int64_t FamilyReader::NumberOfExperts(int64_t missing) {
  const int64_t local = fields_.Count("num_local_experts", -1);
  const int64_t plain = fields_.Count("num_experts", -1);
  if (ok() && local >= 0 && plain >= 0 && local != plain) {
    fields_.Fail("num_experts", StrCat("is ", plain, ", but num_local_experts is ", local));
  }
  if (local >= 0) return local;
  return plain >= 0 ? plain : missing;
}

void FamilyReader::Experts(const ExpertDefaults& defaults) {
  ExpertsSpec& experts = spec_.experts;
  experts.experts = NumberOfExperts(defaults.experts);
  experts.experts_per_token = fields_.Size("num_experts_per_tok", defaults.experts_per_token);
  experts.intermediate = spec_.intermediate;
  experts.normalise_top_k = true;
  if (defaults.may_have_none && experts.experts == 0) return;
  if (ok() && experts.experts_per_token > experts.experts) {
    fields_.Fail("num_experts_per_tok", StrCat("is ", experts.experts_per_token, ", but there are ",
                                               experts.experts, " experts"));
  }
}

void FamilyReader::PlaceExperts(const std::function<bool(int64_t layer)>& has_experts) {
  if (!ok()) return;
  int64_t count = 0;
  for (int64_t i = 0; i < spec_.layer_count(); ++i) {
    LayerSpec& layer = spec_.layers[static_cast<size_t>(i)];
    layer.has_experts = spec_.experts.experts > 0 && has_experts(i);
    count += layer.has_experts ? 1 : 0;
  }
  // What no layer uses is not part of the model.
  if (count == 0) spec_.experts = {};
  if (count == spec_.layer_count()) spec_.intermediate = 0;
}

int64_t FamilyReader::Window(int64_t missing) {
  return fields_.SizeOrNull("sliding_window", missing, 0);
}

int64_t FamilyReader::SwitchedWindow(int64_t missing) {
  const int64_t window = Window(missing);
  return fields_.Flag("use_sliding_window", false) ? window : 0;
}

void FamilyReader::Windows(const WindowRule& rule) {
  if (!ok()) return;
  for (int64_t i = 0; i < spec_.layer_count(); ++i) {
    if (rule.window > 0 && rule.slides(i)) {
      spec_.layers[static_cast<size_t>(i)].sliding_window = rule.window;
    }
  }
  const std::vector<std::string> types = fields_.Texts("layer_types");
  if (!ok()) return;
  if (fields_.Has("layer_types")) {
    ApplyLayerTypes(types, rule);
  } else if (!rule.needs_window.empty() && rule.window == 0) {
    fields_.Refuse("sliding_window", rule.needs_window);
  }
}

void FamilyReader::ApplyLayerTypes(const std::vector<std::string>& types, const WindowRule& rule) {
  if (types.size() != spec_.layers.size()) {
    fields_.Fail("layer_types",
                 StrCat("has ", types.size(), " entries for ", spec_.layer_count(), " layers"));
    return;
  }
  for (size_t i = 0; i < types.size(); ++i) {
    const bool slides = types[i] == "sliding_attention";
    if (!slides && types[i] != "full_attention") {
      fields_.Fail("layer_types", StrCat(Quoted(types[i]), " of layer ", i,
                                         " is not supported; known are full_attention and "
                                         "sliding_attention"));
      return;
    }
    if (slides && rule.window == 0) {
      fields_.Fail("layer_types", StrCat("layer ", i, " slides, but no sliding_window is in use"));
      return;
    }
    const int64_t wanted = slides ? rule.window : 0;
    if (!rule.layer_types && spec_.layers[i].sliding_window != wanted) {
      fields_.Fail("layer_types", StrCat(Quoted(types[i]), " of layer ", i,
                                         " contradicts sliding_window, which goes for every "
                                         "layer of ",
                                         spec_.family));
      return;
    }
    spec_.layers[i].sliding_window = wanted;
  }
}

void FamilyReader::NoWindow() {
  fields_.RefuseUnless("use_sliding_window", Neutral::kFalse);
  fields_.RefuseUnless("sliding_window", Neutral::kNull);
  Windows({.window = 0, .layer_types = false});
}

RopeContext FamilyReader::Context() {
  return {.document = document_,
          .fields = fields_,
          .max_positions = spec_.max_positions,
          .head_dim = spec_.head_dim};
}

void FamilyReader::Rope(const RopeRules& rules) {
  if (!ok()) return;
  const absl::StatusOr<RopeSpec> rope = ReadRope(Context(), rules);
  if (rope.ok()) {
    spec_.ropes = {*rope};
  } else {
    status_ = rope.status();
  }
}

void FamilyReader::RopeByLayerType(const LayerTypeRopeRules& rules) {
  if (!ok()) return;
  const absl::StatusOr<LayerTypeRopes> ropes = ReadLayerTypeRopes(Context(), rules);
  if (!ropes.ok()) {
    status_ = ropes.status();
    return;
  }
  spec_.ropes = {ropes->full};
  if (ropes->sliding == ropes->full) return;
  spec_.ropes.push_back(ropes->sliding);
  for (LayerSpec& layer : spec_.layers) layer.rope = layer.sliding_window > 0 ? 1 : 0;
}

absl::Status FamilyReader::Finish() {
  if (!status_.ok()) return status_;
  for (const NeutralKey& entry : NeutralKeys()) {
    if (!fields_.IsKnown(entry.key)) fields_.RefuseUnless(entry.key, entry.neutral);
  }
  for (std::string_view key : HarmlessKeys()) fields_.Ignore(key);
  return fields_.status();
}

}  // namespace horizon

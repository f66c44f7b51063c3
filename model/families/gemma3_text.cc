#include <cmath>

#include "model/families/family.h"
#include "model/families/family_reader.h"

namespace horizon {
namespace {

// Every sixth layer attends to everything, the others to a window. transformers reads the number
// from sliding_window_pattern, writes it as _sliding_window_pattern and does not read that again.
void ReadWindows(FamilyReader& reader) {
  ConfigFields& fields = reader.fields();
  const int64_t pattern = fields.Size("sliding_window_pattern", 6);
  if (!fields.Has("layer_types") && fields.Size("_sliding_window_pattern", pattern) != pattern) {
    fields.Refuse("_sliding_window_pattern",
                  "transformers does not read it; give layer_types or sliding_window_pattern");
  }
  fields.Ignore("_sliding_window_pattern");
  reader.Windows({.window = reader.Window(4096),
                  .slides = [pattern](int64_t layer) { return (layer + 1) % pattern != 0; },
                  .needs_window = "most layers of this family slide"});
}

void Read(FamilyReader& reader) {
  reader.Sizes({.vocab = 262208,
                .hidden = 2304,
                .intermediate = 9216,
                .layers = 26,
                .heads = 8,
                .kv_heads = 4,
                .head_dim = 256,
                .max_positions = 131072,
                .tied = true,
                .padding_token = 0,
                .null_kv_heads = false,
                .null_head_dim = false});
  ModelSpec& spec = reader.spec();
  reader.GeluTanh("hidden_activation");
  reader.AttentionBias();
  spec.norm_place = NormPlace::kBoth;
  spec.norm_adds_one = true;
  spec.qk_norm = QkNorm::kPerHead;
  spec.embedding_multiplier = std::sqrt(static_cast<double>(spec.hidden));
  spec.embedding_multiplier_rounds = true;
  spec.attention_scale =
      1.0 / std::sqrt(static_cast<double>(reader.fields().Size("query_pre_attn_scalar", 256)));
  ReadWindows(reader);
  reader.RopeByLayerType(
      {.full_theta = 1e6, .sliding_theta = 1e4, .sliding_theta_key = "rope_local_base_freq"});
}

}  // namespace

Family Gemma3TextFamily() {
  return {.model_type = "gemma3_text", .read = &Read, .name = &NormAfterTensorName};
}

}  // namespace horizon

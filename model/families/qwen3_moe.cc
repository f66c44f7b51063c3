#include <algorithm>
#include <vector>

#include "model/families/family.h"
#include "model/families/family_reader.h"

namespace horizon {
namespace {

// Layers have experts at every decoder_sparse_step, except those of mlp_only_layers.
void PlaceExperts(FamilyReader& reader) {
  const int64_t step = reader.fields().Size("decoder_sparse_step", 1);
  const std::vector<int64_t> dense = reader.fields().Integers("mlp_only_layers");
  reader.PlaceExperts([&](int64_t layer) {
    return (layer + 1) % step == 0 && std::find(dense.begin(), dense.end(), layer) == dense.end();
  });
}

void Read(FamilyReader& reader) {
  reader.Sizes({.vocab = 151936,
                .hidden = 2048,
                .intermediate = 6144,
                .layers = 24,
                .heads = 32,
                .kv_heads = 4,
                .max_positions = 32768});
  reader.Silu();
  reader.AttentionBias();
  reader.spec().qk_norm = QkNorm::kPerHead;
  reader.Experts({.experts = 128, .experts_per_token = 8, .may_have_none = true});
  reader.spec().experts.intermediate = reader.fields().Size("moe_intermediate_size", 768);
  reader.spec().experts.normalise_top_k = reader.fields().Flag("norm_topk_prob", false);
  PlaceExperts(reader);
  const int64_t window = reader.SwitchedWindow(4096);
  // Releases of transformers disagree on what it means for this family.
  if (window > 0) reader.fields().RefuseUnless("max_window_layers", Neutral::kZero);
  reader.Windows({.window = window, .layer_types = false});
  reader.Rope({});
}

}  // namespace

Family Qwen3MoeFamily() { return {.model_type = "qwen3_moe", .read = &Read}; }

}  // namespace horizon

#include <cstddef>
#include <functional>
#include <string>

#include "model/families/family.h"
#include "model/families/family_reader.h"

namespace horizon {
namespace {

// Which layers slide where there is a window and no layer_types. As a number N: every N-th layer
// sees everything. As text ("LLLG"): the letters repeat, and the last layer always sees everything.
// transformers computes with the number alone; what the text means is in its documentation.
std::function<bool(int64_t)> SlidingLayers(FamilyReader& reader) {
  constexpr std::string_view kKey = "sliding_window_pattern";
  ConfigFields& fields = reader.fields();
  const Value* value = fields.Take(kKey);
  const auto* text = value == nullptr ? nullptr : value->As<std::string>();
  if (text == nullptr) {
    const int64_t interval = fields.Size(kKey, 4);
    return [interval](int64_t layer) { return (layer + 1) % interval != 0; };
  }
  if (text->empty() || text->find_first_not_of("LG") != std::string::npos) {
    fields.Refuse(kKey, "it must be a number, or letters L (sliding) and G (full)");
  }
  return [pattern = *text, last = reader.spec().layer_count() - 1](int64_t layer) {
    return layer != last && pattern[static_cast<size_t>(layer) % pattern.size()] == 'L';
  };
}

void Read(FamilyReader& reader) {
  reader.Sizes({.vocab = 102400,
                .hidden = 4096,
                .intermediate = 16384,
                .layers = 32,
                .heads = 32,
                .kv_heads = 32,
                .max_positions = 2048,
                .norm_epsilon = 1e-5,
                .null_kv_heads = false,
                .null_head_dim = false});
  reader.Silu();
  ModelSpec& spec = reader.spec();
  spec.norm_place = NormPlace::kAfter;
  spec.qk_norm = QkNorm::kPerHead;
  WindowRule windows = {.window = reader.Window(4096)};
  if (windows.window > 0 && !reader.fields().Has("layer_types")) {
    windows.slides = SlidingLayers(reader);
  }
  reader.fields().Ignore("sliding_window_pattern");
  reader.Windows(windows);
  reader.Rope({});
  // A model with a window rotates in its sliding layers alone, one without in all layers.
  for (LayerSpec& layer : spec.layers) {
    if (windows.window > 0 && layer.sliding_window == 0) layer.rope = kNoRotary;
  }
}

}  // namespace

Family Exaone4Family() {
  return {.model_type = "exaone4", .read = &Read, .name = &NormAfterTensorName};
}

}  // namespace horizon

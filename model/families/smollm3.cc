#include <cstddef>
#include <vector>

#include "common/text/str_cat.h"
#include "model/families/family.h"
#include "model/families/family_reader.h"

namespace horizon {
namespace {

// 1 for each layer that rotates, 0 for each that does not: by default every fourth does not.
std::vector<int64_t> RotaryLayers(FamilyReader& reader) {
  constexpr std::string_view kKey = "no_rope_layers";
  ConfigFields& fields = reader.fields();
  const auto layers = static_cast<size_t>(reader.spec().layer_count());
  const int64_t interval = fields.Size("no_rope_layer_interval", 4);
  if (!fields.Has(kKey)) {
    std::vector<int64_t> rotates(layers, 1);
    for (size_t i = 0; i < layers; ++i) {
      if ((static_cast<int64_t>(i) + 1) % interval == 0) rotates[i] = 0;
    }
    return rotates;
  }
  std::vector<int64_t> rotates = fields.Integers(kKey);
  if (reader.ok() && rotates.size() != layers) {
    fields.Fail(kKey, StrCat("has ", rotates.size(), " entries for ", layers, " layers"));
  }
  for (size_t i = 0; reader.ok() && i < layers; ++i) {
    if (rotates[i] == 0 || rotates[i] == 1) continue;
    fields.Fail(kKey, StrCat("is ", rotates[i], " for layer ", i, "; it must be 0 or 1"));
  }
  rotates.resize(layers);
  return rotates;
}

void Read(FamilyReader& reader) {
  reader.Sizes({.vocab = 128256,
                .hidden = 2048,
                .intermediate = 11008,
                .layers = 36,
                .heads = 16,
                .kv_heads = 4,
                .max_positions = 32768,
                .tied = true,
                .padding_token = 128004});
  reader.Silu();
  reader.AttentionBias();
  reader.MlpBias();
  const std::vector<int64_t> rotates = RotaryLayers(reader);
  reader.Windows({.window = reader.SwitchedWindow(0), .slides = [&](int64_t layer) {
                    return rotates[static_cast<size_t>(layer)] == 0;
                  }});
  reader.Rope({.theta = 2e6});
  for (size_t i = 0; i < reader.spec().layers.size(); ++i) {
    reader.spec().layers[i].rope = rotates[i] == 0 ? kNoRotary : 0;
  }
  // The published config says 2; the class does not have it.
  reader.fields().Ignore("pretraining_tp");
}

}  // namespace

Family Smollm3Family() { return {.model_type = "smollm3", .read = &Read}; }

}  // namespace horizon

#include "model/families/family.h"
#include "model/families/family_reader.h"

namespace horizon {
namespace {

void Read(FamilyReader& reader) {
  reader.Sizes({.vocab = 50304,
                .hidden = 4096,
                .intermediate = 11008,
                .layers = 32,
                .heads = 32,
                .max_positions = 2048,
                .norm_epsilon = 1e-5,
                .padding_token = 1});
  reader.Silu();
  reader.AttentionBias();
  reader.spec().norm_place = NormPlace::kAfter;
  reader.spec().qk_norm = QkNorm::kFullWidth;
  reader.Windows({.window = reader.Window(4096),
                  .slides = [](int64_t layer) { return (layer + 1) % 4 != 0; },
                  .needs_window = "three of four layers of this family slide"});
  // rope_scaling goes for the layers that see everything alone.
  reader.RopeByLayerType({.full_theta = 500000.0, .sliding_theta = 500000.0});
}

}  // namespace

Family Olmo3Family() {
  return {.model_type = "olmo3", .read = &Read, .name = &NormAfterTensorName};
}

}  // namespace horizon

#include "model/families/family.h"
#include "model/families/family_reader.h"

namespace horizon {
namespace {

void Read(FamilyReader& reader) {
  reader.Sizes({.vocab = 32000,
                .hidden = 4096,
                .intermediate = 14336,
                .layers = 32,
                .heads = 32,
                .kv_heads = 8,
                .max_positions = 131072});
  reader.Silu();
  reader.Windows({.window = reader.Window(4096), .layer_types = false});
  reader.Rope({});
}

}  // namespace

Family MistralFamily() { return {.model_type = "mistral", .read = &Read}; }

}  // namespace horizon

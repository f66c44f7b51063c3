#include "model/families/family.h"
#include "model/families/family_reader.h"

namespace horizon {
namespace {

void Read(FamilyReader& reader) {
  reader.Sizes({.vocab = 151936,
                .hidden = 4096,
                .intermediate = 22016,
                .layers = 32,
                .heads = 32,
                .kv_heads = 32,
                .max_positions = 32768});
  reader.Silu();
  // Queries, keys and values have a bias, the output has none, and no key changes that.
  reader.spec().qkv_bias = true;
  const int64_t first = reader.fields().Count("max_window_layers", 28);
  reader.Windows({.window = reader.SwitchedWindow(4096),
                  .slides = [first](int64_t layer) { return layer >= first; }});
  reader.Rope({});
}

}  // namespace

Family Qwen2Family() { return {.model_type = "qwen2", .read = &Read}; }

}  // namespace horizon

#include "model/families/family.h"
#include "model/families/family_reader.h"

namespace horizon {
namespace {

void Read(FamilyReader& reader) {
  reader.Sizes({.vocab = 32000,
                .hidden = 4096,
                .intermediate = 11008,
                .layers = 32,
                .heads = 32,
                .max_positions = 2048});
  reader.Silu();
  reader.AttentionBias();
  reader.MlpBias();
  reader.NoWindow();
  reader.Rope({});
}

}  // namespace

Family LlamaFamily() { return {.model_type = "llama", .read = &Read}; }

}  // namespace horizon

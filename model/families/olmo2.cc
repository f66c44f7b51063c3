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
  reader.NoWindow();
  reader.Rope({});
}

}  // namespace

Family Olmo2Family() {
  return {.model_type = "olmo2", .read = &Read, .name = &NormAfterTensorName};
}

}  // namespace horizon

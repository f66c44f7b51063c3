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
  ModelSpec& spec = reader.spec();
  ConfigFields& fields = reader.fields();
  spec.embedding_multiplier = fields.Positive("embedding_multiplier", 1.0);
  spec.residual_multiplier = fields.Positive("residual_multiplier", 1.0);
  // The scale of the scores itself: 1 where it is missing, not 1 / sqrt(head_dim).
  spec.attention_scale = fields.Positive("attention_multiplier", 1.0);
  spec.logit_multiplier = 1.0 / fields.Positive("logits_scaling", 1.0);
}

}  // namespace

Family GraniteFamily() { return {.model_type = "granite", .read = &Read}; }

}  // namespace horizon

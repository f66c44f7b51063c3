#include "model/families/family.h"
#include "model/families/family_reader.h"

namespace horizon {
namespace {

void Read(FamilyReader& reader) {
  reader.Sizes({.vocab = 131072,
                .hidden = 4096,
                .intermediate = 14336,
                .layers = 34,
                .heads = 32,
                .kv_heads = 8,
                .head_dim = 128,
                .max_positions = 262144,
                .norm_epsilon = 1e-5,
                .padding_token = 11,
                .null_kv_heads = false,
                .null_head_dim = false});
  reader.Silu();
  reader.Windows({.window = reader.Window(0), .layer_types = false});
  // Settings without a theta take 10000, no settings at all 1000000.
  reader.Rope({.missing = RopeSpec{.kind = RopeKind::kYarn,
                                   .theta = 1e6,
                                   .factor = 16.0,
                                   .original_max_positions = 16384,
                                   .mscale = 1.0,
                                   .mscale_all_dim = 1.0,
                                   .query_scale_beta = 0.1},
               .missing_takes_theta = false,
               .query_scale = true});
}

}  // namespace

Family Ministral3Family() { return {.model_type = "ministral3", .read = &Read}; }

}  // namespace horizon

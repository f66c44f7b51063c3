#include "model/families/family.h"
#include "model/families/family_reader.h"

namespace horizon {
namespace {

constexpr RopeKind kRopeKinds[] = {RopeKind::kDefault, RopeKind::kLongrope};

void Read(FamilyReader& reader) {
  reader.Sizes({.vocab = 32064,
                .hidden = 3072,
                .intermediate = 8192,
                .layers = 32,
                .heads = 32,
                .max_positions = 4096,
                .norm_epsilon = 1e-5,
                .padding_token = 32000});
  reader.Silu();
  reader.Windows({.window = reader.Window(0), .layer_types = false});
  reader.Rope({.kinds = kRopeKinds,
               .old_longrope_words = true,
               .partial = true,
               .original_positions = 4096});
}

constexpr TensorRole kQueryKeyValue[] = {TensorRole::kQuery, TensorRole::kKey, TensorRole::kValue};
constexpr TensorRole kGateUp[] = {TensorRole::kGate, TensorRole::kUp};
constexpr FusedTensor kFused[] = {
    {.stage = StageKind::kAttention, .name = "self_attn.qkv_proj.weight", .roles = kQueryKeyValue},
    {.stage = StageKind::kFeedForward, .name = "mlp.gate_up_proj.weight", .roles = kGateUp},
};

}  // namespace

Family Phi3Family() { return {.model_type = "phi3", .read = &Read, .fused = kFused}; }

}  // namespace horizon

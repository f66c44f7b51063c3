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
                .max_positions = 131072,
                .norm_epsilon = 1e-5});
  reader.Silu();
  reader.Experts({.experts = 8, .experts_per_token = 2});
  reader.PlaceExperts([](int64_t) { return true; });
  reader.Windows({.window = reader.Window(0), .layer_types = false});
  reader.Rope({.theta = 1e6});
}

std::string_view Name(StageKind stage, TensorRole role) {
  if (stage != StageKind::kExperts) return UsualTensorName(stage, role);
  switch (role) {
    case TensorRole::kRouter:
      return "block_sparse_moe.gate.weight";
    case TensorRole::kGate:
      return "block_sparse_moe.experts.#.w1.weight";
    case TensorRole::kUp:
      return "block_sparse_moe.experts.#.w3.weight";
    case TensorRole::kDown:
      return "block_sparse_moe.experts.#.w2.weight";
    default:
      return UsualTensorName(stage, role);
  }
}

}  // namespace

Family MixtralFamily() { return {.model_type = "mixtral", .read = &Read, .name = &Name}; }

}  // namespace horizon

#include "model/families/family.h"
#include "model/families/family_reader.h"

namespace horizon {
namespace {

void Read(FamilyReader& reader) {
  reader.Sizes({.vocab = 201088,
                .hidden = 2880,
                .intermediate = 2880,
                .layers = 36,
                .heads = 64,
                .kv_heads = 8,
                .head_dim = 64,
                .max_positions = 131072,
                .norm_epsilon = 1e-5});
  ModelSpec& spec = reader.spec();
  reader.Silu();
  spec.swiglu_limit = reader.fields().Positive("swiglu_limit", 7.0);
  spec.swiglu_alpha = reader.fields().Positive("swiglu_alpha", 1.702);
  reader.AttentionBias(true);
  spec.attention_sinks = true;
  // The weights are a softmax over the chosen logits: softmax over all, scaled to sum to one.
  reader.Experts({.experts = 128, .experts_per_token = 4});
  spec.experts.fused_tensors = true;
  spec.expert_bias = true;
  reader.PlaceExperts([](int64_t) { return true; });
  reader.Windows({.window = reader.Window(128),
                  .slides = [](int64_t layer) { return layer % 2 == 0; },
                  .needs_window = "every second layer of this family slides"});
  reader.Rope({.theta = 150000.0,
               .missing = RopeSpec{.kind = RopeKind::kYarn,
                                   .factor = 32.0,
                                   .original_max_positions = 4096,
                                   .truncate = false}});
}

std::string_view Name(StageKind stage, TensorRole role) {
  if (stage == StageKind::kExperts && role == TensorRole::kRouter) return "mlp.router.weight";
  if (stage == StageKind::kExperts && role == TensorRole::kRouterBias) return "mlp.router.bias";
  return UsualTensorName(stage, role);
}

}  // namespace

Family GptOssFamily() { return {.model_type = "gpt_oss", .read = &Read, .name = &Name}; }

}  // namespace horizon

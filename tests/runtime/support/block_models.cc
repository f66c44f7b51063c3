#include "tests/runtime/support/block_models.h"

#include "tests/runtime/support/small_training.h"

namespace horizon {
namespace {

ModelSpec Plain() {
  ModelSpec spec = TinyShards();
  spec.family = "gemma3_text";  // it has a name for every tensor
  spec.max_positions = 256;
  return spec;
}

// Norms after each half alone, queries and keys normed over all heads; two kinds of layers.
ModelSpec NormsAfter() {
  ModelSpec spec = Plain();
  spec.norm_place = NormPlace::kAfter;
  spec.qk_norm = QkNorm::kFullWidth;
  spec.ropes = {
      {.theta = 500000.0},
      {.kind = RopeKind::kYarn, .theta = 500000.0, .factor = 4.0, .original_max_positions = 4}};
  spec.layers[0].sliding_window = 4;
  spec.layers[2].rope = 1;
  return spec;
}

// Norms on both sides with weights 1 + w, GELU, a scaled embedding that is rounded, a scale of its
// own for the scores, tied.
ModelSpec NormsOnBothSides() {
  ModelSpec spec = Plain();
  spec.norm_place = NormPlace::kBoth;
  spec.norm_adds_one = true;
  spec.qk_norm = QkNorm::kPerHead;
  spec.activation = Activation::kGeluTanh;
  spec.embedding_multiplier = 3.4641016;
  spec.embedding_multiplier_rounds = true;
  spec.attention_scale = 0.3;
  spec.tied = true;
  spec.padding_token = 3;
  spec.ropes = {{.theta = 10000.0}, {.kind = RopeKind::kLinear, .theta = 1e6, .factor = 8.0}};
  spec.layers[1].rope = 1;
  spec.layers[0].sliding_window = spec.layers[2].sliding_window = 3;
  return spec;
}

// Multipliers of everything, and biases, which a multiplier scales too.
ModelSpec Multipliers() {
  ModelSpec spec = Plain();
  spec.embedding_multiplier = 12.0;
  spec.residual_multiplier = 0.22;
  spec.logit_multiplier = 0.125;
  spec.attention_scale = 0.0625;
  spec.qkv_bias = spec.output_bias = spec.mlp_bias = true;
  return spec;
}

// A part of the head rotated, by longrope's factors, and a layer without rotary.
ModelSpec PartialRotary() {
  ModelSpec spec = Plain();
  spec.ropes = {{.kind = RopeKind::kLongrope,
                 .rotary_dim = 4,
                 .factor = 8.0,
                 .original_max_positions = 6,
                 .short_factors = {1.0, 1.5},
                 .long_factors = {2.0, 7.0}}};
  spec.layers[1].rope = kNoRotary;
  return spec;
}

// Queries scaled by their position.
ModelSpec ScaledQueries() {
  ModelSpec spec = Plain();
  spec.ropes = {{.kind = RopeKind::kYarn,
                 .theta = 1e6,
                 .factor = 16.0,
                 .original_max_positions = 4,
                 .mscale = 1.0,
                 .mscale_all_dim = 0.5,
                 .query_scale_beta = 0.1}};
  return spec;
}

// Attention sinks, with the biases, grouped heads and windows that gpt_oss has beside them.
ModelSpec Sinks() {
  ModelSpec spec = Plain();
  spec.attention_sinks = true;
  spec.qkv_bias = spec.output_bias = true;
  spec.kv_heads = spec.heads / 2;
  spec.layers[0].sliding_window = spec.layers[2].sliding_window = 3;
  return spec;
}

// Experts in all layers but one, with norms on both sides.
ModelSpec Experts() {
  ModelSpec spec = Plain();
  spec.norm_place = NormPlace::kBoth;
  spec.experts = {.experts = 4, .experts_per_token = 2, .intermediate = 10};
  spec.layers[0].has_experts = spec.layers[2].has_experts = true;
  return spec;
}

// One tensor for all experts, with biases, clamped and weighted as in gpt_oss; weights are so small
// that the limit is too.
ModelSpec FusedExperts() {
  ModelSpec spec = Sinks();
  spec.experts = {.experts = 3,
                  .experts_per_token = 2,
                  .intermediate = 14,
                  .normalise_top_k = true,
                  .fused_tensors = true};
  spec.expert_bias = true;
  spec.swiglu_limit = 0.02;
  spec.swiglu_alpha = 1.702;
  for (LayerSpec& layer : spec.layers) layer.has_experts = true;
  return spec;
}

// What no family has together: a norm after the half and a multiplier behind it.
ModelSpec NormAfterAndMultiplier() {
  ModelSpec spec = NormsAfter();
  spec.residual_multiplier = 0.5;
  spec.output_bias = spec.mlp_bias = true;
  spec.norm_adds_one = true;
  return spec;
}

}  // namespace

ModelSpec TinyPlain() { return Plain(); }

std::vector<BlockModel> BlockModels() {
  return {{"norms_after", NormsAfter()},
          {"norms_on_both_sides", NormsOnBothSides()},
          {"multipliers", Multipliers()},
          {"partial_rotary", PartialRotary()},
          {"scaled_queries", ScaledQueries()},
          {"sinks", Sinks()},
          {"experts", Experts()},
          {"fused_experts", FusedExperts()},
          {"norm_after_and_multiplier", NormAfterAndMultiplier()}};
}

}  // namespace horizon

#include "model/families/family.h"

namespace horizon {
namespace {

std::string_view AttentionName(TensorRole role) {
  switch (role) {
    case TensorRole::kNorm:
      return "input_layernorm.weight";
    case TensorRole::kNormAfter:
      return "post_self_attn_layernorm.weight";
    case TensorRole::kQuery:
      return "self_attn.q_proj.weight";
    case TensorRole::kQueryBias:
      return "self_attn.q_proj.bias";
    case TensorRole::kQueryNorm:
      return "self_attn.q_norm.weight";
    case TensorRole::kKey:
      return "self_attn.k_proj.weight";
    case TensorRole::kKeyBias:
      return "self_attn.k_proj.bias";
    case TensorRole::kKeyNorm:
      return "self_attn.k_norm.weight";
    case TensorRole::kValue:
      return "self_attn.v_proj.weight";
    case TensorRole::kValueBias:
      return "self_attn.v_proj.bias";
    case TensorRole::kOutput:
      return "self_attn.o_proj.weight";
    case TensorRole::kOutputBias:
      return "self_attn.o_proj.bias";
    case TensorRole::kSinks:
      return "self_attn.sinks";
    default:
      return "";
  }
}

std::string_view FeedForwardName(TensorRole role) {
  switch (role) {
    case TensorRole::kNorm:
      return "post_attention_layernorm.weight";
    case TensorRole::kNormAfter:
      return "post_mlp_layernorm.weight";
    case TensorRole::kGate:
      return "mlp.gate_proj.weight";
    case TensorRole::kGateBias:
      return "mlp.gate_proj.bias";
    case TensorRole::kUp:
      return "mlp.up_proj.weight";
    case TensorRole::kUpBias:
      return "mlp.up_proj.bias";
    case TensorRole::kDown:
      return "mlp.down_proj.weight";
    case TensorRole::kDownBias:
      return "mlp.down_proj.bias";
    default:
      return "";
  }
}

std::string_view ExpertsName(TensorRole role) {
  switch (role) {
    case TensorRole::kNorm:
    case TensorRole::kNormAfter:
      return FeedForwardName(role);
    case TensorRole::kRouter:
      return "mlp.gate.weight";
    case TensorRole::kRouterBias:
      return "mlp.gate.bias";
    case TensorRole::kGate:
      return "mlp.experts.#.gate_proj.weight";
    case TensorRole::kGateBias:
      return "mlp.experts.#.gate_proj.bias";
    case TensorRole::kUp:
      return "mlp.experts.#.up_proj.weight";
    case TensorRole::kUpBias:
      return "mlp.experts.#.up_proj.bias";
    case TensorRole::kDown:
      return "mlp.experts.#.down_proj.weight";
    case TensorRole::kDownBias:
      return "mlp.experts.#.down_proj.bias";
    case TensorRole::kGateUp:
      return "mlp.experts.gate_up_proj";
    case TensorRole::kGateUpBias:
      return "mlp.experts.gate_up_proj_bias";
    case TensorRole::kExpertsDown:
      return "mlp.experts.down_proj";
    case TensorRole::kExpertsDownBias:
      return "mlp.experts.down_proj_bias";
    default:
      return "";
  }
}

}  // namespace

std::string_view UsualTensorName(StageKind stage, TensorRole role) {
  switch (stage) {
    case StageKind::kEmbedding:
      return role == TensorRole::kTable ? "model.embed_tokens.weight" : "";
    case StageKind::kAttention:
      return AttentionName(role);
    case StageKind::kFeedForward:
      return FeedForwardName(role);
    case StageKind::kExperts:
      return ExpertsName(role);
    case StageKind::kFinalNorm:
      return role == TensorRole::kNorm ? "model.norm.weight" : "";
    case StageKind::kHead:
      return role == TensorRole::kTable ? "lm_head.weight" : "";
  }
  return "";
}

std::string_view NormAfterTensorName(StageKind stage, TensorRole role) {
  const bool feeds_forward = stage == StageKind::kFeedForward || stage == StageKind::kExperts;
  if (role == TensorRole::kNorm && feeds_forward) return "pre_feedforward_layernorm.weight";
  if (role == TensorRole::kNormAfter && feeds_forward) return "post_feedforward_layernorm.weight";
  if (role == TensorRole::kNormAfter && stage == StageKind::kAttention) {
    return "post_attention_layernorm.weight";
  }
  return UsualTensorName(stage, role);
}

}  // namespace horizon

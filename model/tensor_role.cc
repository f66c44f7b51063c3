#include "model/tensor_role.h"

namespace horizon {

std::string_view ToString(StageKind kind) {
  switch (kind) {
    case StageKind::kEmbedding:
      return "embedding";
    case StageKind::kAttention:
      return "attention";
    case StageKind::kFeedForward:
      return "feed_forward";
    case StageKind::kExperts:
      return "experts";
    case StageKind::kFinalNorm:
      return "final_norm";
    case StageKind::kHead:
      return "head";
  }
  return "unknown";
}

std::string_view ToString(TensorRole role) {
  switch (role) {
    case TensorRole::kTable:
      return "table";
    case TensorRole::kNorm:
      return "norm";
    case TensorRole::kNormAfter:
      return "norm after";
    case TensorRole::kQuery:
      return "query";
    case TensorRole::kQueryBias:
      return "query bias";
    case TensorRole::kQueryNorm:
      return "query norm";
    case TensorRole::kKey:
      return "key";
    case TensorRole::kKeyBias:
      return "key bias";
    case TensorRole::kKeyNorm:
      return "key norm";
    case TensorRole::kValue:
      return "value";
    case TensorRole::kValueBias:
      return "value bias";
    case TensorRole::kOutput:
      return "output";
    case TensorRole::kOutputBias:
      return "output bias";
    case TensorRole::kSinks:
      return "sinks";
    case TensorRole::kGate:
      return "gate";
    case TensorRole::kGateBias:
      return "gate bias";
    case TensorRole::kUp:
      return "up";
    case TensorRole::kUpBias:
      return "up bias";
    case TensorRole::kDown:
      return "down";
    case TensorRole::kDownBias:
      return "down bias";
    case TensorRole::kRouter:
      return "router";
    case TensorRole::kRouterBias:
      return "router bias";
    case TensorRole::kGateUp:
      return "gate and up of all experts";
    case TensorRole::kGateUpBias:
      return "gate and up bias of all experts";
    case TensorRole::kExpertsDown:
      return "down of all experts";
    case TensorRole::kExpertsDownBias:
      return "down bias of all experts";
  }
  return "unknown";
}

BackwardDepth DepthOf(TensorRole role) {
  switch (role) {
    case TensorRole::kNormAfter:
      return BackwardDepth::kNormAfter;
    case TensorRole::kTable:
    case TensorRole::kOutput:
    case TensorRole::kOutputBias:
    case TensorRole::kDown:
    case TensorRole::kDownBias:
    case TensorRole::kExpertsDown:
    case TensorRole::kExpertsDownBias:
      return BackwardDepth::kOutputProjection;
    case TensorRole::kNorm:
      return BackwardDepth::kNorm;
    default:
      return BackwardDepth::kInputProjections;
  }
}

}  // namespace horizon

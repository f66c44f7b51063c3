#pragma once

#include <cstdint>
#include <string_view>

namespace horizon {

// A model is a list of stages that a token passes through (stages.h).
enum class StageKind { kEmbedding, kAttention, kFeedForward, kExperts, kFinalNorm, kHead };
inline constexpr int kStageKinds = static_cast<int>(StageKind::kHead) + 1;
// "embedding", "attention", "feed_forward", "experts", "final_norm", "head".
std::string_view ToString(StageKind kind);

// What a tensor is to its stage. Stages take their tensors by role; names are for files and people.
enum class TensorRole : uint8_t {
  kTable,      // embedding or head
  kNorm,       // of the stage's input
  kNormAfter,  // of what the stage adds to the residual stream
  kQuery,
  kQueryBias,
  kQueryNorm,
  kKey,
  kKeyBias,
  kKeyNorm,
  kValue,
  kValueBias,
  kOutput,
  kOutputBias,
  kSinks,
  kGate,
  kGateBias,
  kUp,
  kUpBias,
  kDown,
  kDownBias,
  kRouter,
  kRouterBias,
  kGateUp,  // of all experts in one tensor, as kExpertsDown and their biases
  kGateUpBias,
  kExpertsDown,
  kExpertsDownBias,
};
inline constexpr int kTensorRoles = static_cast<int>(TensorRole::kExpertsDownBias) + 1;
// "query", "query bias", ...
std::string_view ToString(TensorRole role);

}  // namespace horizon

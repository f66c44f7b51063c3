#pragma once

#include <bitset>
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

using RoleSet = std::bitset<kTensorRoles>;

// How far backward has come within a stage, from its output to its input. A tensor's gradient is
// known at its own depth; the gradient that the next depth starts from is computed only where
// something that deep, or an earlier stage, is trained.
enum class BackwardDepth : uint8_t {
  kNone,        // backward does not touch the stage
  kNormAfter,   // the norm of what the stage adds to the residual stream
  kProjection,  // the last matrix: output, down, or a vocabulary table
  kFirst,       // the matrices that read the normed input: query, key, value; gate, up; router
  kNorm,        // the norm of the stage's input
  kInput,       // the hidden state that enters
};
BackwardDepth DepthOf(TensorRole role);

}  // namespace horizon

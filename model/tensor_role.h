#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>

namespace horizon {

// The kinds of stages that make up a model (stages.h).
enum class StageKind { kEmbedding, kAttention, kFeedForward, kExperts, kFinalNorm, kHead };
inline constexpr int kStageKinds = static_cast<int>(StageKind::kHead) + 1;
// "embedding", "attention", "feed_forward", "experts", "final_norm", "head".
std::string_view ToString(StageKind kind);

// What a tensor is for within its stage. Code finds the tensors of a stage by role; names are only
// for files and people.
enum class TensorRole : uint8_t {
  kTable,      // the vocabulary table of the embedding or the head
  kNorm,       // the norm of the stage's input
  kNormAfter,  // the norm of what the stage adds to the residual stream
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
  kGateUp,  // this and the following roles hold all experts in one tensor
  kGateUpBias,
  kExpertsDown,
  kExpertsDownBias,
};
inline constexpr int kTensorRoles = static_cast<int>(TensorRole::kExpertsDownBias) + 1;
// "query", "query bias", ...
std::string_view ToString(TensorRole role);

using RoleSet = std::bitset<kTensorRoles>;

// How far backward goes into a stage, from its output to its input. The gradient of a tensor is
// computed at the depth of its role (DepthOf). The gradient that the next depth starts from is
// computed only if a tensor that deep, or an earlier stage, is trained.
enum class BackwardDepth : uint8_t {
  kNone,              // backward does not touch the stage
  kNormAfter,         // the norm of what the stage adds to the residual stream
  kOutputProjection,  // the last matrix: output, down, or a vocabulary table
  // Matrices that read the normed input: query, key, value; gate, up; router. Also the sinks, since
  // their gradient needs that of the output projection's input.
  kInputProjections,
  kNorm,   // the norm of the stage's input
  kInput,  // the residual stream that enters the stage
};
BackwardDepth DepthOf(TensorRole role);

}  // namespace horizon

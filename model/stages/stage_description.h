#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "model/stage_options.h"
#include "model/tensor_role.h"

namespace horizon {

// The types in which a stage is described. Each kind of stage has one description, in the file of
// its name beside this one: its tensors by role, the arrays that its passes use, and the work they
// do. Parameter counts, memory layout, cost model and the runtime's templates all read that
// description; nothing is added up by hand anywhere else.
//
// A pass over a stage is a sequence of program points, numbered from 0 in the order of execution
// (attention forward: query, key, value, attend, project). An array is live from the point that
// first writes it to the point that last reads it. Arrays that are never live at the same time may
// share memory (array_layout.h).

// The program points [first, last] at which an array is live; empty by default.
struct LiveRange {
  int8_t first = 1;
  int8_t last = 0;
  constexpr bool empty() const { return first > last; }
  constexpr bool Overlaps(const LiveRange& other) const {
    return first <= other.last && other.first <= last;
  }
};

enum class ArrayRole : uint8_t {
  kInput,       // the residual stream that enters the stage
  kInverseRms,  // inverse RMS of the norm of the input
  kNormed,      // the input after that norm
  kQuery,       // after q/k norm and rotary; kKey likewise
  kKey,
  kValue,
  kQueryBefore,  // before q/k norm
  kKeyBefore,
  kQueryInverseRms,
  kKeyInverseRms,
  kAttended,  // the output of attention, before the output projection
  kLogSumExp,
  kGate,
  kUp,
  kActivated,  // activation(gate) * up
  kProjected,  // what the stage adds to the residual stream, before its norm and multiplier
  kProjectedInverseRms,
  kBranch,               // kProjected after its norm
  kRouterProbabilities,  // softmax over all experts
  kChosenExperts,        // the numbers of the chosen experts
  kRouterWeights,        // the weights of the chosen experts
  // The token-expert pairs of a piece of tokens, sorted by expert (kernels/experts/dispatch.h).
  kExpertBegins,
  kRowPairs,
  kRowTokens,
  kPairRows,
  kGateUp,     // gate and up of the rows of experts
  kRowOutput,  // what an expert makes of each of its rows
  kExpertSum,  // the sum over the experts of each token
  kProjectedGradient,
  kAttendedGradient,
  kOutputDot,  // dot product of kAttended and its gradient, per head
  kQueryGradient,
  kKeyGradient,
  kValueGradient,
  kGateGradient,  // at first the gradient of kActivated
  kUpGradient,
  kActivatedGradient,
  kGateUpGradient,
  kRowInputGradient,      // gradient of the inputs of the experts' rows
  kRouterWeightGradient,  // gradient of kRouterWeights
  kRouterLossGradient,    // what the auxiliary loss adds to the gradient of each probability
  kRouterGradient,        // gradient of the router's logits
  kNormedGradient,        // gradient of kNormed: the fp32 sum over all matrices that read it
  kWeightGradientSum,     // weight gradients of the pieces of tokens so far
};
inline constexpr int kArrayRoles = static_cast<int>(ArrayRole::kWeightGradientSum) + 1;
// "input", "query gradient", ...
std::string_view ToString(ArrayRole role);

// The number format of an array.
enum class ArrayType : uint8_t {
  kActivation,  // the format of activations on the device: fp32 or bf16
  kSum,         // always fp32: a sum that is rounded once, when it is complete, or never
  kScalar,      // 4 bytes: one value per token, head or expert (inverse rms, log-sum-exp, ...)
};

// For what an array has a row of `width` values.
enum class ArrayRows : uint8_t {
  kTokens,  // for each token of the micro-batch
  kPiece,   // for each token of a piece; for all tokens where the array is kept for backward
  kOne,     // one row in all, and only if there are several pieces: their sum
  kAlways,  // one row in all
};

struct ArrayDescription {
  ArrayRole role;
  int64_t width = 0;
  ArrayType type = ArrayType::kActivation;
  ArrayRows rows = ArrayRows::kTokens;
  // Whether forward (or recompute) writes it and backward reads it. A pass that keeps activations
  // stores it among the activations of the stage; a forward that keeps nothing stores it in its
  // scratch.
  bool kept = false;
  // When forward and backward use it. A kept array needs no live range in backward. An array
  // without a live range in forward exists only if activations are kept.
  LiveRange forward;
  LiveRange backward;
};
using ArrayDescriptions = absl::InlinedVector<ArrayDescription, 24>;

// Which units of a stage a piece of work belongs to.
enum class Spread : uint8_t {
  kOneUnit,  // all of it to `unit`
  kEvenly,   // an equal part to each unit (the rows of a table)
  kExperts,  // units are experts; each has the work of its own token-expert pairs
};

// What a piece of work of forward is needed for, beside forward itself.
enum class Need : uint8_t {
  kBackward,  // it makes what is kept for backward: recompute always does it
  kOutput,    // only for the output: recompute does it where the output is wanted
  kAgain,     // the same, and backward does it again, because its result is not kept
};

// A matrix multiply [tokens, in] x [in, out] with the tensor `weight`, `count` times. With kEvenly,
// each unit is one column of `out`.
struct GemmWork {
  TensorRole weight;
  Need need = Need::kBackward;
  Spread spread = Spread::kOneUnit;
  int64_t unit = 0;
  int64_t out = 0;
  int64_t in = 0;
  int64_t count = 1;
};

// Element-wise passes over arrays, that is, all work that is not a matrix multiply. There are
// `width` values per token (with kExperts: per token-expert pair; with kEvenly: for all units
// together), and forward and backward read or write each value that many times.
struct ElementWork {
  Need need = Need::kBackward;
  Spread spread = Spread::kOneUnit;
  int64_t unit = 0;
  int64_t width = 0;
  uint64_t forward = 0;
  uint64_t backward = 0;
};

struct WorkDescription {
  absl::InlinedVector<GemmWork, 8> gemms;
  absl::InlinedVector<ElementWork, 12> elements;
  // The unit that attention over the heads belongs to; -1: the stage has no attention.
  // `attention_width` is the number of channels of all heads together.
  int64_t attention_unit = -1;
  int64_t attention_width = 0;
  int64_t attention_window = 0;
};

// How often forward and backward read or write each value.
struct ElementCost {
  uint64_t forward;
  uint64_t backward;
};
// Forward reads and writes; backward reads its input and the gradient, and writes a gradient.
inline constexpr ElementCost kNormCost = {2, 3};
inline constexpr ElementCost kRotaryCost = {2, 2};
// Forward reads two values and writes one. Backward reads gate, up and the gradient, and writes
// both gradients and, for the weight gradient of the down projection, its output again.
inline constexpr ElementCost kGluCost = {3, 6};
inline constexpr ElementCost kResidualCost = {3, 3};
// A copy that is multiplied by a number.
inline constexpr ElementCost kScaleCost = {2, 2};
// The result of a row is written by its multiply (which is counted there), read, and added to the
// sum of its token.
inline constexpr ElementCost kCombineCost = {3, 3};
inline constexpr ElementCost kRouterCost = {2, 3};
inline constexpr ElementCost kLogitsCost = {1, 2};
inline constexpr ElementCost kEmbeddingCost = {2, 3};

}  // namespace horizon

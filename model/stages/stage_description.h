#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "model/tensor_role.h"

namespace horizon {

// The words a stage is described in. Each kind of stage has one description, in the file of its
// name beside this one: its tensors by role, the arrays its passes use, and the work they do.
// Parameter counts, memory layout, cost model and the runtime's templates all read that; nothing is
// added up by hand anywhere else.
//
// A pass over a stage is a sequence of moments, numbered from 0 in the order in which they happen
// (attention forward: query, key, value, attend, project). An array is in use from the moment that
// first writes it to the moment that last reads it; arrays that are never in use at once may share
// memory (array_layout.h).

struct Moments {
  int8_t first = 1;
  int8_t last = 0;
  constexpr bool empty() const { return first > last; }
  constexpr bool Overlaps(const Moments& other) const {
    return first <= other.last && other.first <= last;
  }
};

enum class ArrayRole : uint8_t {
  kInput,       // the residual stream that enters
  kInverseRms,  // of the norm before
  kNormed,      // the input after that norm
  kQuery,       // after q/k norm and rotary, as key
  kKey,
  kValue,
  kQueryBefore,  // before q/k norm
  kKeyBefore,
  kQueryInverseRms,
  kKeyInverseRms,
  kAttended,  // attention's output, before the output projection
  kLogSumExp,
  kGate,
  kUp,
  kActivated,  // activation(gate) * up
  kProjected,  // what the stage adds to the residual stream, before norm and multiplier
  kProjectedInverseRms,
  kBranch,  // that after its norm
  kRouterProbabilities,
  kChosenExperts,  // their numbers and weights
  kGathered,       // inputs of the chosen experts
  kProjectedGradient,
  kAttendedGradient,
  kOutputDot,  // attended . its gradient, of each head
  kQueryGradient,
  kKeyGradient,
  kValueGradient,
  kGateGradient,  // at first the gradient of kActivated
  kUpGradient,
  kGatheredGradient,
  kRouterGradient,
  kNormedGradient,  // the fp32 sum of what several matrices give their common input
};
inline constexpr int kArrayRoles = static_cast<int>(ArrayRole::kNormedGradient) + 1;
// "input", "query gradient", ...
std::string_view ToString(ArrayRole role);

// How the numbers of an array are kept.
enum class ArrayType : uint8_t {
  kActivation,  // as the device keeps activations: fp32 or bf16
  kSum,         // fp32 whatever that is: a sum that is rounded once, when it is complete
  kScalar,      // fp32: what a token, head or expert has one of (inverse rms, log-sum-exp, ...)
};

struct ArrayDescription {
  ArrayRole role;
  int64_t width = 0;  // values a token
  ArrayType type = ArrayType::kActivation;
  // Written by forward (or recompute) and read by backward: it lies among the stage's activations
  // where these are kept, and among forward's scratch where they are not.
  bool kept = false;
  // When forward and backward use it. A kept array needs no moments in backward; one without
  // moments in forward is only made where it is kept.
  Moments forward;
  Moments backward;
};
using ArrayDescriptions = absl::InlinedVector<ArrayDescription, 20>;

// To which units of a stage a piece of work belongs.
enum class Spread : uint8_t {
  kOneUnit,  // to `unit`
  kAlike,    // each unit has an equal part (a table's rows)
  kExperts,  // units are experts, each of which has its token-expert pairs
};

// A matrix multiply [tokens, in] x [in, out] with the tensor `weight`. kAlike: one column of `out`
// for each unit.
struct GemmWork {
  TensorRole weight;
  Spread spread = Spread::kOneUnit;
  int64_t unit = 0;
  int64_t out = 0;
  int64_t in = 0;
  int64_t count = 1;
};

// Passes over arrays that are no multiplies. `width` values a token (kExperts: a token-expert pair;
// kAlike: of all units together), each of which forward and backward read or write so many times.
struct ElementWork {
  Spread spread = Spread::kOneUnit;
  int64_t unit = 0;
  int64_t width = 0;
  uint64_t forward = 0;
  uint64_t backward = 0;
};

struct WorkDescription {
  absl::InlinedVector<GemmWork, 8> gemms;
  absl::InlinedVector<ElementWork, 12> elements;
  // Attention over the heads, of `attention_width` channels in all; -1: there is none.
  int64_t attention_unit = -1;
  int64_t attention_width = 0;
  int64_t attention_window = 0;
};

// How often each value is read or written, forward and backward.
struct ElementCost {
  uint64_t forward;
  uint64_t backward;
};
// Forward reads and writes; backward reads its input and the gradient and writes one.
inline constexpr ElementCost kNormCost = {2, 3};
inline constexpr ElementCost kRotaryCost = {2, 2};
// Forward reads two and writes one; backward reads gate, up and the gradient and writes both
// gradients and, for the down projection's weight gradient, its output again.
inline constexpr ElementCost kGluCost = {3, 6};
inline constexpr ElementCost kResidualCost = {3, 3};
// A copy that is multiplied with a number.
inline constexpr ElementCost kScaleCost = {2, 2};
inline constexpr ElementCost kGatherCost = {2, 2};
inline constexpr ElementCost kScatterCost = {3, 3};
inline constexpr ElementCost kRouterCost = {2, 3};
inline constexpr ElementCost kLogitsCost = {1, 2};
inline constexpr ElementCost kEmbeddingCost = {2, 3};

}  // namespace horizon

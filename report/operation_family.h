#pragma once

#include <cstdint>
#include <span>

#include "common/documents/enum_words.h"
#include "schedule/operation.h"

namespace horizon {

// What an operation is for, in six families. A page colors operations by family: six hues can be
// told apart at a glance, thirty kinds cannot.
enum class OperationFamily : uint8_t {
  kCopy,       // weights, activations, tokens and losses between host and device
  kForward,    // including the loss, which also computes the first gradients
  kBackward,   // including the forward passes that are run again for it
  kGradient,   // gradients copied to the host, summed, measured and clipped
  kOptimizer,  // updates of weights, and the check of updates
  kHost,       // batches, embedding lookups, packing and reports
};
inline constexpr int kOperationFamilies = static_cast<int>(OperationFamily::kHost) + 1;

// The words are those of the legend: "backward and recompute".
std::span<const EnumWord<OperationFamily>> WordsOf(OperationFamily);

OperationFamily FamilyOf(OperationKind kind);

}  // namespace horizon

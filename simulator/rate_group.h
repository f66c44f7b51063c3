#pragma once

#include <optional>
#include <span>

#include "common/documents/enum_words.h"
#include "schedule/operation.h"

namespace horizon {

// Rates that runs correct together: what operations of a kind reach in a run, beside what they
// reach alone, is one figure of a profile.
enum class RateGroup { kCompute, kCopiesIn, kCopiesOut, kAdam, kNorm, kAccumulate, kPasses };
inline constexpr int kRateGroupCount = 7;
std::span<const EnumWord<RateGroup>> WordsOf(RateGroup);

// Whose rates an operation goes by; none where it is too short to say anything.
std::optional<RateGroup> GroupOf(const Operation& operation);

}  // namespace horizon

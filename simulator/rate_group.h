#pragma once

#include <optional>
#include <span>

#include "common/documents/enum_words.h"
#include "schedule/operation.h"

namespace horizon {

// Groups of operations whose rates are corrected together. For each group a profile has one figure:
// the rate that its operations reach within a run, as a share of the rate they reach alone
// (HardwareProfile::in_runs).
enum class RateGroup { kCompute, kCopiesIn, kCopiesOut, kAdam, kNorm, kAccumulate, kPasses };
inline constexpr int kRateGroupCount = 7;
std::span<const EnumWord<RateGroup>> WordsOf(RateGroup);

// The group of an operation; none for operations that are too short to measure.
std::optional<RateGroup> GroupOf(const Operation& operation);

}  // namespace horizon

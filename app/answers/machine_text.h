#pragma once

#include <cstdint>
#include <string>

#include "simulator/hardware_profile.h"

namespace horizon {

// A machine for people: what it is in a few lines (MachineSummary), how many figures are too far
// apart to be trusted (kNoisySpread), then every figure, one a row, with where it comes from; of
// measured ones also how often and how far apart. `now`: seconds since 1970, for ages.
std::string MachineText(const HardwareProfile& machine, int64_t now);
// Runs of one measurement that are further apart than this share of their median say little.
inline constexpr double kNoisySpread = 0.1;

}  // namespace horizon

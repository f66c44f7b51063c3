#pragma once

#include <string>

#include "simulator/hardware_profile.h"

namespace horizon {

// Every figure of a machine for people, one a row, with where it comes from; of measured ones also
// how often, how far apart, and whether that is too far (kNoisySpread).
std::string MachineText(const HardwareProfile& machine);
// Runs of one measurement that are further apart than this share of their median say little.
inline constexpr double kNoisySpread = 0.25;

// Sizes as the maker prints them: decimal where that is exact, else binary.
std::string MachineBytesText(double bytes);

}  // namespace horizon

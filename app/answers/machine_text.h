#pragma once

#include <cstdint>
#include <string>

#include "common/text/wrap.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// Describes a machine for people: a summary (MachineSummary), the number of noisy figures
// (kNoisySpread), then one row for each figure with its source. A measured figure also has the
// number of measurements and their spread. `now` is in seconds since 1970, for ages. `columns` is
// the width of the terminal, or kAnyWidth.
std::string MachineText(const HardwareProfile& machine, int64_t now, size_t columns = kAnyWidth);
// A figure is noisy when its measurements spread over more than this share of their median.
inline constexpr double kNoisySpread = 0.1;

}  // namespace horizon

#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "simulator/hardware_profile.h"

namespace horizon {

// Describes a machine in a few lines of at most 100 columns: when it was measured, processor,
// usable cores and what limits them, memory and the limit that applies, link, GEMM rates, DRAM,
// disks. Unknown values are left out. `now` is in seconds since 1970.
std::string MachineSummary(const HardwareProfile& machine, int64_t now);

// "HEAD text", wrapped to lines of at most 100 columns; further lines are indented to the text.
std::string WrappedLine(std::string_view head, std::string_view text);

// A size as the manufacturer prints it: in decimal units where that is exact, else in binary ones.
std::string MachineBytesText(double bytes);

}  // namespace horizon

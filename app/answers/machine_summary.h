#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "common/text/wrap.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// Lines of an answer about a machine where it is no terminal that shows it.
inline constexpr size_t kUsualLine = 100;

// Describes a machine in a few lines that fit `columns` columns, of which prose takes no more than
// 120 (kAnyWidth: kUsualLine, and the first line is as long as it needs to be): when it was
// measured, processor, usable cores and what limits them, memory and the limit that applies, link,
// GEMM rates, DRAM, disks. Unknown values are left out. `now` is in seconds since 1970.
std::string MachineSummary(const HardwareProfile& machine, int64_t now, size_t columns = kAnyWidth);

// How wide prose is in an answer of so many columns.
size_t ProseWidth(size_t columns);

// "HEAD text", wrapped to lines of at most `columns` columns; further lines are indented to the
// text.
std::string WrappedLine(std::string_view head, std::string_view text, size_t columns = kUsualLine);

// A size as the manufacturer prints it: in decimal units where that is exact, else in binary ones.
std::string MachineBytesText(double bytes);

}  // namespace horizon

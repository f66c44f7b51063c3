#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "simulator/hardware_profile.h"

namespace horizon {

// What a machine is in a few lines of at most 100 columns: when it was measured (`now`: seconds
// since 1970), processor, cores that can be used and why not more, memory and the limit that binds,
// link, products, DRAM, disks. What is not known is left out.
std::string MachineSummary(const HardwareProfile& machine, int64_t now);

// "HEAD text" in lines of at most 100 columns, the further ones indented to the text.
std::string WrappedLine(std::string_view head, std::string_view text);

// Sizes as the maker prints them: decimal where that is exact, else binary.
std::string MachineBytesText(double bytes);

}  // namespace horizon

#pragma once

#include <string_view>

#include "common/units.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// The machine with another bandwidth of host memory: the highest rate of its DRAM curve becomes
// `rate`, above zero (CHECK). Everything that reads and writes host memory is scaled by the same
// factor, so that what was bound by DRAM still is: AdamW in every state format, pack, accumulate,
// norm and, where the host itself is the device, its memory and its copies. If a rate of the
// profile would update or pack more bytes than DRAM carries, it is cut to what DRAM carries. GEMMs,
// cores, memory sizes and the link of a GPU stay.
//
// For example, 300 GB/s for a desktop of 66.56 GB/s whose AdamW (fp32) updates 1.92e9 parameters/s,
// 26 bytes each: 4.5 x both, 8.65e9 parameters/s, which is 0.75 of DRAM as before.
//
// Changed figures have the origin "assumed"; their source has `because` ("given on the command
// line"), the factor, and the source of the original figure.
HardwareProfile WithDram(HardwareProfile machine, BytesPerSecond rate, std::string_view because);

}  // namespace horizon

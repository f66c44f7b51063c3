#pragma once

#include <rapidcheck.h>

#include "simulator/hardware_profile.h"

namespace horizon {

// A machine with round numbers, so that times can be computed in the head. Per nanosecond it does:
//   GEMM            1000 flops in bf16, 100 in fp32, for any shape; attention 500 flops
//   device memory   100 bytes for GEMMs, 50 for element-wise passes; a launch takes 1000 ns
//   link            10 bytes in and 8 out pinned, 5 and 4 pageable, 12 in both directions together;
//                   each copy takes 1000 ns more
//   host            8 cores; DRAM 10 bytes with one thread, 40 with all; packing 5 and 20 bytes
//   Adam            0.1, 0.2, 0.3, 0.4 parameters with one thread, by state format; four times that
//                   with all cores
//   disk            1 byte
HardwareProfile TestProfile();
// The same machine as device `host`, which computes on its own cores.
HardwareProfile HostTestProfile();

// TestProfile() with every figure and curve multiplied by a random factor of its own between 1/20
// and 20 (pageable copies are never faster than pinned ones), and with a random number of cores.
rc::Gen<HardwareProfile> RandomProfile();

}  // namespace horizon

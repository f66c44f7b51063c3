#pragma once

#include <rapidcheck.h>

#include "simulator/hardware_profile.h"

namespace horizon {

// A machine with round numbers, so that times can be worked out in the head. In units a nanosecond:
//   products        1000 flops in bf16, 100 in fp32, whatever their shape; attention 500 flops
//   device memory   100 bytes for products, 50 for element-wise passes; a launch takes 1000 ns
//   link            10 bytes in and 8 out pinned, 5 and 4 pageable, 12 both ways; 1000 ns each copy
//   host            8 cores; DRAM 10 bytes with one thread, 40 with all; packing 5 and 20
//   Adam            parameters with one thread 0.1, 0.2, 0.3, 0.4 by state format, four times that
//                   with all cores
//   disk            1 byte
HardwareProfile TestProfile();
// The same, computing on its own cores.
HardwareProfile HostTestProfile();

// Every figure and curve of TestProfile() times a random factor of its own between 1/20 and 20
// (pageable copies never faster than pinned ones), with a random number of cores.
rc::Gen<HardwareProfile> RandomProfile();

}  // namespace horizon

#pragma once

#include <cstdint>

namespace horizon {

// What tests of CUDA bodies run on is chosen by what they are linked with: a CUDA device, or the
// fake CUDA (tests/fake_cuda).

// Begins anew, with blocks and threads in the order that `seed` gives. A device has its own order
// and ignores it. No array or stream is alive.
void BeginCudaWorld(uint64_t seed);

}  // namespace horizon

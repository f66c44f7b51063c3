#include "tests/kernels/cuda/cuda_world.h"

namespace horizon {

void BeginCudaWorld(uint64_t /*seed*/) {}

}  // namespace horizon

#include "tests/fake_cuda/fake_cuda_control.h"
#include "tests/kernels/cuda/cuda_world.h"

namespace horizon {

void BeginCudaWorld(uint64_t seed) { fake_cuda::Reset({.seed = seed}); }

}  // namespace horizon

// Launches of kernels.
#include <string>
#include <utility>

#include "tests/fake_cuda/fault.h"
#include "tests/fake_cuda/include/fake_cuda_launch.h"
#include "tests/fake_cuda/runtime.h"
#include "tests/fake_cuda/thread_block.h"

namespace fake_cuda {
namespace {

constexpr unsigned kMostThreads = 1024;
constexpr int kSharedWithoutOptIn = 48 << 10;

bool IsPossible(const KernelLaunch& launch) {
  const dim3& grid = launch.grid;
  const dim3& block = launch.block;
  const auto positive = [](const dim3& size) { return size.x > 0 && size.y > 0 && size.z > 0; };
  return positive(grid) && positive(block) && grid.x <= 2147483647u && grid.y <= 65535u &&
         grid.z <= 65535u && block.x <= kMostThreads && block.y <= kMostThreads && block.z <= 64u &&
         uint64_t{block.x} * block.y * block.z <= kMostThreads;
}

std::string NameOf(const KernelLaunch& launch) {
  return std::string("the kernel launched at ") + launch.where.file + ":" +
         std::to_string(launch.where.line);
}

// Null is fine: a kernel may have optional arrays.
void CheckPointers(const Runtime& runtime, const KernelLaunch& launch) {
  for (const void* pointer : launch.pointers) {
    if (pointer == nullptr || runtime.heap.Contains(pointer, 0)) continue;
    Fault(NameOf(launch) + " is given a pointer to " + runtime.heap.Describe(pointer));
  }
}

// The dynamic shared memory that a launch of the kernel may ask for on the current device.
int SharedLimit(const Runtime& runtime, const void* kernel) {
  const auto found = runtime.shared_limits.find({CurrentDevice(), kernel});
  return found == runtime.shared_limits.end() ? kSharedWithoutOptIn : found->second;
}

cudaError_t TryEnqueue(Runtime& runtime, KernelLaunch launch, CUstream_st* stream) {
  CUstream_st* found = FindStream(runtime, stream);
  if (found == nullptr) return cudaErrorInvalidResourceHandle;
  if (!IsPossible(launch)) return cudaErrorInvalidConfiguration;
  if (std::cmp_greater(launch.dynamic_shared_bytes, SharedLimit(runtime, launch.kernel))) {
    return cudaErrorInvalidValue;
  }
  const Device& device = runtime.options.devices[static_cast<size_t>(CurrentDevice())];
  if (!device.has_kernel_image) return cudaErrorNoKernelImageForDevice;
  launch.capability = device.major;
  CheckPointers(runtime, launch);
  const double blocks = static_cast<double>(launch.grid.x) * launch.grid.y * launch.grid.z;
  Work work{.what = NameOf(launch) + " on stream " + std::to_string(found->number),
            .milliseconds = 0.005 + 0.0001 * blocks};
  work.run = [&runtime, launch = std::move(launch)] {
    CheckPointers(runtime, launch);
    RunGrid(launch, runtime.random);
  };
  Push(runtime, *found, std::move(work));
  return cudaSuccess;
}

}  // namespace

void Enqueue(KernelLaunch launch, CUstream_st* stream) {
  const Call call;
  if (call.refused()) {
    call.Refusal();
    return;
  }
  call.Return(TryEnqueue(call.runtime(), std::move(launch), stream));
}

}  // namespace fake_cuda

cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
  const fake_cuda::Call call;
  if (call.refused()) return call.Refusal();
  if (kernel == nullptr) return call.Return(cudaErrorInvalidDeviceFunction);
  const fake_cuda::Device& device =
      call.runtime().options.devices[static_cast<size_t>(fake_cuda::CurrentDevice())];
  if (!device.has_kernel_image) return call.Return(cudaErrorNoKernelImageForDevice);
  *attributes = {.maxThreadsPerBlock = 1024,
                 .ptxVersion = device.major * 10 + device.minor,
                 .binaryVersion = device.major * 10 + device.minor,
                 .maxDynamicSharedSizeBytes = fake_cuda::SharedLimit(call.runtime(), kernel)};
  return cudaSuccess;
}

// Static shared memory, which counts too, is not known here.
cudaError_t cudaFuncSetAttribute(const void* kernel, cudaFuncAttribute attribute, int value) {
  const fake_cuda::Call call;
  if (call.refused()) return call.Refusal();
  if (kernel == nullptr) return call.Return(cudaErrorInvalidDeviceFunction);
  const int device = fake_cuda::CurrentDevice();
  const fake_cuda::Device& played = call.runtime().options.devices[static_cast<size_t>(device)];
  if (!played.has_kernel_image) return call.Return(cudaErrorNoKernelImageForDevice);
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize || value < 0 ||
      value > played.most_shared_bytes) {
    return call.Return(cudaErrorInvalidValue);
  }
  call.runtime().shared_limits[{device, kernel}] = value;
  return cudaSuccess;
}

// Devices and errors.
#include <cstdio>
#include <cstring>
#include <utility>

#include "tests/fake_cuda/runtime.h"

using fake_cuda::Call;
using fake_cuda::Device;
using fake_cuda::Runtime;

namespace {

constexpr int kRegisters = 65536;
constexpr size_t kSharedBytes = size_t{48} << 10;

bool IsDevice(const Runtime& runtime, int device) {
  return device >= 0 && std::cmp_less(device, runtime.options.devices.size());
}

struct ErrorText {
  cudaError_t error;
  const char* name;
  const char* text;
};

// NVIDIA's names; the texts are ours.
constexpr ErrorText kErrors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration",
     "invalid configuration argument"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {cudaErrorECCUncorrectable, "cudaErrorECCUncorrectable", "uncorrectable ECC error encountered"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress",
     "an illegal memory access was encountered"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorNotPermitted, "cudaErrorNotPermitted", "operation not permitted"},
};

const ErrorText& Find(cudaError_t error) {
  static constexpr ErrorText kOther{cudaErrorUnknown, "cudaErrorUnknown", "unknown error"};
  for (const ErrorText& known : kErrors) {
    if (known.error == error) return known;
  }
  return kOther;
}

}  // namespace

const char* cudaGetErrorString(cudaError_t error) { return Find(error).text; }
const char* cudaGetErrorName(cudaError_t error) { return Find(error).name; }

cudaError_t cudaGetLastError() {
  const Call call;
  if (call.refused()) call.Refusal();
  return std::exchange(fake_cuda::LastError(), cudaSuccess);
}

cudaError_t cudaPeekAtLastError() {
  const Call call;
  return call.refused() ? call.Refusal() : fake_cuda::LastError();
}

cudaError_t cudaGetDeviceCount(int* count) {
  const Call call;
  *count = 0;
  if (call.refused()) return call.Refusal();
  if (call.runtime().options.devices.empty()) return call.Return(cudaErrorNoDevice);
  *count = static_cast<int>(call.runtime().options.devices.size());
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* device) {
  const Call call;
  if (call.refused()) return call.Refusal();
  *device = fake_cuda::CurrentDevice();
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int device) {
  const Call call;
  if (call.refused()) return call.Refusal();
  if (!IsDevice(call.runtime(), device)) return call.Return(cudaErrorInvalidDevice);
  fake_cuda::CurrentDevice() = device;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  const Call call;
  if (call.refused()) return call.Refusal();
  if (!IsDevice(call.runtime(), device)) return call.Return(cudaErrorInvalidDevice);
  const Device& played = call.runtime().options.devices[static_cast<size_t>(device)];
  *properties = {};
  std::snprintf(properties->name, sizeof(properties->name), "%s", played.name.c_str());
  properties->uuid.bytes[0] = static_cast<char>(device);
  properties->totalGlobalMem = played.memory_bytes;
  properties->sharedMemPerBlock = kSharedBytes;
  properties->regsPerBlock = properties->regsPerMultiprocessor = kRegisters;
  properties->warpSize = 32;
  properties->maxThreadsPerBlock = 1024;
  properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = 1024;
  properties->maxThreadsDim[2] = 64;
  properties->maxGridSize[0] = 2147483647;
  properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
  properties->major = played.major;
  properties->minor = played.minor;
  properties->multiProcessorCount = played.multiprocessors;
  properties->canMapHostMemory = 1;
  properties->pciBusID = device + 1;
  properties->asyncEngineCount = 2;
  properties->memoryBusWidth = 384;
  properties->l2CacheSize = 4 << 20;
  properties->sharedMemPerBlockOptin = static_cast<size_t>(played.most_shared_bytes);
  properties->sharedMemPerMultiprocessor = properties->sharedMemPerBlockOptin + 1024;
  return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  cudaDeviceProp properties{};
  const cudaError_t error = cudaGetDeviceProperties(&properties, device);
  if (error != cudaSuccess) return error;
  switch (attribute) {
    case cudaDevAttrMaxThreadsPerBlock:
      *value = properties.maxThreadsPerBlock;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlock:
      *value = static_cast<int>(kSharedBytes);
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(properties.sharedMemPerBlockOptin);
      break;
    case cudaDevAttrWarpSize:
      *value = properties.warpSize;
      break;
    case cudaDevAttrMaxRegistersPerBlock:
      *value = properties.regsPerBlock;
      break;
    case cudaDevAttrMultiProcessorCount:
      *value = properties.multiProcessorCount;
      break;
    case cudaDevAttrIntegrated:
      *value = properties.integrated;
      break;
    case cudaDevAttrCanMapHostMemory:
      *value = properties.canMapHostMemory;
      break;
    case cudaDevAttrEccEnabled:
      *value = properties.ECCEnabled;
      break;
    case cudaDevAttrPciBusId:
      *value = properties.pciBusID;
      break;
    case cudaDevAttrPciDeviceId:
      *value = properties.pciDeviceID;
      break;
    case cudaDevAttrPciDomainId:
      *value = properties.pciDomainID;
      break;
    case cudaDevAttrAsyncEngineCount:
      *value = properties.asyncEngineCount;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = properties.major;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = properties.minor;
      break;
    case cudaDevAttrHostRegisterSupported:
      *value = 1;
      break;
  }
  return cudaSuccess;
}

// Both versions are known even where the driver is too old or missing, as NVIDIA's are.
cudaError_t cudaDriverGetVersion(int* version) {
  const Call call;
  const bool without_driver = call.runtime().options.driver != cudaSuccess;
  if (call.refused() && !without_driver) return call.Refusal();
  *version = call.runtime().options.driver_version;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) {
  const Call call;
  const bool without_driver = call.runtime().options.driver != cudaSuccess;
  if (call.refused() && !without_driver) return call.Refusal();
  *version = call.runtime().options.runtime_version;
  return cudaSuccess;
}

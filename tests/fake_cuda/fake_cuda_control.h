// What tests set and ask of the fake CUDA; the code under test never includes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/fake_cuda/include/cuda_runtime_api.h"

namespace fake_cuda {

struct Device {
  std::string name = "Fake GPU";
  uint64_t memory_bytes = uint64_t{1} << 30;
  uint64_t memory_of_others_bytes = 0;  // taken by other programs
  int major = 8;
  int minor = 0;
  int multiprocessors = 4;
  bool has_kernel_image = true;  // false: our kernels were not built for it
};

struct Options {
  // Everything the fake chooses (order of streams, blocks, warps, lanes) follows from it.
  uint64_t seed = 1;
  std::vector<Device> devices{Device{}};
  int driver_version = 13000;
  int runtime_version = 13000;
  // Not success: what every call returns, as cudaErrorInsufficientDriver and cudaErrorNoDevice are.
  cudaError_t driver = cudaSuccess;
  // Limits of page-locked memory: of all bytes, of one registration, of how many there are.
  uint64_t most_locked_bytes = ~uint64_t{0};
  uint64_t most_locked_bytes_a_call = ~uint64_t{0};
  uint64_t most_registrations = ~uint64_t{0};
  bool registers = true;      // false: cudaHostRegister is refused, as on some systems
  bool writes_values = true;  // whether the driver has cuStreamWriteValue32
  // What cublasLtMatmulAlgoCheck says of an algorithm and sizes it was not chosen for: whether it
  // serves them, and the least workspace it reports then.
  bool algorithms_serve_other_sizes = true;
  uint64_t other_sizes_workspace_bytes = 0;
};

// Forgets all that was, what leaked too, and begins anew. Nothing of the fake is in use.
void Reset(const Options& options = {});

enum class Again {
  kOnce,   // the call fails, later ones do not
  kSticky  // that call and all later ones: the context is lost
};
// The call-th call from now (1 is the next) fails with the error and does nothing; calls that
// release (cudaFree, cudaStreamDestroy, ...) release all the same. A call count of 0 takes it back.
void FailCall(uint64_t call, cudaError_t error, Again again);
// The piece-th piece of work (kernel, copy, memset, product) from now fails when its turn comes:
// nothing runs any more, the call that waits and all later ones return the error.
void FailWork(uint64_t piece, cudaError_t error);
// Whether the failure asked for last has happened.
bool HasFailed();

// Since Reset: calls that may fail, pieces of work done.
uint64_t CallCount();
uint64_t WorkCount();

// What was made and not given back, one line each: device memory, registrations, streams, events,
// handles.
std::vector<std::string> Leaks();

// Faults of use end the process, unless they are collected. Setting it forgets those kept.
void CollectFaults(bool collect);
std::vector<std::string> TakeFaults();

// For tests of kernels: device memory read and written from outside, all work done first.
void WriteDevice(void* device, const void* host, uint64_t bytes);
void ReadDevice(void* host, const void* device, uint64_t bytes);

}  // namespace fake_cuda

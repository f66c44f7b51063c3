// The interface for tests of the fake CUDA: it configures devices, makes calls fail, and returns
// counts, leaks and faults. The code under test never includes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tests/fake_cuda/include/cuda_runtime_api.h"

namespace fake_cuda {

struct Device {
  std::string name = "Fake GPU";
  uint64_t memory_bytes = uint64_t{1} << 30;
  uint64_t memory_of_others_bytes = 0;  // used by other programs
  int major = 8;
  int minor = 0;
  int multiprocessors = 4;
  // The most shared memory of a thread block that a kernel may ask for: 163 KiB as sm_80 has it
  // (sm_75 64, sm_86, sm_89 and sm_120 99, sm_90 and sm_100 227).
  int most_shared_bytes = 163 << 10;
  bool has_kernel_image = true;  // false: our kernels were not built for it
};

struct Options {
  // Determines everything the fake chooses at random: the order of streams, thread blocks, warps
  // and warp lanes.
  uint64_t seed = 1;
  std::vector<Device> devices{Device{}};
  int driver_version = 13000;
  int runtime_version = 13000;
  // If not cudaSuccess, every call returns this error, as calls do with cudaErrorInsufficientDriver
  // and cudaErrorNoDevice.
  cudaError_t driver = cudaSuccess;
  // Limits of page-locked memory: total bytes, bytes of one registration, number of registrations.
  uint64_t most_locked_bytes = ~uint64_t{0};
  uint64_t most_locked_bytes_a_call = ~uint64_t{0};
  uint64_t most_registrations = ~uint64_t{0};
  bool registers = true;      // false: cudaHostRegister is refused, as on some systems
  bool writes_values = true;  // whether the driver has cuStreamWriteValue32
  // How cublasLtMatmulAlgoCheck answers for sizes that an algorithm was not chosen for: whether the
  // algorithm serves them, and the least workspace that it reports for them.
  bool algorithms_serve_other_sizes = true;
  uint64_t other_sizes_workspace_bytes = 0;
};

// Starts anew with these options and drops all earlier state, leaked resources included. No call of
// the fake may be under way, and no handle of it may be used afterwards.
void Reset(const Options& options = {});

// Whether calls after a failed one fail too.
enum class Persistence {
  kOnce,   // only that call fails
  kSticky  // that call and all later ones fail: the context is lost
};
// Makes the call-th call from now (1 is the next one) fail with the error and do nothing. Calls
// that release something (cudaFree, cudaStreamDestroy, ...) release it all the same. `call` 0
// cancels the failure.
void FailCall(uint64_t call, cudaError_t error, Persistence persistence);
// Makes the piece-th piece of work (kernel, copy, memset, GEMM) from now fail when it would run.
// Nothing runs after it; the call that waits for it and all later calls return the error.
void FailWork(uint64_t piece, cudaError_t error);
// Whether the failure that was requested last has happened.
bool HasFailed();

// Counts since Reset: calls that may fail, and pieces of work that have run.
uint64_t CallCount();
uint64_t WorkCount();

// Counts the bank conflicts of shared memory from now on, or stops counting. Both finish all work
// first. An access is what the threads of a warp do together; a conflict is one pass more than it
// takes without. Atomics are not counted. README.md says what counts as together.
struct BankConflicts {
  uint64_t accesses = 0;
  uint64_t conflicts = 0;
  std::string first;  // what the first access with a conflict was, and of which thread
};
void CountBankConflicts(bool count);
// Returns what was counted and begins again at zero.
BankConflicts TakeBankConflicts();

// Resources that were created and not released, one line each: device memory, registrations,
// streams, events, handles.
std::vector<std::string> Leaks();

// A fault (an incorrect use of CUDA) ends the process unless faults are collected. CollectFaults
// clears the collected faults; TakeFaults returns and clears them.
void CollectFaults(bool collect);
std::vector<std::string> TakeFaults();

// Copy to and from device memory for tests of kernels. They finish all work first.
void WriteDevice(void* device, const void* host, uint64_t bytes);
void ReadDevice(void* host, const void* device, uint64_t bytes);

}  // namespace fake_cuda

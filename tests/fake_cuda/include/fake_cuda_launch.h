// Launches a kernel without <<<>>>. Launch copies the kernel's arguments at once; the threads run
// later, when a call that waits needs their results.
#pragma once

#include <functional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "cuda_runtime_api.h"
#include "fake_cuda_intrinsics.h"

namespace fake_cuda {

// A place in the sources, like std::source_location, which clang-tidy 14 does not know.
struct CodePlace {
  const char* file = "";
  unsigned line = 0;
  const char* function = "";
  static constexpr CodePlace Current(const char* file = __builtin_FILE(),
                                     unsigned line = __builtin_LINE(),
                                     const char* function = __builtin_FUNCTION()) {
    return {file, line, function};
  }
};

struct KernelLaunch {
  dim3 grid;
  dim3 block;
  unsigned dynamic_shared_bytes = 0;
  const void* kernel = nullptr;       // for its attributes
  int capability = 0;                 // of the device, its major number; Enqueue sets it
  CodePlace where;                    // for messages
  std::function<void()> thread;       // runs one thread; threadIdx and blockIdx are set
  std::vector<const void*> pointers;  // those among the arguments; none may point to host memory
};

// Appends the launch to the stream's queue. Like every runtime call it is counted, can be made to
// fail, and leaves its error for cudaGetLastError.
void Enqueue(KernelLaunch launch, CUstream_st* stream);

// Appends `argument` if it is a pointer. Pointers inside structs are not found.
template <typename T>
void AddPointers(const T& argument, std::vector<const void*>& pointers) {
  if constexpr (std::is_pointer_v<T>) pointers.push_back(argument);
}

template <typename... Parameters, typename... Arguments>
void Launch(void (*kernel)(Parameters...), dim3 grid, dim3 block, unsigned dynamic_shared_bytes,
            CUstream_st* stream, CodePlace where, Arguments&&... arguments) {
  static_assert(sizeof...(Parameters) == sizeof...(Arguments));
  const std::tuple<Parameters...> copies(std::forward<Arguments>(arguments)...);
  KernelLaunch launch{grid,
                      block,
                      dynamic_shared_bytes,
                      reinterpret_cast<const void*>(kernel),
                      0,
                      where,
                      [kernel, copies] { std::apply(kernel, copies); },
                      {}};
  std::apply([&](const auto&... copy) { (AddPointers(copy, launch.pointers), ...); }, copies);
  Enqueue(std::move(launch), stream);
}

}  // namespace fake_cuda

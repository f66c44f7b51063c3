#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace horizon {

// What a kernel takes of a multiprocessor, as ptxas tells it.
struct KernelUsage {
  std::string kernel;     // its plain name, without namespace and arguments
  std::string signature;  // demangled
  int architecture = 0;   // 80 for sm_80
  int registers = 0;      // of a thread
  int64_t stack_bytes = 0;
  int64_t spill_store_bytes = 0;
  int64_t spill_load_bytes = 0;
  int64_t shared_bytes = 0;  // static, of a block
};

// The kernels of a .usage file (tools/cuda/cuda.bzl), each once an architecture. InvalidArgument
// where the text is not what ptxas writes: a figure that is not found must not pass for zero.
absl::StatusOr<std::vector<KernelUsage>> ParseResourceUsage(std::string_view text);

}  // namespace horizon

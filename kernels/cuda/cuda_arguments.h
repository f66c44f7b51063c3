#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/gradient_out.h"
#include "kernels/arguments/values.h"

namespace horizon {

// What the body of an operation on CUDA asks of its arguments before it launches. All pointers are
// to device memory, which is not looked at. The first thing that is wrong is kept:
//   RETURN_IF_ERROR(CudaArguments(context, "the GLU").Size("count", args.count).status());
class CudaArguments {
 public:
  // Refuses a context without a stream. `operation` outlives this.
  CudaArguments(const KernelContext& context, std::string_view operation);

  // Not negative.
  CudaArguments& Size(std::string_view name, int64_t size);
  // Not null, of any type and of bf16; with `OrNull` null is allowed.
  CudaArguments& Array(std::string_view name, const void* array);
  CudaArguments& Bf16(std::string_view name, ConstValues values);
  CudaArguments& Bf16OrNull(std::string_view name, ConstValues values);
  // Of bf16 and at a multiple of 16 bytes, as products want them.
  CudaArguments& AlignedBf16(std::string_view name, ConstValues values);
  // Either as fp32 sums or leaving as bf16; with `OrFrozen` it may be neither.
  CudaArguments& Gradient(std::string_view name, const GradientOut& gradient);
  CudaArguments& GradientOrFrozen(std::string_view name, const GradientOut& gradient);
  // So much of the device workspace, on a border of 256 bytes; too little is ResourceExhausted.
  CudaArguments& Workspace(uint64_t least_bytes);

  const absl::Status& status() const { return status_; }

 private:
  CudaArguments& Refuse(std::string_view name, std::string_view what);

  const KernelContext& context_;
  std::string_view operation_;
  absl::Status status_;
};

}  // namespace horizon

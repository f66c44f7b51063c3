#pragma once

#include <cstdint>
#include <string_view>

#include "absl/status/status.h"
#include "common/kernel_context.h"
#include "kernels/arguments/gradient_out.h"
#include "kernels/arguments/values.h"

namespace horizon {

// Checks the arguments of a CUDA kernel before its launch, and keeps the first error:
//   RETURN_IF_ERROR(CudaArguments(context, "the GLU")
//                       .Size("count", args.count)
//                       .Bf16("gate", args.gate)
//                       .status());
// Errors are InvalidArgument unless a check says otherwise. All pointers are to device memory; only
// the pointers are checked, the memory is not read.
class CudaArguments {
 public:
  // The context must have a stream. `operation` names the kernel in messages; the text and the
  // context must outlive this object.
  CudaArguments(const KernelContext& context, std::string_view operation);

  // `size` must not be negative.
  CudaArguments& Size(std::string_view name, int64_t size);
  // `size` must be from `least` to `most`, or a multiple of `unit`.
  CudaArguments& InRange(std::string_view name, int64_t size, int64_t least, int64_t most);
  CudaArguments& MultipleOf(std::string_view name, int64_t size, int64_t unit);
  // `array` must not be null. Bf16 also requires bf16 numbers; Bf16OrNull allows null.
  CudaArguments& Array(std::string_view name, const void* array);
  CudaArguments& Bf16(std::string_view name, ConstValues values);
  CudaArguments& Bf16OrNull(std::string_view name, ConstValues values);
  // As Bf16, and the array must begin at a multiple of 16 bytes, as matrix multiplies need it.
  CudaArguments& AlignedBf16(std::string_view name, ConstValues values);
  // `array` must begin at a multiple of 16 bytes; null does.
  CudaArguments& Aligned(std::string_view name, const void* array);
  // Exactly one pointer of `gradient` must be set; GradientOrFrozen also allows none.
  CudaArguments& Gradient(std::string_view name, const GradientOut& gradient);
  CudaArguments& GradientOrFrozen(std::string_view name, const GradientOut& gradient);
  // The context must have `least_bytes` of device workspace, aligned to 256 bytes.
  // ResourceExhausted if it has less. Needs nothing if `least_bytes` is 0.
  CudaArguments& Workspace(uint64_t least_bytes);

  const absl::Status& status() const { return status_; }

 private:
  CudaArguments& Refuse(std::string_view name, std::string_view what);

  const KernelContext& context_;
  std::string_view operation_;
  absl::Status status_;
};

}  // namespace horizon

#include "kernels/cuda/cuda_arguments.h"

#include "common/text/str_cat.h"

namespace horizon {
namespace {

bool IsAt(const void* address, uintptr_t border) {
  return reinterpret_cast<uintptr_t>(address) % border == 0;
}

}  // namespace

CudaArguments::CudaArguments(const KernelContext& context, std::string_view operation)
    : context_(context), operation_(operation) {
  if (context.stream == nullptr) Refuse("the stream", "is missing");
}

CudaArguments& CudaArguments::Refuse(std::string_view name, std::string_view what) {
  if (status_.ok()) {
    status_ = absl::InvalidArgumentError(StrCat(operation_, " on CUDA: ", name, " ", what));
  }
  return *this;
}

CudaArguments& CudaArguments::Size(std::string_view name, int64_t size) {
  return size >= 0 ? *this : Refuse(name, StrCat("is ", size, ", which is negative"));
}

CudaArguments& CudaArguments::InRange(std::string_view name, int64_t size, int64_t least,
                                      int64_t most) {
  if (size >= least && size <= most) return *this;
  return Refuse(name, StrCat("is ", size, ", not from ", least, " to ", most));
}

CudaArguments& CudaArguments::MultipleOf(std::string_view name, int64_t size, int64_t unit) {
  return size % unit == 0 ? *this : Refuse(name, StrCat("is ", size, ", no multiple of ", unit));
}

CudaArguments& CudaArguments::Array(std::string_view name, const void* array) {
  return array != nullptr ? *this : Refuse(name, "is missing");
}

CudaArguments& CudaArguments::Bf16(std::string_view name, ConstValues values) {
  return Array(name, values.data()).Bf16OrNull(name, values);
}

CudaArguments& CudaArguments::Bf16OrNull(std::string_view name, ConstValues values) {
  if (values.data() == nullptr || values.type() == ValueType::kBf16) return *this;
  return Refuse(name, "is fp32; activations and weights are bf16 there");
}

CudaArguments& CudaArguments::AlignedBf16(std::string_view name, ConstValues values) {
  return Bf16(name, values).Aligned(name, values.data());
}

CudaArguments& CudaArguments::Aligned(std::string_view name, const void* array) {
  return IsAt(array, 16) ? *this : Refuse(name, "is not on a border of 16 bytes");
}

CudaArguments& CudaArguments::Gradient(std::string_view name, const GradientOut& gradient) {
  if ((gradient.sum == nullptr) != (gradient.bf16 == nullptr)) return *this;
  return Refuse(name, "has to be either an fp32 sum or a bf16 gradient that leaves");
}

CudaArguments& CudaArguments::GradientOrFrozen(std::string_view name, const GradientOut& gradient) {
  return gradient.is_needed() ? Gradient(name, gradient) : *this;
}

CudaArguments& CudaArguments::Workspace(uint64_t least_bytes) {
  if (!status_.ok() || least_bytes == 0) return *this;
  const size_t bytes = context_.device_workspace.size();
  if (bytes < least_bytes) {
    status_ = absl::ResourceExhaustedError(StrCat(operation_, " on CUDA: needs ", least_bytes,
                                                  " bytes of device workspace; there are ", bytes));
    return *this;
  }
  return IsAt(context_.device_workspace.data(), 256)
             ? *this
             : Refuse("the device workspace", "is not on a border of 256 bytes");
}

}  // namespace horizon

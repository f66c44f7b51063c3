#include "kernels/cuda_arguments.h"

#include "common/str_cat.h"

namespace horizon {

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

CudaArguments& CudaArguments::Gradient(std::string_view name, const GradientOut& gradient) {
  if ((gradient.sum == nullptr) != (gradient.leaving == nullptr)) return *this;
  return Refuse(name, "has to be either an fp32 sum or a bf16 gradient that leaves");
}

CudaArguments& CudaArguments::Workspace(int64_t least_bytes) {
  if (!status_.ok()) return *this;
  const auto bytes = static_cast<int64_t>(context_.device_workspace.size());
  if (bytes < least_bytes) {
    status_ = absl::ResourceExhaustedError(StrCat(operation_, " on CUDA: needs ", least_bytes,
                                                  " bytes of device workspace; there are ", bytes));
    return *this;
  }
  const auto address = reinterpret_cast<uintptr_t>(context_.device_workspace.data());
  return address % 16 == 0 ? *this
                           : Refuse("the device workspace", "is not on a border of 16 bytes");
}

}  // namespace horizon

#include "common/cuda_status.h"
#include "kernels/gemm/cublas_gemm.h"

namespace horizon {

class CublasGemm::Calls {};

CublasGemm::~CublasGemm() = default;

absl::StatusOr<std::unique_ptr<CublasGemm>> CublasGemm::Create() { return NoCudaInBuild(); }

absl::Status CublasGemm::Multiply(const KernelContext& /*context*/, const DeviceGemm& /*gemm*/) {
  return NoCudaInBuild();
}

absl::Status MultiplyOnDevice(const KernelContext& /*context*/, const DeviceGemm& /*gemm*/) {
  return NoCudaInBuild();
}

}  // namespace horizon

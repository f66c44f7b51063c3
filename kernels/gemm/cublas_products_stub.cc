#include "common/cuda_status.h"
#include "kernels/gemm/cublas_products.h"

namespace horizon {

class CublasProducts::Calls {};

CublasProducts::~CublasProducts() = default;

absl::StatusOr<std::unique_ptr<CublasProducts>> CublasProducts::Create() { return NoCudaInBuild(); }

absl::Status CublasProducts::Multiply(const KernelContext& /*context*/,
                                      const Product& /*product*/) {
  return NoCudaInBuild();
}

absl::Status MultiplyOnDevice(const KernelContext& /*context*/, const Product& /*product*/) {
  return NoCudaInBuild();
}

}  // namespace horizon

#include "kernels/cuda_status.h"

#include "common/str_cat.h"

namespace horizon {
namespace {

constexpr int kMemoryAllocation = 2;  // cudaErrorMemoryAllocation

}  // namespace

absl::Status ToStatus(const CudaResult& result, std::string_view what) {
  if (result.code == 0) return absl::OkStatus();
  const std::string message =
      StrCat("cannot ", what, ": ", result.text, " (CUDA error ", result.code, ")");
  if (result.no_device) {
    return absl::UnavailableError(StrCat(message, "; use the host device, or install a driver"));
  }
  if (result.code == kMemoryAllocation) return absl::ResourceExhaustedError(message);
  return absl::InternalError(message);
}

}  // namespace horizon

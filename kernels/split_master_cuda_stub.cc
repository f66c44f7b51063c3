#include "kernels/split_master.h"

namespace horizon {
namespace {

absl::Status NoCuda() {
  return absl::UnavailableError(
      "this build has no CUDA (nvcc was not found, or HORIZON_NO_CUDA=1 was set); use the host "
      "device, or install the CUDA toolkit and build again");
}

}  // namespace

absl::Status SplitMasterCuda(const SplitMasterDevice& /*arrays*/, CUstream_st* /*stream*/) {
  return NoCuda();
}

absl::Status JoinMasterCuda(const SplitMasterDevice& /*arrays*/, CUstream_st* /*stream*/) {
  return NoCuda();
}

}  // namespace horizon

#include "common/cuda_status.h"
#include "common/text/str_cat.h"
#include "kernels/optimizer/split_master.h"
#include "kernels/optimizer/split_master_launch.h"

namespace horizon {
namespace {

absl::Status CheckArrays(const SplitMasterDevice& arrays, const CUstream_st* stream) {
  if (stream == nullptr) {
    return absl::InvalidArgumentError("split master on CUDA: no stream is given");
  }
  if (arrays.first_refused == nullptr ||
      (arrays.count > 0 &&
       (arrays.master == nullptr || arrays.hi == nullptr || arrays.lo == nullptr))) {
    return absl::InvalidArgumentError(
        StrCat("split master on CUDA: an array is missing for ", arrays.count, " elements"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status SplitMasterCuda(const SplitMasterDevice& arrays, CUstream_st* stream) {
  if (absl::Status status = CheckArrays(arrays, stream); !status.ok()) return status;
  return RunOnCuda(StrCat("split ", arrays.count, " masters on the CUDA device"), [&] {
    return LaunchSplitMaster(arrays.master, arrays.hi, arrays.lo, arrays.first_refused,
                             arrays.count, stream);
  });
}

absl::Status JoinMasterCuda(const SplitMasterDevice& arrays, CUstream_st* stream) {
  if (absl::Status status = CheckArrays(arrays, stream); !status.ok()) return status;
  return RunOnCuda(StrCat("join ", arrays.count, " masters on the CUDA device"), [&] {
    return LaunchJoinMaster(arrays.hi, arrays.lo, arrays.master, arrays.first_refused, arrays.count,
                            stream);
  });
}

}  // namespace horizon

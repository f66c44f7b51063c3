#include "tests/runtime/support/run_on_cuda.h"

#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/kernel_table.h"
#include "runtime/device/cuda_device.h"
#include "tests/fake_cuda/fake_cuda_control.h"

namespace horizon {
namespace {

absl::StatusOr<TrainingCaseOutcome> RunWithDeviceContext(RunRequest request) {
  ASSIGN_OR_RETURN(const std::unique_ptr<DeviceContext> context,
                   CudaKernels().make_device_context());
  static RealClock clock;
  request.device = [](Bytes bytes) { return MakeCudaDevice({.capacity = bytes, .clock = &clock}); };
  request.kernels = &CudaKernels();
  request.device_context = context.get();
  return RunTrainingCase(request);
}

}  // namespace

TrainingJob OnCuda(TrainingJob job) {
  job.device = DeviceKind::kCuda;
  job.compute_type = NumberType::kBf16;
  job.activation_type = NumberType::kBf16;
  job.gradient_type = NumberType::kBf16;
  return job;
}

absl::StatusOr<TrainingCaseOutcome> RunOnCuda(RunRequest request, uint64_t seed) {
  fake_cuda::Reset({.seed = seed});
  absl::StatusOr<TrainingCaseOutcome> outcome = RunWithDeviceContext(std::move(request));
  for (const std::string& leak : fake_cuda::Leaks()) {
    return absl::InternalError(StrCat("left behind: ", leak));
  }
  return outcome;
}

}  // namespace horizon

#include "tests/runtime/run_on_cuda.h"

#include <memory>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "kernels/cublas_products.h"
#include "kernels/kernel_table.h"
#include "runtime/device/cuda_device.h"
#include "tests/fake_cuda/fake_cuda_control.h"

namespace horizon {
namespace {

absl::StatusOr<RunOutcome> RunWithProducts(RunRequest request) {
  ASSIGN_OR_RETURN(const std::unique_ptr<CublasProducts> products, CublasProducts::Create());
  static RealClock clock;
  request.device = [](uint64_t bytes) {
    return MakeCudaDevice({.capacity = bytes, .clock = &clock});
  };
  request.kernels = &CudaKernels();
  request.products = products.get();
  return RunTraining(request);
}

}  // namespace

absl::StatusOr<RunOutcome> RunOnCuda(RunRequest request, uint64_t seed) {
  fake_cuda::Reset({.seed = seed});
  absl::StatusOr<RunOutcome> outcome = RunWithProducts(std::move(request));
  for (const std::string& leak : fake_cuda::Leaks()) {
    return absl::InternalError(StrCat("left behind: ", leak));
  }
  return outcome;
}

}  // namespace horizon

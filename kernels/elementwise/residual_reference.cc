#include "kernels/elementwise/residual.h"

namespace horizon {

absl::Status ResidualAddReference(const KernelContext&, const ResidualAdd& args) {
  for (int64_t i = 0; i < args.count; ++i) {
    double sum = double{args.scale} * args.branch[i];
    if (args.residual != nullptr) sum += args.residual[i];
    args.output[i] = static_cast<float>(sum);
  }
  return absl::OkStatus();
}

}  // namespace horizon

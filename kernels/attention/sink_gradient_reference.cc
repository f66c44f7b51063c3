#include <cmath>

#include "kernels/attention/sink_gradient.h"
#include "kernels/host/reference_math.h"

namespace horizon {

absl::Status SinkGradientReference(const KernelContext& context, const SinkGradient& args) {
  for (int64_t head = 0; head < args.heads; ++head) {
    double sum = 0;
    for (int64_t token = 0; token < args.tokens; ++token) {
      const int64_t entry = token * args.heads + head;
      sum -= std::exp(double{args.sinks[head]} - double{args.log_sum_exp[entry]}) *
             double{args.output_dot[entry]};
    }
    ReferenceStoreGradient(args.gradient, head, sum);
  }
  return absl::OkStatus();
}

}  // namespace horizon

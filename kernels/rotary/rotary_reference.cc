#include "kernels/rotary/rotary.h"

namespace horizon {

absl::Status ApplyRotaryReference(const KernelContext&, const ApplyRotary& args) {
  const int64_t half = args.rotary_dim / 2;
  for (int64_t t = 0; t < args.tokens; ++t) {
    const float* angles = args.table + int64_t{args.records[t].position} * 2 * half;
    for (int64_t h = 0; h < args.heads; ++h) {
      float* head = args.x + (t * args.heads + h) * args.head_dim;
      for (int64_t i = 0; i < half; ++i) {
        const double cosine = angles[i];
        const double sine =
            (args.direction == RotaryDirection::kForward ? 1.0 : -1.0) * angles[half + i];
        const double one = head[i];
        const double other = head[half + i];
        head[i] = static_cast<float>(one * cosine - other * sine);
        head[half + i] = static_cast<float>(other * cosine + one * sine);
      }
    }
  }
  return absl::OkStatus();
}

}  // namespace horizon

#include <cmath>

#include "common/text/str_cat.h"
#include "kernels/optimizer/adam.h"

namespace horizon {

AdamConstants AdamConstantsOf(const AdamSettings& settings) {
  const auto step = static_cast<double>(settings.step);
  const double correction1 = 1.0 - std::pow(settings.beta1, step);
  const double correction2 = 1.0 - std::pow(settings.beta2, step);
  return {
      .rate = static_cast<float>(settings.learning_rate / correction1),
      .keep = static_cast<float>(1.0 - settings.learning_rate * settings.weight_decay),
      .one_minus_beta1 = static_cast<float>(1.0 - settings.beta1),
      .beta2 = static_cast<float>(settings.beta2),
      .one_minus_beta2 = static_cast<float>(1.0 - settings.beta2),
      .inverse_root_correction2 = static_cast<float>(1.0 / std::sqrt(correction2)),
      .epsilon = static_cast<float>(settings.epsilon),
  };
}

absl::Status RefusedUpdate(uint64_t parameter) {
  return absl::OutOfRangeError(
      StrCat("Adam: parameter ", parameter, " would not be finite as bf16"));
}

}  // namespace horizon

#pragma once

#include <cstdint>

#include "kernels/arguments/gradient_out.h"

namespace horizon {

// Stores rows of finished fp32 sums as the gradient of a matrix, as GradientOut says. The host
// kernel of the weight gradient calls it for each tile.
struct GradientRows {
  GradientOut gradient;         // from the first of these rows on
  int64_t gradient_stride = 0;  // elements from one row of the gradient to the next
  const float* sums = nullptr;  // [rows, columns]
  int64_t rows = 0;
  int64_t columns = 0;
};
void StoreGradientRows(const GradientRows& rows);

}  // namespace horizon

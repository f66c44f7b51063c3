#pragma once

#include <cstdint>

#include "kernels/arguments/gradient_out.h"

namespace horizon {

// Rows of finished fp32 sums on their way into the gradient of a matrix.
struct GradientRows {
  GradientOut gradient;         // of the first row
  int64_t gradient_stride = 0;  // elements from one row to the next
  const float* sums = nullptr;  // [rows, columns]
  int64_t rows = 0;
  int64_t columns = 0;
};
void StoreGradientRows(const GradientRows& rows);

}  // namespace horizon

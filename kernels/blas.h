#pragma once

#include <cstdint>

#include "kernels/transposed.h"

namespace horizon {

// C = alpha op(A) op(B) + beta C, row-major, fp32, on the calling thread alone: one tile of a
// larger product. beta is 0 (C is written, whatever it held) or 1.
struct BlasTile {
  Transposed a_transposed = Transposed::kNo;
  Transposed b_transposed = Transposed::kNo;
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  float alpha = 1.0f;
  const float* a = nullptr;
  int64_t a_stride = 0;
  const float* b = nullptr;
  int64_t b_stride = 0;
  float beta = 0.0f;
  float* c = nullptr;
  int64_t c_stride = 0;
};
void MultiplyTile(const BlasTile& tile);

}  // namespace horizon

#include "kernels/blas.h"

#include <cblas.h>

namespace horizon {
namespace {

// OpenBLAS would use threads of its own, and give other bits with them.
void UseOneThread() {
  [[maybe_unused]] static const bool once = [] {
    openblas_set_num_threads(1);
    return true;
  }();
}

}  // namespace

void MultiplyTile(const BlasTile& tile) {
  UseOneThread();
  cblas_sgemm(CblasRowMajor, tile.a_transposed == Transposed::kYes ? CblasTrans : CblasNoTrans,
              tile.b_transposed == Transposed::kYes ? CblasTrans : CblasNoTrans,
              static_cast<int>(tile.m), static_cast<int>(tile.n), static_cast<int>(tile.k),
              tile.alpha, tile.a, static_cast<int>(tile.a_stride), tile.b,
              static_cast<int>(tile.b_stride), tile.beta, tile.c, static_cast<int>(tile.c_stride));
}

}  // namespace horizon

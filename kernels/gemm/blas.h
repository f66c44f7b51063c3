#pragma once

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "kernels/gemm/transposed.h"

namespace horizon {

// The permission to call MultiplyTile on up to `threads` threads at once, until it dies:
//
//   ASSIGN_OR_RETURN(const BlasLease lease, BlasLease::Take(context.workers->count()));
//   context.workers->Run(pieces, [&](int64_t piece, int worker) { MultiplyTile(...); });
//
// The first lease loads OpenBLAS, so commands that do not compute never do. OpenBLAS maps a buffer
// of 128 MiB for each thread that calls it, and where a limit on address space (ulimit -v, ulimit
// -d) refuses the mapping it tries again for ever. A lease therefore has the buffers mapped before
// any call: a limit that is too small is an error here, at once. Any thread.
class BlasLease {
 public:
  // Unavailable when the library is not installed, ResourceExhausted when its buffers cannot be
  // mapped. Cheap once as many threads had leases before.
  static absl::StatusOr<BlasLease> Take(int threads);
  BlasLease(BlasLease&& other) noexcept : threads_(std::exchange(other.threads_, 0)) {}
  BlasLease& operator=(BlasLease&&) = delete;
  ~BlasLease();

 private:
  explicit BlasLease(int threads) : threads_(threads) {}
  int threads_;
};

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
// Under a BlasLease.
void MultiplyTile(const BlasTile& tile);

}  // namespace horizon

#pragma once

#include <cstdint>
#include <utility>

#include "absl/status/statusor.h"
#include "kernels/gemm/transposed.h"

namespace horizon {

// Permission to call MultiplyTile on up to `threads` threads at once, for as long as the lease
// lives:
//
//   ASSIGN_OR_RETURN(const BlasLease lease, BlasLease::Take(context.workers->count()));
//   context.workers->Run(pieces, [&](int64_t piece, int worker) { MultiplyTile(...); });
//
// The first lease loads OpenBLAS, so commands that do not compute never load it. OpenBLAS maps a
// buffer of 128 MiB for each thread that calls it, and retries for ever if a limit on address space
// (ulimit -v, ulimit -d) refuses the mapping. Taking a lease therefore maps the buffers before any
// call, so a limit that is too small is an error here, at once. Any thread may take a lease.
class BlasLease {
 public:
  // Unavailable if the library is not installed, ResourceExhausted if its buffers cannot be mapped.
  // Cheap if as many threads have had leases before.
  static absl::StatusOr<BlasLease> Take(int threads);
  BlasLease(BlasLease&& other) noexcept : threads_(std::exchange(other.threads_, 0)) {}
  BlasLease& operator=(BlasLease&&) = delete;
  ~BlasLease();

 private:
  explicit BlasLease(int threads) : threads_(threads) {}
  int threads_;
};

// One tile of a larger matrix multiply: C[m,n] = alpha op(A) op(B) + beta C, row-major, fp32, on
// the calling thread alone. op transposes if `a_transposed` (`b_transposed`). Strides are elements
// from one row to the next, as stored. beta is 0 (C is overwritten, whatever it held) or 1.
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
// The caller holds a BlasLease.
void MultiplyTile(const BlasTile& tile);

}  // namespace horizon

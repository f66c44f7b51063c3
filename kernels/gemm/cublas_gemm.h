#pragma once

#include <cstdint>
#include <memory>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/kernel_context.h"
#include "kernels/arguments/values.h"
#include "kernels/gemm/transposed.h"

struct cublasLtContext;

namespace horizon {

// C[m,n] = alpha A[m,k] B[k,n] + initial + bias, row-major, in device memory, for `batch` matrices
// each that lie a constant step apart. A and B are bf16, C is bf16 or fp32; sums are fp32 and
// rounded once, when C is stored. m, n, batch may be 0; k is at least 1.
//
// Every array begins at a multiple of 16 bytes, and so does each of its rows: strides and batch
// strides are multiples of 8 elements of bf16 and of 4 of fp32.
struct Product {
  int64_t m = 0;
  int64_t n = 0;
  int64_t k = 0;
  int64_t batch = 1;
  Transposed a_transposed = Transposed::kNo;  // kYes: stored as [k,m]
  Transposed b_transposed = Transposed::kNo;  // kYes: stored as [n,k]
  float alpha = 1.0f;
  ConstValues a;
  int64_t a_stride = 0;  // elements from one row to the next, as stored
  int64_t a_batch_stride = 0;
  ConstValues b;
  int64_t b_stride = 0;
  int64_t b_batch_stride = 0;
  Values c;
  int64_t c_stride = 0;
  int64_t c_batch_stride = 0;
  ConstValues initial;  // type and strides of c; c itself to accumulate; null: nothing
  ConstValues bias;     // [n] bf16, added to each row of a bf16 c; null: none
  // > 0: what the algorithm is chosen for in place of m (and of n), as if all arrays were
  // contiguous. So a product of some rows (columns) has the bits those have in the whole: one
  // algorithm takes the sum over k of any element in one order, wherever the element lies. Where
  // cublasLt does not take that algorithm for m and n there is no other way to those bits: the
  // product is refused rather than taken with another one.
  int64_t chosen_for_m = 0;
  int64_t chosen_for_n = 0;
};

// All matrix products on one CUDA device, by cublasLt: the handle, and for every shape there was
// the algorithm it is taken with. It is the DeviceContext of the CUDA kernels. One thread uses it
// at a time, with the device current.
//
// Same bits: an algorithm follows from sizes, types and strides alone. It is chosen as if arrays
// were aligned to 16 bytes and no more, with a workspace of kGemmWorkspaceBytes, and never sums
// over k in parts that meet in an order of their own (no split-K). alpha, initial and the values
// play no part.
class CublasGemm final : public DeviceContext {
 public:
  // Unavailable where the library or the device is missing, or the build has no CUDA.
  static absl::StatusOr<std::unique_ptr<CublasGemm>> Create();
  ~CublasGemm() override;

  // Puts the product on the context's stream and does not wait. The first of a shape asks cublasLt
  // for its algorithm, or whether it takes the one chosen for other sizes; later ones allocate
  // nothing. InvalidArgument for sizes, types, strides or pointers beyond the contract, Unavailable
  // where the device has no such product or not the algorithm for its sizes.
  absl::Status Multiply(const KernelContext& context, const Product& product);

 private:
  struct Key;
  struct Call;
  class Calls;

  CublasGemm(cublasLtContext* handle, std::unique_ptr<Calls> calls);
  absl::StatusOr<Call*> CallOf(const Key& key, const Key& chosen_for);

  cublasLtContext* handle_;
  std::unique_ptr<Calls> calls_;
};

// The product by context.device_context; FailedPrecondition when that is none of a CUDA device.
absl::Status MultiplyOnDevice(const KernelContext& context, const Product& product);

}  // namespace horizon

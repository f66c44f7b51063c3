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

// A matrix multiply of cublasLt: C[m,n] = alpha A[m,k] B[k,n] + initial + bias, row-major, in
// device memory, for a batch of matrices at a constant distance (strided batch). A and B are bf16,
// C is bf16 or fp32. Sums are fp32 and rounded once, when C is stored. m, n and batch may be 0; k
// is at least 1. (The kernel that the runtime calls is Gemm in gemm.h, which is made of these.)
//
// Every array and each of its rows begins at a multiple of 16 bytes: strides and batch strides are
// multiples of 8 elements of bf16 and of 4 elements of fp32.
struct DeviceGemm {
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
  ConstValues initial;  // has the type and strides of c; c itself to accumulate; null: 0
  ConstValues bias;     // [n] bf16, added to each row of a bf16 c; null: none
  // If > 0, the algorithm is chosen for this m (n) instead of the real one, as if all arrays were
  // contiguous. So a multiply of some of the rows (columns) of a matrix gives the bits that they
  // have in the multiply of all: an algorithm sums over k in one order for every element, wherever
  // it is. If cublasLt does not accept that algorithm for the real m and n, the multiply fails,
  // because another algorithm could give other bits.
  int64_t chosen_for_m = 0;
  int64_t chosen_for_n = 0;
};

// All matrix multiplies on one CUDA device, by cublasLt. It holds the handle of the library, and
// the algorithm of every shape that has occurred. It is the DeviceContext of the CUDA kernels. Only
// one thread may use it at a time, with the device current.
//
// The same multiply always gives the same bits, because the algorithm depends on sizes, types and
// strides alone. It is chosen as if arrays were aligned to 16 bytes and no more, with a workspace
// of kGemmWorkspaceBytes, and never splits the sum over k into parts that are added in an order of
// their own (no split-K). alpha, initial and the values do not influence the choice.
class CublasGemm final : public DeviceContext {
 public:
  // Unavailable if the library or the device is missing, or the build has no CUDA.
  static absl::StatusOr<std::unique_ptr<CublasGemm>> Create();
  ~CublasGemm() override;

  // Puts the multiply on the context's stream and does not wait for it. The first multiply of a
  // shape asks cublasLt for the algorithm, or whether it accepts the one chosen for other sizes;
  // later ones allocate nothing. InvalidArgument for sizes, types, strides or pointers outside the
  // contract of DeviceGemm. Unavailable if the device does not support such a multiply, or not with
  // the algorithm that was chosen for other sizes.
  absl::Status Multiply(const KernelContext& context, const DeviceGemm& gemm);

 private:
  struct Key;
  struct Call;
  class Calls;

  CublasGemm(cublasLtContext* handle, std::unique_ptr<Calls> calls);
  absl::StatusOr<Call*> CallOf(const Key& key, const Key& chosen_for);

  cublasLtContext* handle_;
  std::unique_ptr<Calls> calls_;
};

// Multiplies with context.device_context, which must be a CublasGemm; otherwise FailedPrecondition.
absl::Status MultiplyOnDevice(const KernelContext& context, const DeviceGemm& gemm);

}  // namespace horizon

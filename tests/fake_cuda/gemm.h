#pragma once

#include <cstdint>
#include <string>

#include "tests/fake_cuda/include/cublasLt.h"

namespace fake_cuda {

// The GEMMs of the fake cublasLt: their descriptions, which the opaque structures of cublasLt hold
// here, their checks and their computation.

// A matrix layout.
struct Matrix {
  cudaDataType_t type = CUDA_R_32F;
  int32_t order = CUBLASLT_ORDER_COL;
  uint64_t rows = 0;
  uint64_t cols = 0;
  int64_t ld = 0;
  int32_t batch_count = 1;
  int64_t batch_stride = 0;  // elements
};

struct Operation {
  int32_t compute = CUBLAS_COMPUTE_32F;
  int32_t scale = CUDA_R_32F;
  int32_t pointer_mode = CUBLASLT_POINTER_MODE_HOST;
  int32_t transpose_a = CUBLAS_OP_N;
  int32_t transpose_b = CUBLAS_OP_N;
  uint32_t epilogue = CUBLASLT_EPILOGUE_DEFAULT;
  int32_t bias_type = -1;  // -1: the type of D
  const void* bias = nullptr;
};

struct Preference {
  uint64_t workspace_bytes = 0;
  uint32_t reduction_schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint32_t alignments[4] = {256, 256, 256, 256};  // of A, B, C, D
};

// A GEMM with everything that determines its result. All pointers are to device memory.
struct Gemm {
  Operation operation;
  Matrix a, b, c, d;
  const void* a_data = nullptr;
  const void* b_data = nullptr;
  const void* c_data = nullptr;  // read when beta is not 0
  void* d_data = nullptr;
  float alpha = 1;
  float beta = 0;
};

uint64_t ElementBytes(cudaDataType_t type);
// The bytes from the first element to the end of the last one, over the whole batch.
uint64_t SpanBytes(const Matrix& matrix);
// Whether two matrices share a byte. Disjoint parts of one larger matrix, side by side, do not.
bool Overlap(const Matrix& a, const void* a_data, const Matrix& b, const void* b_data);
// Returns the error that cublasLt returns for sizes, types, leading dimensions and batches that do
// not go together.
cublasStatus_t CheckGemm(const Operation& operation, const Matrix& a, const Matrix& b,
                         const Matrix& c, const Matrix& d);
// Computes D. Each output is an fp32 sum over k = 0, 1, ... in parts of `k_step`; then alpha, beta
// and bias are applied, and the result is rounded once. Returns what is wrong with the operands (an
// element that nobody wrote), or "".
std::string RunGemm(const Gemm& gemm, uint64_t k_step);

}  // namespace fake_cuda

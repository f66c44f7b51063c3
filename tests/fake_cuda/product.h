#pragma once

#include <cstdint>
#include <string>

#include "tests/fake_cuda/include/cublasLt.h"

namespace fake_cuda {

// What the opaque structures of cublasLt hold here.
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
  int32_t bias_type = -1;  // of D
  const void* bias = nullptr;
};

struct Preference {
  uint64_t workspace_bytes = 0;
  uint32_t reduction_schemes = CUBLASLT_REDUCTION_SCHEME_MASK;
  uint32_t alignments[4] = {256, 256, 256, 256};  // of A, B, C, D
};

// A product with all that decides it. Pointers are of device memory.
struct Product {
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
// From the first element to behind the last one, over the whole batch.
uint64_t SpanBytes(const Matrix& matrix);
// Whether they have a byte in common; parts of one larger matrix, side by side, have none.
bool Overlap(const Matrix& a, const void* a_data, const Matrix& b, const void* b_data);
// What cublasLt says of sizes, types, leading dimensions and batches that do not go together.
cublasStatus_t CheckProduct(const Operation& operation, const Matrix& a, const Matrix& b,
                            const Matrix& c, const Matrix& d);
// D, each output an fp32 sum over k = 0, 1, ... in parts of `k_step`, then alpha, beta and bias,
// rounded once.
// Returns what is wrong with the operands (a number that nobody wrote), or nothing.
std::string RunProduct(const Product& product, uint64_t k_step);

}  // namespace fake_cuda

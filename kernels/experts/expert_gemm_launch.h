#pragma once

#include <cstdint>

#include "common/cuda_result.h"
#include "kernels/arguments/gradient_out.h"

struct CUstream_st;

namespace horizon {

// These functions launch the kernels of expert_gemm_cuda.cu on the stream and return the result of
// the launch, without waiting. bf16 is uint16_t and all pointers are to device memory. The first
// two answer cudaErrorNotSupported if the device's tensor cores do not multiply bf16.

// C[r,n] = A[row of r, k] B[k,n] + scale of r x bias, with the B and the bias of the row's expert.
// No size but k is 0. Rows of a, b and c begin at multiples of 16 bytes, and k is a multiple of 8.
struct ExpertGemmLaunch {
  int experts = 0;
  const int32_t* begins = nullptr;
  int most_rows = 0;
  int64_t n = 0;
  int64_t k = 0;
  const uint16_t* a = nullptr;
  int64_t a_stride = 0;
  const int32_t* a_rows = nullptr;  // null: row r itself
  const uint16_t* b = nullptr;
  int64_t b_stride = 0;
  int64_t b_expert_stride = 0;
  bool b_transposed = false;  // stored as [n,k]
  uint16_t* c = nullptr;
  int64_t c_stride = 0;
  const uint16_t* bias = nullptr;  // null: none
  int64_t bias_expert_stride = 0;
  const float* row_scales = nullptr;  // null: 1
  const int32_t* scale_pairs = nullptr;
};
CudaResult LaunchExpertGemm(const ExpertGemmLaunch& args, CUstream_st* stream);

// Thread blocks of a multiply compute tiles of kExpertTile rows and columns of one expert. How many
// tiles of rows an expert has is known on the device alone, so each has some kept for it: expert e
// those from (begins[e] - begins[0]) / kExpertTile + e on. That is at least as many as it needs,
// and all together are not more than these.
inline constexpr int kExpertTile = 128;
constexpr int64_t ExpertRowTiles(int64_t experts, int64_t most_rows) {
  return most_rows / kExpertTile + experts;
}
// The thread blocks of a launch; a grid has at most 2^31 - 1.
constexpr int64_t ExpertGemmBlocks(int64_t experts, int64_t most_rows, int64_t n) {
  return ExpertRowTiles(experts, most_rows) * ((n + kExpertTile - 1) / kExpertTile);
}
constexpr int64_t ExpertWeightGradientBlocks(int64_t experts, int64_t m, int64_t n) {
  return experts * ((m + kExpertTile - 1) / kExpertTile) * ((n + kExpertTile - 1) / kExpertTile);
}

// dW_e[m,n] = the sum of A[row of r, m]^T B[row of r, n] over the rows r of expert e. experts, m
// and n are not 0; m and n are multiples of 8. Rows of a and b and the gradient begin at multiples
// of 16 bytes.
struct ExpertWeightGradientLaunch {
  int experts = 0;
  const int32_t* begins = nullptr;
  int64_t m = 0;
  int64_t n = 0;
  const uint16_t* a = nullptr;
  int64_t a_stride = 0;
  const int32_t* a_rows = nullptr;
  const uint16_t* b = nullptr;
  int64_t b_stride = 0;
  const int32_t* b_rows = nullptr;
  GradientOut gradient;
  int64_t gradient_expert_stride = 0;
};
CudaResult LaunchExpertWeightGradient(const ExpertWeightGradientLaunch& args, CUstream_st* stream);

// db_e[width] = the sum of scale of r x G[row of r] over the rows r of expert e. experts and width
// are not 0.
struct ExpertBiasGradientLaunch {
  int experts = 0;
  const int32_t* begins = nullptr;
  int64_t width = 0;
  const uint16_t* output_gradient = nullptr;
  int64_t output_stride = 0;
  const int32_t* rows = nullptr;
  const float* row_scales = nullptr;
  const int32_t* scale_pairs = nullptr;
  GradientOut gradient;
  int64_t gradient_expert_stride = 0;
};
inline constexpr int kExpertBiasColumns = 256;  // of a thread block
constexpr int64_t ExpertBiasGradientBlocks(int64_t experts, int64_t width) {
  return experts * ((width + kExpertBiasColumns - 1) / kExpertBiasColumns);
}
CudaResult LaunchExpertBiasGradient(const ExpertBiasGradientLaunch& args, CUstream_st* stream);

}  // namespace horizon

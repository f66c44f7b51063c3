#include "tests/fake_cuda/gemm.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <vector>

namespace fake_cuda {
namespace {

// Bytes of 0xFF stand in memory that nobody wrote, and arithmetic passes this NaN on.
constexpr uint32_t kUnwritten = 0xFFFFFFFFu;

struct Place {
  uint64_t batch, row, col;
};

uint64_t OffsetOf(const Matrix& matrix, const Place& place) {
  const auto ld = static_cast<uint64_t>(matrix.ld);
  const uint64_t inside =
      matrix.order == CUBLASLT_ORDER_ROW ? place.row * ld + place.col : place.col * ld + place.row;
  return place.batch * static_cast<uint64_t>(matrix.batch_stride) + inside;
}

template <typename Do>
void ForEachElement(const Matrix& matrix, const Do& each) {
  for (uint64_t batch = 0; batch < static_cast<uint64_t>(matrix.batch_count); ++batch) {
    for (uint64_t row = 0; row < matrix.rows; ++row) {
      for (uint64_t col = 0; col < matrix.cols; ++col) each(OffsetOf(matrix, {batch, row, col}));
    }
  }
}

float Load(cudaDataType_t type, const void* data, uint64_t index, bool& unwritten) {
  uint32_t bits = 0;
  if (type == CUDA_R_16BF) {
    uint16_t half = 0;
    std::memcpy(&half, static_cast<const std::byte*>(data) + 2 * index, 2);
    unwritten |= half == 0xFFFF;
    bits = uint32_t{half} << 16;
  } else {
    std::memcpy(&bits, static_cast<const std::byte*>(data) + 4 * index, 4);
    unwritten |= bits == kUnwritten;
  }
  return std::bit_cast<float>(bits);
}

void Store(cudaDataType_t type, void* data, uint64_t index, float value) {
  uint32_t bits = std::bit_cast<uint32_t>(value);
  if (type != CUDA_R_16BF) {
    std::memcpy(static_cast<std::byte*>(data) + 4 * index, &bits, 4);
    return;
  }
  const bool is_nan = (bits & 0x7FFFFFFFu) > 0x7F800000u;
  bits = is_nan ? bits | 0x00400000u : bits + 0x7FFFu + (bits >> 16 & 1u);
  const auto half = static_cast<uint16_t>(bits >> 16);
  std::memcpy(static_cast<std::byte*>(data) + 2 * index, &half, 2);
}

// One matrix of the batch, transposed if asked, by rows without gaps.
std::vector<float> Dense(const Matrix& matrix, const void* data, uint64_t batch, bool transpose,
                         const char* name, std::string& flaw) {
  const uint64_t rows = transpose ? matrix.cols : matrix.rows;
  const uint64_t cols = transpose ? matrix.rows : matrix.cols;
  std::vector<float> dense(rows * cols);
  for (uint64_t row = 0; row < rows; ++row) {
    for (uint64_t col = 0; col < cols; ++col) {
      const Place place = transpose ? Place{batch, col, row} : Place{batch, row, col};
      bool unwritten = false;
      dense[row * cols + col] = Load(matrix.type, data, OffsetOf(matrix, place), unwritten);
      if (unwritten && flaw.empty()) {
        flaw = std::string(name) + " holds a number that nobody wrote, at row " +
               std::to_string(place.row) + ", column " + std::to_string(place.col) + " of batch " +
               std::to_string(batch);
      }
    }
  }
  return dense;
}

// sums[m x n] = a[m x k] b[k x n], k ascending for each output in parts of `k_step`, which are
// summed each for itself; the compiler's vectors run along n.
std::vector<float> Multiply(const std::vector<float>& a, const std::vector<float>& b, uint64_t m,
                            uint64_t k, uint64_t n, uint64_t k_step) {
  std::vector<float> sums(m * n, 0.0f);
  std::vector<float> part(n);
  for (uint64_t row = 0; row < m; ++row) {
    float* __restrict sum = part.data();
    for (uint64_t begin = 0; begin < k; begin += k_step) {
      std::fill(part.begin(), part.end(), 0.0f);
      for (uint64_t i = begin; i < std::min(k, begin + k_step); ++i) {
        const float factor = a[row * k + i];
        const float* __restrict from = b.data() + i * n;
        for (uint64_t col = 0; col < n; ++col) sum[col] += factor * from[col];
      }
      for (uint64_t col = 0; col < n; ++col) sums[row * n + col] += sum[col];
    }
  }
  return sums;
}

}  // namespace

uint64_t ElementBytes(cudaDataType_t type) {
  return type == CUDA_R_16BF || type == CUDA_R_16F ? 2 : type == CUDA_R_64F ? 8 : 4;
}

uint64_t SpanBytes(const Matrix& matrix) {
  const Place last{static_cast<uint64_t>(matrix.batch_count) - 1, matrix.rows - 1, matrix.cols - 1};
  return (OffsetOf(matrix, last) + 1) * ElementBytes(matrix.type);
}

bool Overlap(const Matrix& a, const void* a_data, const Matrix& b, const void* b_data) {
  const auto* a_begin = static_cast<const std::byte*>(a_data);
  const auto* b_begin = static_cast<const std::byte*>(b_data);
  if (a_begin >= b_begin + SpanBytes(b) || b_begin >= a_begin + SpanBytes(a)) return false;
  std::vector<bool> of_a(SpanBytes(a));
  ForEachElement(a, [&](uint64_t offset) {
    for (uint64_t i = 0; i < ElementBytes(a.type); ++i) {
      of_a[offset * ElementBytes(a.type) + i] = true;
    }
  });
  bool overlap = false;
  ForEachElement(b, [&](uint64_t offset) {
    const std::byte* element = b_begin + offset * ElementBytes(b.type);
    for (uint64_t i = 0; i < ElementBytes(b.type); ++i) {
      const ptrdiff_t at = element + i - a_begin;
      overlap |=
          at >= 0 && static_cast<uint64_t>(at) < of_a.size() && of_a[static_cast<size_t>(at)];
    }
  });
  return overlap;
}

cublasStatus_t CheckGemm(const Operation& operation, const Matrix& a, const Matrix& b,
                         const Matrix& c, const Matrix& d) {
  for (const Matrix* matrix : {&a, &b, &c, &d}) {
    const uint64_t along = matrix->order == CUBLASLT_ORDER_ROW ? matrix->cols : matrix->rows;
    if (matrix->rows == 0 || matrix->cols == 0 || matrix->batch_count < 1 || matrix->ld < 1 ||
        static_cast<uint64_t>(matrix->ld) < along || matrix->batch_stride < 0 ||
        matrix->batch_count != d.batch_count) {
      return CUBLAS_STATUS_INVALID_VALUE;
    }
  }
  if (d.batch_count > 1 && d.batch_stride == 0) return CUBLAS_STATUS_INVALID_VALUE;
  const bool a_flips = operation.transpose_a != CUBLAS_OP_N;
  const bool b_flips = operation.transpose_b != CUBLAS_OP_N;
  if ((a_flips ? a.cols : a.rows) != d.rows || (b_flips ? b.rows : b.cols) != d.cols ||
      (a_flips ? a.rows : a.cols) != (b_flips ? b.cols : b.rows) || c.rows != d.rows ||
      c.cols != d.cols) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  const bool bf16 = a.type == CUDA_R_16BF && b.type == CUDA_R_16BF &&
                    (d.type == CUDA_R_16BF || d.type == CUDA_R_32F);
  const bool fp32 = a.type == CUDA_R_32F && b.type == CUDA_R_32F && d.type == CUDA_R_32F;
  const bool known = (operation.compute == CUBLAS_COMPUTE_32F ||
                      operation.compute == CUBLAS_COMPUTE_32F_PEDANTIC) &&
                     operation.scale == CUDA_R_32F &&
                     operation.pointer_mode == CUBLASLT_POINTER_MODE_HOST &&
                     (operation.epilogue == CUBLASLT_EPILOGUE_DEFAULT ||
                      operation.epilogue == CUBLASLT_EPILOGUE_BIAS) &&
                     (operation.bias_type == -1 || operation.bias_type == d.type);
  return (bf16 || fp32) && c.type == d.type && c.order == d.order && known
             ? CUBLAS_STATUS_SUCCESS
             : CUBLAS_STATUS_NOT_SUPPORTED;
}

std::string RunGemm(const Gemm& gemm, uint64_t k_step) {
  const Operation& operation = gemm.operation;
  const Matrix& d = gemm.d;
  const bool a_flips = operation.transpose_a != CUBLAS_OP_N;
  const uint64_t k = a_flips ? gemm.a.rows : gemm.a.cols;
  const bool has_bias = operation.epilogue == CUBLASLT_EPILOGUE_BIAS;
  std::string flaw;
  for (uint64_t batch = 0; batch < static_cast<uint64_t>(d.batch_count); ++batch) {
    const std::vector<float> sums =
        Multiply(Dense(gemm.a, gemm.a_data, batch, a_flips, "A", flaw),
                 Dense(gemm.b, gemm.b_data, batch, operation.transpose_b != CUBLAS_OP_N, "B", flaw),
                 d.rows, k, d.cols, k_step);
    for (uint64_t row = 0; row < d.rows; ++row) {
      for (uint64_t col = 0; col < d.cols; ++col) {
        const Place place{batch, row, col};
        bool unwritten = false;
        float value = gemm.alpha * sums[row * d.cols + col];
        if (gemm.beta != 0) {
          value += gemm.beta * Load(gemm.c.type, gemm.c_data, OffsetOf(gemm.c, place), unwritten);
        }
        if (has_bias) value += Load(d.type, operation.bias, row, unwritten);
        if (unwritten && flaw.empty()) flaw = "C or the bias holds a number that nobody wrote";
        Store(d.type, gemm.d_data, OffsetOf(d, place), value);
      }
    }
  }
  return flaw;
}

}  // namespace fake_cuda

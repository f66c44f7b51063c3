// cublasLt on the fake: results against plain sums, and each misuse is found.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "tests/fake_cuda/device_fixture.h"
#include "tests/fake_cuda/include/cublasLt.h"

namespace fake_cuda {
namespace {

uint16_t Bf16(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

// Numbers that bf16 holds exactly.
std::vector<float> Numbers(size_t count, uint32_t salt) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i) {
    values[i] = static_cast<float>((i * 37 + uint64_t{salt} * 11) % 61) / 16.0f - 1.5f;
  }
  return values;
}
std::vector<uint16_t> Halves(const std::vector<float>& values) {
  std::vector<uint16_t> halves;
  halves.reserve(values.size());
  for (const float value : values) halves.push_back(Bf16(value));
  return halves;
}

// A GEMM of row-major matrices, d[m x n] = a[m x k] b[k x n], bf16 to bf16 unless changed.
class GemmTest : public DeviceTest {
 protected:
  static constexpr uint64_t kM = 5, kK = 7, kN = 3;

  GemmTest() {
    EXPECT_EQ(cublasLtCreate(&handle_), CUBLAS_STATUS_SUCCESS);
    cublasLtMatmulDescInit(&operation_, CUBLAS_COMPUTE_32F, CUDA_R_32F);
    cublasLtMatmulPreferenceInit(&preference_);
    SetLayouts(CUDA_R_16BF, CUDA_R_16BF);
    for (const auto attribute :
         {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
          CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
      Prefer<uint32_t>(attribute, 2);
    }
  }
  ~GemmTest() override { EXPECT_EQ(cublasLtDestroy(handle_), CUBLAS_STATUS_SUCCESS); }

  void SetLayouts(cudaDataType_t in, cudaDataType_t out) {
    cublasLtMatrixLayoutInit(&a_, in, kM, kK, kK);
    cublasLtMatrixLayoutInit(&b_, in, kK, kN, kN);
    cublasLtMatrixLayoutInit(&d_, out, kM, kN, kN);
    for (auto* layout : {&a_, &b_, &d_}) Set<int32_t>(layout, CUBLASLT_MATRIX_LAYOUT_ORDER, 1);
  }
  template <typename T>
  static void Set(cublasLtMatrixLayout_t layout, cublasLtMatrixLayoutAttribute_t what, T value) {
    EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(layout, what, &value, sizeof(value)),
              CUBLAS_STATUS_SUCCESS);
  }
  template <typename T>
  void Operate(cublasLtMatmulDescAttributes_t what, T value) {
    EXPECT_EQ(cublasLtMatmulDescSetAttribute(&operation_, what, &value, sizeof(value)),
              CUBLAS_STATUS_SUCCESS);
  }
  template <typename T>
  void Prefer(cublasLtMatmulPreferenceAttributes_t what, T value) {
    EXPECT_EQ(cublasLtMatmulPreferenceSetAttribute(&preference_, what, &value, sizeof(value)),
              CUBLAS_STATUS_SUCCESS);
  }
  cublasStatus_t Choose() {
    int count = 0;
    return cublasLtMatmulAlgoGetHeuristic(handle_, &operation_, &a_, &b_, &d_, &d_, &preference_, 1,
                                          &chosen_, &count);
  }
  cublasStatus_t Multiply(const void* a, const void* b, void* d, float beta = 0,
                          void* workspace = nullptr, size_t bytes = 0) {
    const float alpha = 1;
    return cublasLtMatmul(handle_, &operation_, &alpha, a, &a_, b, &b_, &beta, d, &d_, d, &d_,
                          &chosen_.algo, workspace, bytes, stream_);
  }

  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDescOpaque_t operation_{};
  cublasLtMatmulPreferenceOpaque_t preference_{};
  cublasLtMatrixLayoutOpaque_t a_{}, b_{}, d_{};
  cublasLtMatmulHeuristicResult_t chosen_{};
  const std::vector<float> a_values_ = Numbers(kM * kK, 1);
  const std::vector<float> b_values_ = Numbers(kK * kN, 2);
};

// k ascending, in fp32.
float Sum(const std::vector<float>& a, const std::vector<float>& b, uint64_t row, uint64_t col,
          uint64_t k, uint64_t n) {
  float sum = 0;
  for (uint64_t i = 0; i < k; ++i) sum += a[row * k + i] * b[i * n + col];
  return sum;
}

TEST_F(GemmTest, GivesThePlainSumInEachType) {
  const auto* a = Upload(Halves(a_values_));
  const auto* b = Upload(Halves(b_values_));
  auto* d = Allocate<uint16_t>(kM * kN);
  ASSERT_EQ(Choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(Multiply(a, b, d), CUBLAS_STATUS_SUCCESS);
  const std::vector<uint16_t> halves = Download(d, kM * kN);
  SetLayouts(CUDA_R_16BF, CUDA_R_32F);
  auto* wide = Allocate<float>(kM * kN);
  ASSERT_EQ(Choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(Multiply(a, b, wide), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(Multiply(a, b, wide, 2), CUBLAS_STATUS_SUCCESS);  // onto what is there
  const std::vector<float> twice = Download(wide, kM * kN);
  SetLayouts(CUDA_R_32F, CUDA_R_32F);
  const auto* a_wide = Upload(a_values_);
  const auto* b_wide = Upload(b_values_);
  ASSERT_EQ(Choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(Multiply(a_wide, b_wide, wide), CUBLAS_STATUS_SUCCESS);
  const std::vector<float> floats = Download(wide, kM * kN);
  for (uint64_t i = 0; i < kM * kN; ++i) {
    const float sum = Sum(a_values_, b_values_, i / kN, i % kN, kK, kN);
    EXPECT_EQ(halves[i], Bf16(sum));
    EXPECT_EQ(twice[i], sum + 2 * sum);
    EXPECT_EQ(floats[i], sum);
  }
}

// Column-major with transposes and leading dimensions: d^T = b^T a^T of the same bytes.
TEST_F(GemmTest, TransposesAndOrdersAgree) {
  const auto* a = Upload(Halves(a_values_));
  const auto* b = Upload(Halves(b_values_));
  auto* d = Allocate<uint16_t>(kM * kN);
  auto* flipped = Allocate<uint16_t>(kM * kN);
  ASSERT_EQ(Choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(Multiply(a, b, d), CUBLAS_STATUS_SUCCESS);
  // The row-major a[m x k] is a column-major [k x m]; op T makes m x k of it. D by columns.
  cublasLtMatrixLayoutInit(&a_, CUDA_R_16BF, kK, kM, kK);
  cublasLtMatrixLayoutInit(&b_, CUDA_R_16BF, kN, kK, kN);
  cublasLtMatrixLayoutInit(&d_, CUDA_R_16BF, kM, kN, kM);
  Operate<int32_t>(CUBLASLT_MATMUL_DESC_TRANSA, CUBLAS_OP_T);
  Operate<int32_t>(CUBLASLT_MATMUL_DESC_TRANSB, CUBLAS_OP_T);
  ASSERT_EQ(Choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(Multiply(a, b, flipped), CUBLAS_STATUS_SUCCESS);
  const std::vector<uint16_t> by_rows = Download(d, kM * kN);
  const std::vector<uint16_t> by_columns = Download(flipped, kM * kN);
  for (uint64_t row = 0; row < kM; ++row) {
    for (uint64_t col = 0; col < kN; ++col) {
      EXPECT_EQ(by_rows[row * kN + col], by_columns[col * kM + row]);
    }
  }
}

TEST_F(GemmTest, BiasIsAddedToEachRowAndBatchesAreStrided) {
  SetLayouts(CUDA_R_16BF, CUDA_R_32F);
  const auto* a = Upload(Halves(Numbers(2 * kM * kK, 1)));
  const auto* b = Upload(Halves(b_values_));
  const auto* bias = Upload(Numbers(kM, 9));
  auto* d = Allocate<float>(2 * kM * kN);
  for (auto* layout : {&a_, &b_, &d_}) Set<int32_t>(layout, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 2);
  Set<int64_t>(&a_, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, kM * kK);
  Set<int64_t>(&d_, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET, kM * kN);
  Operate<uint32_t>(CUBLASLT_MATMUL_DESC_EPILOGUE, CUBLASLT_EPILOGUE_BIAS);
  Operate<const void*>(CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias);
  ASSERT_EQ(Choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(Multiply(a, b, d), CUBLAS_STATUS_SUCCESS);
  const std::vector<float> got = Download(d, 2 * kM * kN);
  const std::vector<float> a_values = Numbers(2 * kM * kK, 1);
  for (uint64_t row = 0; row < 2 * kM; ++row) {
    for (uint64_t col = 0; col < kN; ++col) {
      EXPECT_EQ(got[row * kN + col],
                Sum(a_values, b_values_, row, col, kK, kN) + Numbers(kM, 9)[row % kM]);
    }
  }
}

TEST_F(GemmTest, SizesThatDoNotFitAreRefused) {
  EXPECT_EQ(Choose(), CUBLAS_STATUS_SUCCESS);
  Set<uint64_t>(&b_, CUBLASLT_MATRIX_LAYOUT_ROWS, kK - 1);
  EXPECT_EQ(Choose(), CUBLAS_STATUS_INVALID_VALUE);
  SetLayouts(CUDA_R_16BF, CUDA_R_16BF);
  Set<int64_t>(&a_, CUBLASLT_MATRIX_LAYOUT_LD, kK - 1);
  EXPECT_EQ(Choose(), CUBLAS_STATUS_INVALID_VALUE);
  SetLayouts(CUDA_R_16BF, CUDA_R_16BF);
  Set<int32_t>(&a_, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, 2);
  EXPECT_EQ(Choose(), CUBLAS_STATUS_INVALID_VALUE);
  SetLayouts(CUDA_R_32F, CUDA_R_16BF);
  EXPECT_EQ(Choose(), CUBLAS_STATUS_NOT_SUPPORTED);
  const int64_t value = 1;
  EXPECT_EQ(cublasLtMatrixLayoutSetAttribute(&a_, CUBLASLT_MATRIX_LAYOUT_ORDER, &value, 8),
            CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(GemmTest, OperandsLieWithinTheirAllocationsAndAreAlignedAsPromised) {
  const auto* a = Upload(Halves(a_values_));
  const auto* b = Upload(Halves(b_values_));
  auto* d = Allocate<uint16_t>(kM * kN + 1);
  ASSERT_EQ(Choose(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(Multiply(a + 1, b, d), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_TRUE(Found("A of 70 bytes begins at byte 2"));
  EXPECT_EQ(Multiply(a_values_.data(), b, d), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_TRUE(Found("not of device memory"));
  EXPECT_EQ(Multiply(a, b, d + 1), CUBLAS_STATUS_SUCCESS);
  EXPECT_FALSE(Found(""));
  Prefer<uint32_t>(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, 16);
  ASSERT_EQ(Choose(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(Multiply(a, b, d + 1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_TRUE(Found("D is not aligned to the 16 bytes"));
}

TEST_F(GemmTest, OutputDoesNotOverlapAnInput) {
  // A is the left half of a wide matrix, D a part of the right one: bytes between, none shared.
  const auto* b = Upload(Halves(b_values_));
  auto* wide = Upload(std::vector<uint16_t>(kM * 2 * kK, Bf16(1)));
  Set<int64_t>(&a_, CUBLASLT_MATRIX_LAYOUT_LD, 2 * kK);
  Set<int64_t>(&d_, CUBLASLT_MATRIX_LAYOUT_LD, 2 * kK);
  ASSERT_EQ(Choose(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(Multiply(wide, b, wide + kK), CUBLAS_STATUS_SUCCESS);
  EXPECT_FALSE(Found(""));
  EXPECT_EQ(Multiply(wide, b, wide + kK - 1), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_TRUE(Found("D overlaps A or B"));
}

TEST_F(GemmTest, AlgorithmServesTheGemmItWasChosenFor) {
  const auto* a = Upload(Halves(a_values_));
  const auto* b = Upload(Halves(b_values_));
  auto* d = Allocate<float>(kM * kN);
  ASSERT_EQ(Choose(), CUBLAS_STATUS_SUCCESS);
  SetLayouts(CUDA_R_16BF, CUDA_R_32F);
  EXPECT_EQ(Multiply(a, b, d), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_TRUE(Found("chosen for another kind"));
}

TEST_F(GemmTest, AlgorithmServesOtherSizesOnceItWasCheckedForThem) {
  const auto* a = Upload(Halves(a_values_));
  const auto* b = Upload(Halves(b_values_));
  auto* d = Allocate<uint16_t>(kM * kN);
  const auto check = [&] {
    cublasLtMatmulHeuristicResult_t result = {};
    const cublasStatus_t status =
        cublasLtMatmulAlgoCheck(handle_, &operation_, &a_, &b_, &d_, &d_, &chosen_.algo, &result);
    return status == CUBLAS_STATUS_SUCCESS ? result.state : status;
  };
  ASSERT_EQ(Choose(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(check(), CUBLAS_STATUS_SUCCESS);
  for (auto* layout : {&a_, &d_}) Set<uint64_t>(layout, CUBLASLT_MATRIX_LAYOUT_ROWS, kM - 1);
  EXPECT_EQ(Multiply(a, b, d), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_TRUE(Found("chosen for other sizes and not checked"));
  EXPECT_EQ(check(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(Multiply(a, b, d), CUBLAS_STATUS_SUCCESS);
  EXPECT_FALSE(Found(""));
  EXPECT_EQ(Download(d, 1)[0], Bf16(Sum(a_values_, b_values_, 0, 0, kK, kN)));
  Set<uint64_t>(&b_, CUBLASLT_MATRIX_LAYOUT_ROWS, kK - 1);
  EXPECT_EQ(check(), CUBLAS_STATUS_INVALID_VALUE);
  SetLayouts(CUDA_R_16BF, CUDA_R_32F);
  EXPECT_EQ(check(), CUBLAS_STATUS_INVALID_VALUE);
}

TEST_F(GemmTest, NumberThatNobodyWroteIsFound) {
  auto* a = Allocate<uint16_t>(kM * kK);
  WriteDevice(a, Halves(a_values_).data(), (kM * kK - 1) * 2);
  const auto* b = Upload(Halves(b_values_));
  auto* d = Allocate<uint16_t>(kM * kN);
  ASSERT_EQ(Choose(), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(Multiply(a, b, d), CUBLAS_STATUS_SUCCESS);
  EXPECT_TRUE(Found("A holds a number that nobody wrote, at row 4, column 6"));
}

TEST_F(GemmTest, WorkspaceBelongsToOneStream) {
  const auto* a = Upload(Halves(a_values_));
  const auto* b = Upload(Halves(b_values_));
  auto* d = Allocate<uint16_t>(kM * kN);
  auto* workspace = Allocate<char>(4096);
  Prefer<uint64_t>(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, 4096);
  ASSERT_EQ(Choose(), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(chosen_.workspaceSize, 4096u);
  EXPECT_EQ(Multiply(a, b, d), CUBLAS_STATUS_INVALID_VALUE);  // none given
  EXPECT_EQ(Multiply(a, b, d, 0, workspace + 1, 4096), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_TRUE(Found("its workspace of 4096 bytes begins at byte 1"));
  EXPECT_EQ(Multiply(a, b, d, 0, workspace, 4096), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(Multiply(a, b, d, 0, workspace, 4096), CUBLAS_STATUS_SUCCESS);
  const cudaStream_t first = stream_;
  ASSERT_EQ(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), cudaSuccess);
  EXPECT_EQ(Multiply(a, b, d, 0, workspace, 4096), CUBLAS_STATUS_INVALID_VALUE);
  EXPECT_TRUE(Found("used by a pending product of stream 1"));
  ASSERT_EQ(cudaStreamSynchronize(first), cudaSuccess);
  EXPECT_EQ(Multiply(a, b, d, 0, workspace, 4096), CUBLAS_STATUS_SUCCESS);
  EXPECT_FALSE(Found(""));
  EXPECT_EQ(Download(workspace, 1)[0], static_cast<char>(0xEE));  // it may hold anything now
}

TEST_F(GemmTest, CreatedDescriptionsAreLeaksUntilDestroyed) {
  cublasLtMatrixLayout_t layout = nullptr;
  cublasLtMatmulDesc_t operation = nullptr;
  cublasLtMatmulPreference_t preference = nullptr;
  ASSERT_EQ(cublasLtMatrixLayoutCreate(&layout, CUDA_R_32F, 1, 1, 1), CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasLtMatmulDescCreate(&operation, CUBLAS_COMPUTE_32F, CUDA_R_32F),
            CUBLAS_STATUS_SUCCESS);
  ASSERT_EQ(cublasLtMatmulPreferenceCreate(&preference), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(Leaks().size(), 5u);  // with the stream and the handle
  EXPECT_EQ(cublasLtMatrixLayoutDestroy(layout), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatmulDescDestroy(operation), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(cublasLtMatmulPreferenceDestroy(preference), CUBLAS_STATUS_SUCCESS);
  EXPECT_EQ(Leaks().size(), 2u);
}

}  // namespace
}  // namespace fake_cuda

#include <cublasLt.h>

#include <algorithm>
#include <bit>
#include <compare>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "common/failure_source.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/gemm/cublas_gemm.h"

namespace horizon {
namespace {

constexpr uint32_t kAlignment = 16;
constexpr uintptr_t kWorkspaceAlignment = 256;

absl::Status StatusOf(cublasStatus_t status, std::string_view what) {
  if (status == CUBLAS_STATUS_SUCCESS) return absl::OkStatus();
  const std::string message = StrCat("cannot ", what, ": ", cublasLtGetStatusString(status),
                                     " (cuBLAS status ", static_cast<int>(status), ")");
  switch (status) {
    case CUBLAS_STATUS_ALLOC_FAILED:
      return absl::ResourceExhaustedError(message);
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return absl::UnavailableError(
          StrCat(message, "; use the host device, or install a driver and the CUDA libraries"));
    case CUBLAS_STATUS_ARCH_MISMATCH:
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return absl::UnavailableError(
          StrCat(message, "; bf16 needs a device of compute capability 8.0 or later"));
    default:
      return absl::InternalError(message);
  }
}

absl::Status ToStatus(cublasStatus_t status, std::string_view what) {
  return WithFailureSource(StatusOf(status, what), FailureSource::kDevice);
}

// Owners of cublasLt handles.
template <typename Handle, cublasStatus_t (*kDestroy)(Handle)>
struct Destroy {
  using pointer = Handle;
  void operator()(Handle handle) const { kDestroy(handle); }
};
template <typename Handle, cublasStatus_t (*kDestroy)(Handle)>
using Unique = std::unique_ptr<Handle, Destroy<Handle, kDestroy>>;
using Description = Unique<cublasLtMatmulDesc_t, cublasLtMatmulDescDestroy>;
using Layout = Unique<cublasLtMatrixLayout_t, cublasLtMatrixLayoutDestroy>;
using Preference = Unique<cublasLtMatmulPreference_t, cublasLtMatmulPreferenceDestroy>;

cudaDataType_t TypeOf(ValueType type) {
  return type == ValueType::kFp32 ? CUDA_R_32F : CUDA_R_16BF;
}

bool IsAligned(const void* pointer, uintptr_t alignment) {
  return reinterpret_cast<uintptr_t>(pointer) % alignment == 0;
}

// Whether a matrix with rows of `columns` elements (as stored) is complete and its rows are
// aligned.
bool RowsAreRight(const void* data, ValueType type, int64_t columns, int64_t stride,
                  int64_t batch_stride) {
  const int64_t bytes = BytesOf(type);
  return data != nullptr && IsAligned(data, kAlignment) && stride >= columns &&
         stride * bytes % kAlignment == 0 && batch_stride >= 0 &&
         batch_stride * bytes % kAlignment == 0;
}

std::string Describe(const DeviceGemm& p) {
  return StrCat("multiply ", p.batch, " matrices of ", p.m, " x ", p.k, " and ", p.k, " x ", p.n,
                " on the CUDA device");
}

absl::Status Refuse(const DeviceGemm& p, std::string_view why) {
  return absl::InvalidArgumentError(StrCat("cannot ", Describe(p), ": ", why));
}

absl::Status Check(const KernelContext& context, const DeviceGemm& p) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max();
  const auto sizes = {p.m, p.n, p.k, p.batch, p.a_stride, p.b_stride, p.c_stride};
  if (std::min(sizes) < 0 || std::max(sizes) > kMost || p.k == 0) {
    return Refuse(p, "a size or stride is negative or 2^31 or more, or there is nothing to sum");
  }
  if (context.stream == nullptr || context.gemm_workspace.size() < kGemmWorkspaceBytes ||
      !IsAligned(context.gemm_workspace.data(), kWorkspaceAlignment)) {
    return Refuse(p, "no stream is given, or no workspace of 32 MiB aligned to 256 bytes");
  }
  const bool types_are_right =
      p.a.type() == ValueType::kBf16 && p.b.type() == ValueType::kBf16 &&
      (p.initial == nullptr || p.initial.type() == p.c.type()) &&
      (p.bias == nullptr || (p.bias.type() == ValueType::kBf16 && p.c.type() == ValueType::kBf16));
  if (!types_are_right) {
    return Refuse(p, "inputs and bias are bf16, and what is added to is of the result's type");
  }
  const int64_t a_columns = p.a_transposed == Transposed::kYes ? p.m : p.k;
  const int64_t b_columns = p.b_transposed == Transposed::kYes ? p.k : p.n;
  const bool rows_are_right =
      RowsAreRight(p.a.data(), p.a.type(), a_columns, p.a_stride, p.a_batch_stride) &&
      RowsAreRight(p.b.data(), p.b.type(), b_columns, p.b_stride, p.b_batch_stride) &&
      RowsAreRight(p.c.data(), p.c.type(), p.n, p.c_stride, p.c_batch_stride) &&
      IsAligned(p.initial.data(), kAlignment) && IsAligned(p.bias.data(), kAlignment);
  if (!rows_are_right) {
    return Refuse(p, StrCat("strides ", p.a_stride, ", ", p.b_stride, ", ", p.c_stride,
                            " do not hold a row, an array is missing, or one of its rows begins "
                            "at no multiple of 16 bytes; widths are multiples of 8 on CUDA"));
  }
  return absl::OkStatus();
}

}  // namespace

// Everything that the choice of an algorithm depends on. Batch strides of a batch of one, which
// have no meaning, are 0.
struct CublasGemm::Key {
  int64_t m, n, k, batch;
  int64_t a_stride, a_batch_stride, b_stride, b_batch_stride, c_stride, c_batch_stride;
  bool a_transposed, b_transposed, has_bias;
  ValueType c_type;

  auto operator<=>(const Key&) const = default;

  explicit Key(const DeviceGemm& p)
      : m(p.m),
        n(p.n),
        k(p.k),
        batch(p.batch),
        a_stride(p.a_stride),
        a_batch_stride(p.batch == 1 ? 0 : p.a_batch_stride),
        b_stride(p.b_stride),
        b_batch_stride(p.batch == 1 ? 0 : p.b_batch_stride),
        c_stride(p.c_stride),
        c_batch_stride(p.batch == 1 ? 0 : p.c_batch_stride),
        a_transposed(p.a_transposed == Transposed::kYes),
        b_transposed(p.b_transposed == Transposed::kYes),
        has_bias(p.bias != nullptr),
        c_type(p.c.type()) {}

  // The same multiply with other sizes, all arrays contiguous (their rows aligned).
  Key OfSizes(int64_t other_m, int64_t other_n) const {
    Key key = *this;
    key.m = other_m;
    key.n = other_n;
    const auto aligned = [](int64_t columns) { return (columns + 7) / 8 * 8; };
    key.a_stride = aligned(a_transposed ? key.m : k);
    key.b_stride = aligned(b_transposed ? k : key.n);
    key.c_stride = aligned(key.n);
    if (batch == 1) return key;
    key.a_batch_stride = key.a_stride * (a_transposed ? k : key.m);
    key.b_batch_stride = key.b_stride * (b_transposed ? key.n : k);
    key.c_batch_stride = key.c_stride * key.m;
    return key;
  }
};

// The descriptors that cublasLt needs for a shape, and the algorithm. cublasLt is column-major, so
// a row-major matrix is its transpose there: it computes C^T = B^T A^T, and our b is its first
// operand.
struct CublasGemm::Call {
  Description description;
  Layout a, b, c;
  cublasLtMatmulAlgo_t algorithm = {};

  absl::Status Describe(const Key& key);
  absl::Status ChooseAlgorithm(cublasLtContext* handle);
  // Whether cublasLt accepts this call with its algorithm, which was chosen for another shape.
  absl::Status CheckAlgorithm(cublasLtContext* handle, const Key& key, const Key& chosen_for) const;
};

class CublasGemm::Calls {
 public:
  // Calls by their own shape and the shape that their algorithm is chosen for; algorithms by the
  // latter.
  std::map<std::pair<Key, Key>, Call> by_shape;
  std::map<Key, cublasLtMatmulAlgo_t> chosen;
};

namespace {

// Our columns are contiguous, and cublasLt calls them rows.
absl::StatusOr<Layout> MakeLayout(ValueType type, int64_t rows, int64_t columns, int64_t stride,
                                  int64_t batch, int64_t batch_stride) {
  constexpr std::string_view kWhat = "describe a matrix to cuBLAS";
  cublasLtMatrixLayout_t made = nullptr;
  RETURN_IF_ERROR(
      ToStatus(cublasLtMatrixLayoutCreate(&made, TypeOf(type), static_cast<uint64_t>(columns),
                                          static_cast<uint64_t>(rows), stride),
               kWhat));
  Layout layout(made);
  const auto count = static_cast<int32_t>(batch);
  RETURN_IF_ERROR(ToStatus(cublasLtMatrixLayoutSetAttribute(
                               made, CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT, &count, sizeof(count)),
                           kWhat));
  RETURN_IF_ERROR(
      ToStatus(cublasLtMatrixLayoutSetAttribute(made, CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET,
                                                &batch_stride, sizeof(batch_stride)),
               kWhat));
  return layout;
}

template <typename T>
absl::Status Set(const Description& description, cublasLtMatmulDescAttributes_t attribute,
                 const T& value) {
  return ToStatus(
      cublasLtMatmulDescSetAttribute(description.get(), attribute, &value, sizeof(value)),
      "describe a product to cuBLAS");
}
template <typename T>
absl::Status Set(const Preference& preference, cublasLtMatmulPreferenceAttributes_t attribute,
                 const T& value) {
  return ToStatus(
      cublasLtMatmulPreferenceSetAttribute(preference.get(), attribute, &value, sizeof(value)),
      "say to cuBLAS what its algorithms may do");
}

}  // namespace

absl::Status CublasGemm::Call::Describe(const Key& key) {
  cublasLtMatmulDesc_t made = nullptr;
  RETURN_IF_ERROR(ToStatus(cublasLtMatmulDescCreate(&made, CUBLAS_COMPUTE_32F, CUDA_R_32F),
                           "describe a product to cuBLAS"));
  description.reset(made);
  const cublasOperation_t first = key.b_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t second = key.a_transposed ? CUBLAS_OP_T : CUBLAS_OP_N;
  RETURN_IF_ERROR(Set(description, CUBLASLT_MATMUL_DESC_TRANSA, first));
  RETURN_IF_ERROR(Set(description, CUBLASLT_MATMUL_DESC_TRANSB, second));
  if (key.has_bias) {
    const cublasLtEpilogue_t epilogue = CUBLASLT_EPILOGUE_BIAS;
    const cudaDataType_t bias_type = CUDA_R_16BF;
    // The choice depends on the alignment of the bias pointer, so until there is a call the pointer
    // is one that is aligned to 16 bytes.
    const void* bias = std::bit_cast<const void*>(uintptr_t{kAlignment});
    RETURN_IF_ERROR(Set(description, CUBLASLT_MATMUL_DESC_EPILOGUE, epilogue));
    RETURN_IF_ERROR(Set(description, CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE, bias_type));
    RETURN_IF_ERROR(Set(description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias));
  }
  constexpr ValueType kIn = ValueType::kBf16;
  ASSIGN_OR_RETURN(
      a, MakeLayout(kIn, key.a_transposed ? key.k : key.m, key.a_transposed ? key.m : key.k,
                    key.a_stride, key.batch, key.a_batch_stride));
  ASSIGN_OR_RETURN(
      b, MakeLayout(kIn, key.b_transposed ? key.n : key.k, key.b_transposed ? key.k : key.n,
                    key.b_stride, key.batch, key.b_batch_stride));
  ASSIGN_OR_RETURN(
      c, MakeLayout(key.c_type, key.m, key.n, key.c_stride, key.batch, key.c_batch_stride));
  return absl::OkStatus();
}

absl::Status CublasGemm::Call::ChooseAlgorithm(cublasLtContext* handle) {
  cublasLtMatmulPreference_t made = nullptr;
  RETURN_IF_ERROR(
      ToStatus(cublasLtMatmulPreferenceCreate(&made), "say to cuBLAS what its algorithms may do"));
  const Preference preference(made);
  const uint64_t workspace = kGemmWorkspaceBytes;
  const uint32_t reduction = CUBLASLT_REDUCTION_SCHEME_NONE;
  RETURN_IF_ERROR(Set(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace));
  RETURN_IF_ERROR(Set(preference, CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, reduction));
  for (const auto attribute :
       {CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES,
        CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES}) {
    RETURN_IF_ERROR(Set(preference, attribute, kAlignment));
  }
  cublasLtMatmulHeuristicResult_t result = {};
  int found = 0;
  const cublasStatus_t status =
      cublasLtMatmulAlgoGetHeuristic(handle, description.get(), b.get(), a.get(), c.get(), c.get(),
                                     preference.get(), 1, &result, &found);
  RETURN_IF_ERROR(ToStatus(status, "find an algorithm for a product"));
  if (found < 1) {
    return ToStatus(CUBLAS_STATUS_NOT_SUPPORTED, "find an algorithm for a product");
  }
  RETURN_IF_ERROR(ToStatus(result.state, "use the algorithm found for a product"));
  algorithm = result.algo;
  return absl::OkStatus();
}

absl::Status CublasGemm::Call::CheckAlgorithm(cublasLtContext* handle, const Key& key,
                                              const Key& chosen_for) const {
  cublasLtMatmulHeuristicResult_t result = {};
  cublasStatus_t status = cublasLtMatmulAlgoCheck(handle, description.get(), b.get(), a.get(),
                                                  c.get(), c.get(), &algorithm, &result);
  if (status == CUBLAS_STATUS_SUCCESS) status = result.state;
  std::string refusal;
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      if (result.workspaceSize <= kGemmWorkspaceBytes) return absl::OkStatus();
      refusal = StrCat("it takes ", result.workspaceSize, " bytes of workspace of the ",
                       kGemmWorkspaceBytes, " there are");
      break;
    case CUBLAS_STATUS_INVALID_VALUE:
    case CUBLAS_STATUS_NOT_SUPPORTED:
    case CUBLAS_STATUS_ARCH_MISMATCH:
      refusal = StrCat(cublasLtGetStatusString(status), " (cuBLAS status ",
                       static_cast<int>(status), ")");
      break;
    default:
      return ToStatus(status, "ask cuBLAS whether an algorithm serves other sizes");
  }
  const std::string message = StrCat(
      "cannot multiply ", key.batch, " matrices of ", key.m, " x ", key.k, " and ", key.k, " x ",
      key.n, " on the CUDA device by the algorithm of ", chosen_for.m, " x ", chosen_for.k, " and ",
      chosen_for.k, " x ", chosen_for.n, ": ", refusal,
      "; so equal bits, however tokens and vocabulary are cut into chunks, cannot be had with this "
      "device and its cuBLAS; use the host device, or another version of cuBLAS");
  return WithFailureSource(absl::UnavailableError(message), FailureSource::kDevice);
}

CublasGemm::CublasGemm(cublasLtContext* handle, std::unique_ptr<Calls> calls)
    : handle_(handle), calls_(std::move(calls)) {}

CublasGemm::~CublasGemm() { cublasLtDestroy(handle_); }

absl::StatusOr<std::unique_ptr<CublasGemm>> CublasGemm::Create() {
  cublasLtHandle_t handle = nullptr;
  RETURN_IF_ERROR(ToStatus(cublasLtCreate(&handle), "begin to use cuBLAS"));
  return std::unique_ptr<CublasGemm>(new CublasGemm(handle, std::make_unique<Calls>()));
}

absl::StatusOr<CublasGemm::Call*> CublasGemm::CallOf(const Key& key, const Key& chosen_for) {
  const std::pair shapes(key, chosen_for);
  const auto known = calls_->by_shape.find(shapes);
  if (known != calls_->by_shape.end()) return &known->second;
  auto algorithm = calls_->chosen.find(chosen_for);
  if (algorithm == calls_->chosen.end()) {
    Call other;
    RETURN_IF_ERROR(other.Describe(chosen_for));
    RETURN_IF_ERROR(other.ChooseAlgorithm(handle_));
    algorithm = calls_->chosen.emplace(chosen_for, other.algorithm).first;
  }
  Call call;
  RETURN_IF_ERROR(call.Describe(key));
  call.algorithm = algorithm->second;
  // Checked even if only strides differ: a part of a matrix shares its algorithm with other parts.
  if (key != chosen_for) RETURN_IF_ERROR(call.CheckAlgorithm(handle_, key, chosen_for));
  return &calls_->by_shape.emplace(shapes, std::move(call)).first->second;
}

absl::Status CublasGemm::Multiply(const KernelContext& context, const DeviceGemm& gemm) {
  if (gemm.m == 0 || gemm.n == 0 || gemm.batch == 0) return absl::OkStatus();
  RETURN_IF_ERROR(Check(context, gemm));
  const Key key(gemm);
  const bool is_part = gemm.chosen_for_m > 0 || gemm.chosen_for_n > 0;
  const Key chosen_for = is_part ? key.OfSizes(gemm.chosen_for_m > 0 ? gemm.chosen_for_m : gemm.m,
                                               gemm.chosen_for_n > 0 ? gemm.chosen_for_n : gemm.n)
                                 : key;
  ASSIGN_OR_RETURN(Call * call, CallOf(key, chosen_for));
  if (gemm.bias != nullptr) {
    const void* bias = gemm.bias.data();
    RETURN_IF_ERROR(Set(call->description, CUBLASLT_MATMUL_DESC_BIAS_POINTER, bias));
  }
  const float beta = gemm.initial == nullptr ? 0.0f : 1.0f;
  const void* initial = gemm.initial == nullptr ? gemm.c.data() : gemm.initial.data();
  return ToStatus(
      cublasLtMatmul(handle_, call->description.get(), &gemm.alpha, gemm.b.data(), call->b.get(),
                     gemm.a.data(), call->a.get(), &beta, initial, call->c.get(), gemm.c.data(),
                     call->c.get(), &call->algorithm, context.gemm_workspace.data(),
                     kGemmWorkspaceBytes, context.stream),
      Describe(gemm));
}

absl::Status MultiplyOnDevice(const KernelContext& context, const DeviceGemm& gemm) {
  auto* cublas = dynamic_cast<CublasGemm*>(context.device_context);
  if (cublas != nullptr) return cublas->Multiply(context, gemm);
  return absl::FailedPreconditionError(
      StrCat("cannot ", Describe(gemm), ": the kernel's context has no cuBLAS"));
}

}  // namespace horizon

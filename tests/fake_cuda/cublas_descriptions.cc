#include "tests/fake_cuda/cublas_descriptions.h"

#include <cstdint>
#include <string>

#include "tests/fake_cuda/fault.h"
#include "tests/fake_cuda/runtime.h"

using fake_cuda::Call;
using fake_cuda::CallKind;
using fake_cuda::Matrix;
using fake_cuda::Operation;
using fake_cuda::Pack;
using fake_cuda::Preference;
using fake_cuda::Unpack;

namespace {

// A copy on the heap that Destroy has to give back.
template <typename Opaque>
cublasStatus_t Create(Opaque** made, const Opaque& filled, const char* name) {
  const Call call;
  if (call.refused()) return CUBLAS_STATUS_ALLOC_FAILED;
  *made = new Opaque(filled);
  call.runtime().handles[*made] = name;
  return CUBLAS_STATUS_SUCCESS;
}

template <typename Opaque>
cublasStatus_t Destroy(Opaque* opaque, const char* name) {
  const Call call(CallKind::kReleasing);
  const auto found = call.runtime().handles.find(opaque);
  if (found == call.runtime().handles.end() || found->second != name) {
    fake_cuda::Fault(std::string("the end of a ") + name + " that is none");
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  call.runtime().handles.erase(found);
  delete opaque;
  return CUBLAS_STATUS_SUCCESS;
}

// Sets a field from exactly as many bytes as it has.
template <typename Field>
bool Set(Field& field, const void* value, size_t bytes) {
  if (value == nullptr || bytes != sizeof(Field)) return false;
  std::memcpy(&field, value, sizeof(Field));
  return true;
}

bool SetMatrix(Matrix& m, cublasLtMatrixLayoutAttribute_t attribute, const void* value,
               size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATRIX_LAYOUT_TYPE:
      return Set(m.type, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ORDER:
      return Set(m.order, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_ROWS:
      return Set(m.rows, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_COLS:
      return Set(m.cols, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_LD:
      return Set(m.ld, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_BATCH_COUNT:
      return Set(m.batch_count, value, bytes);
    case CUBLASLT_MATRIX_LAYOUT_STRIDED_BATCH_OFFSET:
      return Set(m.batch_stride, value, bytes);
  }
  return false;
}

bool SetOperation(Operation& o, cublasLtMatmulDescAttributes_t attribute, const void* value,
                  size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_DESC_COMPUTE_TYPE:
      return Set(o.compute, value, bytes);
    case CUBLASLT_MATMUL_DESC_SCALE_TYPE:
      return Set(o.scale, value, bytes);
    case CUBLASLT_MATMUL_DESC_POINTER_MODE:
      return Set(o.pointer_mode, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSA:
      return Set(o.transpose_a, value, bytes);
    case CUBLASLT_MATMUL_DESC_TRANSB:
      return Set(o.transpose_b, value, bytes);
    case CUBLASLT_MATMUL_DESC_EPILOGUE:
      return Set(o.epilogue, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_POINTER:
      return Set(o.bias, value, bytes);
    case CUBLASLT_MATMUL_DESC_BIAS_DATA_TYPE:
      return Set(o.bias_type, value, bytes);
  }
  return false;
}

bool SetPreference(Preference& p, cublasLtMatmulPreferenceAttributes_t attribute, const void* value,
                   size_t bytes) {
  switch (attribute) {
    case CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES:
      return Set(p.workspace_bytes, value, bytes);
    case CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK:
      return Set(p.reduction_schemes, value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES:
      return Set(p.alignments[0], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES:
      return Set(p.alignments[1], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES:
      return Set(p.alignments[2], value, bytes);
    case CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES:
      return Set(p.alignments[3], value, bytes);
  }
  return false;
}

// Reads, changes and writes back what an opaque structure holds.
template <typename Inner, typename Opaque, typename Attribute>
cublasStatus_t SetAttribute(Opaque* opaque, bool (*set)(Inner&, Attribute, const void*, size_t),
                            Attribute attribute, const void* value, size_t bytes) {
  if (opaque == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  Inner inner = Unpack<Inner>(opaque);
  if (!set(inner, attribute, value, bytes)) return CUBLAS_STATUS_INVALID_VALUE;
  Pack(inner, opaque);
  return CUBLAS_STATUS_SUCCESS;
}

}  // namespace

cublasStatus_t cublasLtMatrixLayoutInit(cublasLtMatrixLayout_t layout, cudaDataType type,
                                        uint64_t rows, uint64_t cols, int64_t ld) {
  *layout = {};
  Pack(Matrix{.type = type, .rows = rows, .cols = cols, .ld = ld}, layout);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t cols, int64_t ld) {
  cublasLtMatrixLayoutOpaque_t filled{};
  cublasLtMatrixLayoutInit(&filled, type, rows, cols, ld);
  return Create(layout, filled, "cublasLt matrix layout");
}

cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return Destroy(layout, "cublasLt matrix layout");
}

cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, size_t bytes) {
  return SetAttribute(layout, &SetMatrix, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulDescInit(cublasLtMatmulDesc_t description, cublasComputeType_t compute,
                                      cudaDataType_t scale) {
  *description = {};
  Pack(Operation{.compute = compute, .scale = scale}, description);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description,
                                        cublasComputeType_t compute, cudaDataType_t scale) {
  cublasLtMatmulDescOpaque_t filled{};
  cublasLtMatmulDescInit(&filled, compute, scale);
  return Create(description, filled, "cublasLt operation");
}

cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  return Destroy(description, "cublasLt operation");
}

cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  return SetAttribute(description, &SetOperation, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceInit(cublasLtMatmulPreference_t preference) {
  *preference = {};
  Pack(Preference{}, preference);
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  cublasLtMatmulPreferenceOpaque_t filled{};
  cublasLtMatmulPreferenceInit(&filled);
  return Create(preference, filled, "cublasLt preference");
}

cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return Destroy(preference, "cublasLt preference");
}

cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  return SetAttribute(preference, &SetPreference, attribute, value, bytes);
}

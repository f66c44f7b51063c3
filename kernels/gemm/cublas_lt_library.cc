// cublasLt's functions, as many as we call, each of which looks the real one up when it is first
// called. Loading that library takes 0.3 s and 500 MB of addresses, and it is missing on machines
// without CUDA: whoever only asks for help must neither wait for it nor need it.
//
// The names must not leave this program: the library calls some of them itself.
#pragma GCC visibility push(hidden)
#include <cublasLt.h>
#pragma GCC visibility pop

#include <dlfcn.h>

#define HORIZON_TEXT_OF(x) #x
#define HORIZON_TEXT(x) HORIZON_TEXT_OF(x)

namespace {

constexpr const char* kLibrary = "libcublasLt.so." HORIZON_TEXT(CUBLAS_VER_MAJOR);

// Null when it cannot be loaded. Loaded once and kept until the process ends.
void* Library() {
  static void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  return library;
}

// The real function of the type of kOurs.
template <auto kOurs>
decltype(kOurs) Real(const char* name) {
  static const auto real =
      Library() == nullptr ? nullptr : reinterpret_cast<decltype(kOurs)>(dlsym(Library(), name));
  return real;
}

template <auto kOurs, typename... Arguments>
cublasStatus_t Forward(const char* name, Arguments... arguments) {
  const auto real = Real<kOurs>(name);
  return real == nullptr ? CUBLAS_STATUS_NOT_INITIALIZED : real(arguments...);
}

}  // namespace

const char* cublasLtGetStatusString(cublasStatus_t status) {
  const auto real = Real<&cublasLtGetStatusString>("cublasLtGetStatusString");
  return real == nullptr
             ? "the library libcublasLt.so." HORIZON_TEXT(CUBLAS_VER_MAJOR) " cannot be loaded"
             : real(status);
}

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  return Forward<&cublasLtCreate>("cublasLtCreate", handle);
}
cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  return Forward<&cublasLtDestroy>("cublasLtDestroy", handle);
}

cublasStatus_t cublasLtMatmulDescCreate(cublasLtMatmulDesc_t* description,
                                        cublasComputeType_t compute_type,
                                        cudaDataType_t scale_type) {
  return Forward<&cublasLtMatmulDescCreate>("cublasLtMatmulDescCreate", description, compute_type,
                                            scale_type);
}
cublasStatus_t cublasLtMatmulDescDestroy(cublasLtMatmulDesc_t description) {
  return Forward<&cublasLtMatmulDescDestroy>("cublasLtMatmulDescDestroy", description);
}
cublasStatus_t cublasLtMatmulDescSetAttribute(cublasLtMatmulDesc_t description,
                                              cublasLtMatmulDescAttributes_t attribute,
                                              const void* value, size_t bytes) {
  return Forward<&cublasLtMatmulDescSetAttribute>("cublasLtMatmulDescSetAttribute", description,
                                                  attribute, value, bytes);
}

cublasStatus_t cublasLtMatrixLayoutCreate(cublasLtMatrixLayout_t* layout, cudaDataType type,
                                          uint64_t rows, uint64_t columns, int64_t stride) {
  return Forward<&cublasLtMatrixLayoutCreate>("cublasLtMatrixLayoutCreate", layout, type, rows,
                                              columns, stride);
}
cublasStatus_t cublasLtMatrixLayoutDestroy(cublasLtMatrixLayout_t layout) {
  return Forward<&cublasLtMatrixLayoutDestroy>("cublasLtMatrixLayoutDestroy", layout);
}
cublasStatus_t cublasLtMatrixLayoutSetAttribute(cublasLtMatrixLayout_t layout,
                                                cublasLtMatrixLayoutAttribute_t attribute,
                                                const void* value, size_t bytes) {
  return Forward<&cublasLtMatrixLayoutSetAttribute>("cublasLtMatrixLayoutSetAttribute", layout,
                                                    attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulPreferenceCreate(cublasLtMatmulPreference_t* preference) {
  return Forward<&cublasLtMatmulPreferenceCreate>("cublasLtMatmulPreferenceCreate", preference);
}
cublasStatus_t cublasLtMatmulPreferenceDestroy(cublasLtMatmulPreference_t preference) {
  return Forward<&cublasLtMatmulPreferenceDestroy>("cublasLtMatmulPreferenceDestroy", preference);
}
cublasStatus_t cublasLtMatmulPreferenceSetAttribute(cublasLtMatmulPreference_t preference,
                                                    cublasLtMatmulPreferenceAttributes_t attribute,
                                                    const void* value, size_t bytes) {
  return Forward<&cublasLtMatmulPreferenceSetAttribute>("cublasLtMatmulPreferenceSetAttribute",
                                                        preference, attribute, value, bytes);
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle,
                                              cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* found) {
  return Forward<&cublasLtMatmulAlgoGetHeuristic>("cublasLtMatmulAlgoGetHeuristic", handle,
                                                  description, a, b, c, d, preference, most,
                                                  results, found);
}
cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algorithm,
                                       cublasLtMatmulHeuristicResult_t* result) {
  return Forward<&cublasLtMatmulAlgoCheck>("cublasLtMatmulAlgoCheck", handle, description, a, b, c,
                                           d, algorithm, result);
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                              const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                              const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout,
                              const cublasLtMatmulAlgo_t* algorithm, void* workspace,
                              size_t workspace_bytes, cudaStream_t stream) {
  return Forward<&cublasLtMatmul>("cublasLtMatmul", handle, description, alpha, a, a_layout, b,
                                  b_layout, beta, c, c_layout, d, d_layout, algorithm, workspace,
                                  workspace_bytes, stream);
}

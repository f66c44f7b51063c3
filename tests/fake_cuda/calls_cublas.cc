// cublasLt: handles, heuristics and GEMMs. Descriptions are in cublas_descriptions.cc.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "tests/fake_cuda/cublas_descriptions.h"
#include "tests/fake_cuda/fault.h"
#include "tests/fake_cuda/gemm.h"
#include "tests/fake_cuda/runtime.h"

struct cublasLtContext {};

using fake_cuda::Call;
using fake_cuda::CallKind;
using fake_cuda::Fault;
using fake_cuda::Gemm;
using fake_cuda::Matrix;
using fake_cuda::Operation;
using fake_cuda::Pack;
using fake_cuda::Preference;
using fake_cuda::Runtime;
using fake_cuda::Unpack;
using fake_cuda::Work;

namespace {

constexpr uint64_t kMark = 0x6675626C61734C74;
// What an algorithm of the fake takes if it may; it writes all of it.
constexpr uint64_t kWantedWorkspace = uint64_t{64} << 10;
constexpr uint64_t kWorkspaceAlignment = 256;

// What a heuristic decided, as the opaque algorithm keeps it.
struct Algorithm {
  uint64_t mark = 0;
  uint64_t kind = 0;     // a hash of all but the sizes of what it was chosen for
  uint64_t problem = 0;  // a hash of all of what it was chosen for
  uint64_t k_step = 8;   // follows from the problem
  uint64_t workspace_bytes = 0;
  uint32_t alignments[4] = {};
};
static_assert(sizeof(Algorithm) <= sizeof(cublasLtMatmulAlgo_t));

// An algorithm multiplies matrices of other sizes too, as long as operation and types are those it
// was chosen for and cublasLtMatmulAlgoCheck was asked; each output then has the sum that this
// algorithm takes. Which one is chosen follows from sizes and strides, and so do the bits: code
// that wants the bits of a whole for its parts has to choose for the whole.
uint64_t KindOf(const Operation& operation, const Matrix& a, const Matrix& b, const Matrix& c,
                const Matrix& d) {
  std::vector<uint64_t> words = {static_cast<uint64_t>(operation.compute),
                                 static_cast<uint64_t>(operation.transpose_a),
                                 static_cast<uint64_t>(operation.transpose_b), operation.epilogue};
  for (const Matrix* matrix : {&a, &b, &c, &d}) {
    words.push_back(static_cast<uint64_t>(matrix->type));
    words.push_back(static_cast<uint64_t>(matrix->order));
  }
  return fake_cuda::HashBytes(words.data(), words.size() * sizeof(uint64_t));
}

uint64_t HashMatrix(uint64_t hash, const Matrix& m) {
  const uint64_t words[] = {hash,
                            static_cast<uint64_t>(m.type),
                            m.rows,
                            static_cast<uint64_t>(m.order),
                            m.cols,
                            static_cast<uint64_t>(m.ld),
                            static_cast<uint64_t>(m.batch_count),
                            static_cast<uint64_t>(m.batch_stride)};
  return fake_cuda::HashBytes(words, sizeof(words));
}

uint64_t ProblemOf(const Operation& operation, const Matrix& a, const Matrix& b, const Matrix& c,
                   const Matrix& d) {
  const uint64_t words[] = {static_cast<uint64_t>(operation.compute),
                            static_cast<uint64_t>(operation.transpose_a),
                            static_cast<uint64_t>(operation.transpose_b), operation.epilogue};
  uint64_t hash = fake_cuda::HashBytes(words, sizeof(words));
  for (const Matrix* matrix : {&a, &b, &c, &d}) hash = HashMatrix(hash, *matrix);
  return hash;
}

bool IsHandle(const Runtime& runtime, const void* handle) {
  const auto found = runtime.handles.find(handle);
  if (found != runtime.handles.end() && found->second == "cublasLt handle") return true;
  Fault("a call of cublasLt with a handle that is none");
  return false;
}

// A fault, and false, unless the matrix lies within one allocation and is aligned as promised.
bool CheckOperand(const Runtime& runtime, const char* name, const void* data, uint64_t bytes,
                  uint32_t alignment) {
  if (!runtime.heap.Contains(data, bytes)) {
    Fault(std::string("a product: ") + name + " of " + std::to_string(bytes) + " bytes begins at " +
          runtime.heap.Describe(data) + " and does not lie within one allocation");
    return false;
  }
  if (reinterpret_cast<uintptr_t>(data) % alignment == 0) return true;
  Fault(std::string("a product: ") + name + " is not aligned to the " + std::to_string(alignment) +
        " bytes that were promised to the heuristic");
  return false;
}

bool Overlap(const void* a, uint64_t a_bytes, const void* b, uint64_t b_bytes) {
  const auto* first = static_cast<const std::byte*>(a);
  const auto* second = static_cast<const std::byte*>(b);
  return first < second + b_bytes && second < first + a_bytes;
}

bool CheckOperands(const Runtime& runtime, const Gemm& gemm, const Algorithm& algorithm) {
  const uint64_t d_bytes = SpanBytes(gemm.d);
  if (!CheckOperand(runtime, "A", gemm.a_data, SpanBytes(gemm.a), algorithm.alignments[0]) ||
      !CheckOperand(runtime, "B", gemm.b_data, SpanBytes(gemm.b), algorithm.alignments[1]) ||
      (gemm.beta != 0 &&
       !CheckOperand(runtime, "C", gemm.c_data, SpanBytes(gemm.c), algorithm.alignments[2])) ||
      !CheckOperand(runtime, "D", gemm.d_data, d_bytes, algorithm.alignments[3])) {
    return false;
  }
  if (gemm.operation.epilogue == CUBLASLT_EPILOGUE_BIAS &&
      !CheckOperand(runtime, "the bias", gemm.operation.bias,
                    gemm.d.rows * fake_cuda::ElementBytes(gemm.d.type), 1)) {
    return false;
  }
  if (fake_cuda::Overlap(gemm.d, gemm.d_data, gemm.a, gemm.a_data) ||
      fake_cuda::Overlap(gemm.d, gemm.d_data, gemm.b, gemm.b_data)) {
    Fault("a product: D overlaps A or B");
    return false;
  }
  return true;
}

bool CheckWorkspace(const Runtime& runtime, const Gemm& gemm, void* workspace, uint64_t bytes,
                    const CUstream_st& stream) {
  if (!runtime.heap.Contains(workspace, bytes) ||
      reinterpret_cast<uintptr_t>(workspace) % kWorkspaceAlignment != 0) {
    Fault("a product: its workspace of " + std::to_string(bytes) + " bytes begins at " +
          runtime.heap.Describe(workspace) + " and does not lie, aligned to 256 bytes, within " +
          "one allocation");
    return false;
  }
  for (const auto& other : runtime.streams) {
    if (other.get() == &stream) continue;
    for (const Work& work : other->queue) {
      if (!Overlap(work.workspace, work.workspace_bytes, workspace, bytes)) continue;
      Fault("a product: its workspace is used by a pending product of stream " +
            std::to_string(other->number));
      return false;
    }
  }
  for (const auto& [data, size] : {std::pair<const void*, uint64_t>{gemm.a_data, SpanBytes(gemm.a)},
                                   {gemm.b_data, SpanBytes(gemm.b)},
                                   {gemm.d_data, SpanBytes(gemm.d)}}) {
    if (!Overlap(data, size, workspace, bytes)) continue;
    Fault("a product: its workspace overlaps a matrix");
    return false;
  }
  return true;
}

bool CheckAlgorithm(const Runtime& runtime, const Gemm& gemm, const cublasLtMatmulAlgo_t* algo,
                    Algorithm& algorithm) {
  if (algo == nullptr) {
    Fault("a product without an algorithm: cublasLt would choose one anew each time");
    return false;
  }
  algorithm = Unpack<Algorithm>(algo);
  if (algorithm.mark != kMark ||
      algorithm.kind != KindOf(gemm.operation, gemm.a, gemm.b, gemm.c, gemm.d)) {
    Fault("a product with an algorithm that was chosen for another kind");
    return false;
  }
  const uint64_t problem = ProblemOf(gemm.operation, gemm.a, gemm.b, gemm.c, gemm.d);
  if (problem == algorithm.problem ||
      runtime.checked_algorithms.contains({algorithm.problem, problem})) {
    return true;
  }
  Fault("a product with an algorithm that was chosen for other sizes and not checked for these");
  return false;
}

void PushGemm(Runtime& runtime, CUstream_st& stream, const Gemm& gemm, const Algorithm& algorithm,
              void* workspace) {
  const double flops = 2.0 * static_cast<double>(gemm.d.cols) *
                       static_cast<double>(gemm.a.rows * gemm.a.cols) * gemm.d.batch_count;
  Work work{.what = "a product of " + std::to_string(gemm.d.rows) + " x " +
                    std::to_string(gemm.d.cols) + " on stream " + std::to_string(stream.number),
            .workspace = workspace,
            .workspace_bytes = algorithm.workspace_bytes,
            .milliseconds = 0.005 + flops * 1e-10};
  work.run = [&runtime, gemm, algorithm, workspace, what = work.what] {
    if (!CheckOperands(runtime, gemm, algorithm)) return;
    // An algorithm may leave anything there.
    if (algorithm.workspace_bytes > 0) std::memset(workspace, 0xEE, algorithm.workspace_bytes);
    const std::string flaw = RunGemm(gemm, algorithm.k_step);
    if (!flaw.empty()) Fault(what + ": " + flaw);
  };
  Push(runtime, stream, std::move(work));
}

}  // namespace

cublasStatus_t cublasLtCreate(cublasLtHandle_t* handle) {
  const Call call;
  if (call.refused()) return CUBLAS_STATUS_NOT_INITIALIZED;
  *handle = new cublasLtContext;
  call.runtime().handles[*handle] = "cublasLt handle";
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtDestroy(cublasLtHandle_t handle) {
  const Call call(CallKind::kReleasing);
  if (!IsHandle(call.runtime(), handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  call.runtime().handles.erase(handle);
  delete handle;
  return call.refused() ? CUBLAS_STATUS_EXECUTION_FAILED : CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoGetHeuristic(cublasLtHandle_t handle,
                                              cublasLtMatmulDesc_t description,
                                              cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                              cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                              cublasLtMatmulPreference_t preference, int most,
                                              cublasLtMatmulHeuristicResult_t results[],
                                              int* count) {
  const Call call;
  *count = 0;
  if (call.refused()) return CUBLAS_STATUS_INTERNAL_ERROR;
  if (!IsHandle(call.runtime(), handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  if (most < 1) return CUBLAS_STATUS_INVALID_VALUE;
  const auto operation = Unpack<Operation>(description);
  const auto preferred = Unpack<Preference>(preference);
  const Matrix matrices[] = {Unpack<Matrix>(a), Unpack<Matrix>(b), Unpack<Matrix>(c),
                             Unpack<Matrix>(d)};
  const cublasStatus_t status =
      CheckGemm(operation, matrices[0], matrices[1], matrices[2], matrices[3]);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const uint64_t problem = ProblemOf(operation, matrices[0], matrices[1], matrices[2], matrices[3]);
  // Parts of a sum over k that may meet in an order of their own are in another one with each seed.
  const uint64_t disorder = preferred.reduction_schemes == CUBLASLT_REDUCTION_SCHEME_NONE
                                ? 0
                                : call.runtime().options.seed;
  Algorithm chosen{.mark = kMark,
                   .kind = KindOf(operation, matrices[0], matrices[1], matrices[2], matrices[3]),
                   .problem = problem,
                   .k_step = uint64_t{8} << (problem + disorder) % 4,
                   .workspace_bytes = std::min(preferred.workspace_bytes, kWantedWorkspace)};
  std::copy(std::begin(preferred.alignments), std::end(preferred.alignments), chosen.alignments);
  results[0] = {};
  Pack(chosen, &results[0].algo);
  results[0].workspaceSize = chosen.workspace_bytes;
  results[0].state = CUBLAS_STATUS_SUCCESS;
  results[0].wavesCount = 1.0f;
  *count = 1;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmulAlgoCheck(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                                       cublasLtMatrixLayout_t a, cublasLtMatrixLayout_t b,
                                       cublasLtMatrixLayout_t c, cublasLtMatrixLayout_t d,
                                       const cublasLtMatmulAlgo_t* algo,
                                       cublasLtMatmulHeuristicResult_t* result) {
  const Call call;
  if (call.refused()) return CUBLAS_STATUS_INTERNAL_ERROR;
  Runtime& runtime = call.runtime();
  if (!IsHandle(runtime, handle)) return CUBLAS_STATUS_NOT_INITIALIZED;
  const auto operation = Unpack<Operation>(description);
  const Matrix matrices[] = {Unpack<Matrix>(a), Unpack<Matrix>(b), Unpack<Matrix>(c),
                             Unpack<Matrix>(d)};
  const cublasStatus_t status =
      CheckGemm(operation, matrices[0], matrices[1], matrices[2], matrices[3]);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  const auto algorithm = Unpack<Algorithm>(algo);
  const uint64_t problem = ProblemOf(operation, matrices[0], matrices[1], matrices[2], matrices[3]);
  if (algorithm.mark != kMark ||
      algorithm.kind != KindOf(operation, matrices[0], matrices[1], matrices[2], matrices[3])) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  uint64_t workspace_bytes = algorithm.workspace_bytes;
  if (problem != algorithm.problem) {
    if (!runtime.options.algorithms_serve_other_sizes) return CUBLAS_STATUS_NOT_SUPPORTED;
    workspace_bytes = std::max(workspace_bytes, runtime.options.other_sizes_workspace_bytes);
  }
  runtime.checked_algorithms.emplace(algorithm.problem, problem);
  result->workspaceSize = workspace_bytes;
  result->state = CUBLAS_STATUS_SUCCESS;
  result->wavesCount = 1.0f;
  return CUBLAS_STATUS_SUCCESS;
}

cublasStatus_t cublasLtMatmul(cublasLtHandle_t handle, cublasLtMatmulDesc_t description,
                              const void* alpha, const void* a, cublasLtMatrixLayout_t a_layout,
                              const void* b, cublasLtMatrixLayout_t b_layout, const void* beta,
                              const void* c, cublasLtMatrixLayout_t c_layout, void* d,
                              cublasLtMatrixLayout_t d_layout, const cublasLtMatmulAlgo_t* algo,
                              void* workspace, size_t workspace_bytes, cudaStream_t stream) {
  const Call call;
  if (call.refused()) return CUBLAS_STATUS_EXECUTION_FAILED;
  Runtime& runtime = call.runtime();
  CUstream_st* found = fake_cuda::FindStream(runtime, stream);
  if (found == nullptr || !IsHandle(runtime, handle)) return CUBLAS_STATUS_INVALID_VALUE;
  if (alpha == nullptr || beta == nullptr) return CUBLAS_STATUS_INVALID_VALUE;
  Gemm gemm{.operation = Unpack<Operation>(description),
            .a = Unpack<Matrix>(a_layout),
            .b = Unpack<Matrix>(b_layout),
            .c = Unpack<Matrix>(c_layout),
            .d = Unpack<Matrix>(d_layout),
            .a_data = a,
            .b_data = b,
            .c_data = c,
            .d_data = d};
  std::memcpy(&gemm.alpha, alpha, sizeof(float));
  std::memcpy(&gemm.beta, beta, sizeof(float));
  const cublasStatus_t status = CheckGemm(gemm.operation, gemm.a, gemm.b, gemm.c, gemm.d);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  Algorithm algorithm;
  if (!CheckAlgorithm(runtime, gemm, algo, algorithm) ||
      workspace_bytes < algorithm.workspace_bytes || !CheckOperands(runtime, gemm, algorithm) ||
      (algorithm.workspace_bytes > 0 &&
       !CheckWorkspace(runtime, gemm, workspace, workspace_bytes, *found))) {
    return CUBLAS_STATUS_INVALID_VALUE;
  }
  PushGemm(runtime, *found, gemm, algorithm, workspace);
  return CUBLAS_STATUS_SUCCESS;
}

size_t cublasLtGetVersion() { return 130000; }

const char* cublasLtGetStatusName(cublasStatus_t status) {
  switch (status) {
    case CUBLAS_STATUS_SUCCESS:
      return "CUBLAS_STATUS_SUCCESS";
    case CUBLAS_STATUS_NOT_INITIALIZED:
      return "CUBLAS_STATUS_NOT_INITIALIZED";
    case CUBLAS_STATUS_ALLOC_FAILED:
      return "CUBLAS_STATUS_ALLOC_FAILED";
    case CUBLAS_STATUS_INVALID_VALUE:
      return "CUBLAS_STATUS_INVALID_VALUE";
    case CUBLAS_STATUS_ARCH_MISMATCH:
      return "CUBLAS_STATUS_ARCH_MISMATCH";
    case CUBLAS_STATUS_MAPPING_ERROR:
      return "CUBLAS_STATUS_MAPPING_ERROR";
    case CUBLAS_STATUS_EXECUTION_FAILED:
      return "CUBLAS_STATUS_EXECUTION_FAILED";
    case CUBLAS_STATUS_INTERNAL_ERROR:
      return "CUBLAS_STATUS_INTERNAL_ERROR";
    case CUBLAS_STATUS_NOT_SUPPORTED:
      return "CUBLAS_STATUS_NOT_SUPPORTED";
  }
  return "CUBLAS_STATUS_?";
}

const char* cublasLtGetStatusString(cublasStatus_t status) { return cublasLtGetStatusName(status); }

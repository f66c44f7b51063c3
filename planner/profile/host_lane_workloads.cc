#include "planner/profile/host_lane_workloads.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/host_memory.h"
#include "common/kernel_context.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/threads/workers.h"
#include "kernels/elementwise/convert.h"
#include "kernels/gemm/gemm.h"
#include "kernels/optimizer/adam.h"
#include "kernels/optimizer/squared_norm.h"

namespace horizon {
namespace {

constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kCopyBytes = kMiB;                  // of a copy's piece
constexpr int64_t kGradientValues = int64_t{1} << 19;  // bf16, of an accumulated piece
constexpr int64_t kAdamParameters = int64_t{1} << 17;
constexpr uint64_t kAdamBytes = 14 * kAdamParameters;  // gradient, both halves, both moments
// Of a product: the rows of a small batch by a layer's matrix.
constexpr int64_t kRows = 256;
constexpr int64_t kSide = 512;

// The workloads, in their order.
enum Place : size_t { kIn, kMultiply, kOut, kGradient, kAdam };

// Pieces of memory, one after another and again from the start.
class Walk {
 public:
  Walk(std::byte* data, uint64_t bytes, uint64_t piece)
      : data_(data), pieces_(bytes / piece), piece_(piece) {
    CHECK(pieces_ >= 1);
  }
  std::byte* Next() {
    at_ = (at_ + 1) % pieces_;
    return data_ + at_ * piece_;
  }

 private:
  std::byte* data_;
  uint64_t pieces_;
  uint64_t piece_;
  uint64_t at_ = 0;
};

float* Floats(std::byte* data) { return reinterpret_cast<float*>(data); }
uint16_t* Halves(std::byte* data) { return reinterpret_cast<uint16_t*>(data); }

}  // namespace

struct HostLaneWorkloads::Parts {
  HostMemory arena;
  HostMemory scratch;
  // By lane, in the order of workloads(): each is called by a thread of its own.
  std::vector<std::unique_ptr<Workers>> workers;
  std::vector<KernelContext> contexts;
  std::vector<Walk> walks;
  std::vector<double> partials;

  absl::Status CopyIn() {
    std::byte* piece = walks[kIn].Next();
    return ExpandWeightsHost(contexts[kIn],
                             {.count = static_cast<int64_t>(kCopyBytes / sizeof(uint16_t)),
                              .hi = Halves(piece),
                              .weights = Floats(piece + kCopyBytes)});
  }
  absl::Status Multiply() {
    float* a = Floats(walks[kMultiply].Next());
    return GemmHost(contexts[kMultiply], {.form = GemmForm::kForward,
                                          .m = kRows,
                                          .n = kSide,
                                          .k = kSide,
                                          .a = a,
                                          .a_stride = kSide,
                                          .b = a + kRows * kSide,
                                          .b_stride = kSide,
                                          .c = a + kRows * kSide + kSide * kSide,
                                          .c_stride = kSide});
  }
  absl::Status CopyOut() {
    std::byte* piece = walks[kOut].Next();
    return CopyBytesHost(
        contexts[kOut],
        {.bytes = static_cast<int64_t>(kCopyBytes), .from = piece, .to = piece + kCopyBytes});
  }
  absl::Status Accumulate() {
    uint16_t* arriving = Halves(walks[kGradient].Next());
    uint16_t* kept = arriving + kGradientValues;
    RETURN_IF_ERROR(
        AccumulateHost(contexts[kGradient],
                       {.count = kGradientValues, .gradient_bf16 = arriving, .kept_bf16 = kept}));
    return SquaredNormHost(contexts[kGradient],
                           {.count = kGradientValues, .bf16 = kept, .partials = partials.data()});
  }
  absl::Status Update() {
    std::byte* piece = walks[kAdam].Next();
    const auto part = [&](uint64_t bytes_before) { return piece + bytes_before * kAdamParameters; };
    return AdamUpdateHost(contexts[kAdam], {.count = kAdamParameters,
                                            .constants = AdamConstantsOf({}),
                                            .gradient_bf16 = Halves(part(0)),
                                            .hi = Halves(part(2)),
                                            .lo = reinterpret_cast<int16_t*>(part(4)),
                                            .m = part(6),
                                            .v = part(10)});
  }
};

absl::StatusOr<std::unique_ptr<HostLaneWorkloads>> HostLaneWorkloads::Create(
    int64_t compute_threads, Bytes memory_bytes) {
  CHECK(compute_threads >= 1 && memory_bytes >= kLeastLaneBytes);
  auto parts = std::make_unique<Parts>();
  const uint64_t each = memory_bytes.value() / kWorkloads / kMiB * kMiB;
  ASSIGN_OR_RETURN(parts->arena, HostMemory::Create(Bytes(kWorkloads * each)));
  // Usual numbers, whether they are read as floats or as bf16 (2^-7).
  std::fill_n(Halves(parts->arena.data()), kWorkloads * each / sizeof(uint16_t), uint16_t{0x3C00});
  // Moments and masters begin at zero.
  std::fill_n(parts->arena.data() + kAdam * each, each, std::byte{0});
  ASSIGN_OR_RETURN(parts->scratch, HostMemory::Create(Bytes(kWorkerScratchBytes) * compute_threads,
                                                      {.populate = false}));
  for (size_t lane = 0; lane < kWorkloads; ++lane) {
    parts->workers.push_back(Workers::Inline());
    if (lane == kMultiply) {
      ASSIGN_OR_RETURN(parts->workers.back(),
                       Workers::Create("beside", static_cast<int>(compute_threads)));
    }
    parts->contexts.push_back(
        {.workers = parts->workers.back().get(),
         .scratch = lane == kMultiply ? parts->scratch.span() : std::span<std::byte>()});
  }
  parts->partials.resize(static_cast<size_t>(kGradientValues) / SquaredNorm().block + 1);
  const uint64_t matrices = sizeof(float) * (2 * kRows * kSide + kSide * kSide);
  const uint64_t pieces[kWorkloads] = {3 * kCopyBytes, matrices, 2 * kCopyBytes,
                                       2 * sizeof(uint16_t) * kGradientValues, kAdamBytes};
  for (size_t lane = 0; lane < kWorkloads; ++lane) {
    parts->walks.emplace_back(parts->arena.data() + lane * each, each, pieces[lane]);
  }
  return std::unique_ptr<HostLaneWorkloads>(new HostLaneWorkloads(std::move(parts)));
}

HostLaneWorkloads::HostLaneWorkloads(std::unique_ptr<Parts> parts) : parts_(std::move(parts)) {
  Parts* const own = parts_.get();
  const int threads = own->workers[kMultiply]->count();
  workloads_ = {{.lane = Lane::kH2d,
                 .what = "weights expanded by one thread",
                 .piece = [own] { return own->CopyIn(); }},
                {.lane = Lane::kCompute,
                 .what = StrCat("products by ", threads, threads == 1 ? " thread" : " threads"),
                 .piece = [own] { return own->Multiply(); }},
                {.lane = Lane::kD2h,
                 .what = "a copy by one thread",
                 .piece = [own] { return own->CopyOut(); }},
                {.lane = Lane::kHost,
                 .what = "gradients accumulated and squared by one thread",
                 .piece = [own] { return own->Accumulate(); }},
                {.lane = Lane::kOptimizer, .what = "Adam by one thread", .piece = [own] {
                   return own->Update();
                 }}};
}

HostLaneWorkloads::~HostLaneWorkloads() = default;

}  // namespace horizon

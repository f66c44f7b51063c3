#include "planner/host_rates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/check.h"
#include "common/host_memory.h"
#include "common/kernel_context.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "common/workers.h"
#include "kernels/adam.h"
#include "kernels/attention.h"
#include "kernels/convert.h"
#include "kernels/gemm.h"
#include "kernels/rms_norm.h"
#include "kernels/swiglu.h"
#include "kernels/token_record.h"
#include "planner/measure.h"

namespace horizon {
namespace {

// The other two dimensions of the products; together with 512 rows three matrices take 10 MiB.
constexpr int64_t kGemmWidth = 1024;
constexpr std::array<int64_t, 4> kFewRows = {16, 64, 256, 512};
constexpr std::array<int64_t, 7> kManyRows = {8, 16, 32, 64, 128, 256, 512};
constexpr std::array<int64_t, 2> kFewSequences = {256, 1024};
constexpr std::array<int64_t, 4> kManySequences = {128, 256, 512, 1024};
constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr std::array<uint64_t, 3> kFewCopies = {64 * kKiB, 1024 * kKiB, 4096 * kKiB};
constexpr std::array<uint64_t, 5> kManyCopies = {16 * kKiB, 64 * kKiB, 256 * kKiB, 1024 * kKiB,
                                                 4096 * kKiB};
constexpr int64_t kHeads = 8;
constexpr int64_t kHeadDim = 64;
constexpr int64_t kNormWidth = 1024;
std::vector<int64_t> ThreadCounts(int64_t cores) {
  std::vector<int64_t> counts;
  for (int64_t threads = 1; threads < cores; threads *= 2) counts.push_back(threads);
  counts.push_back(cores);
  return counts;
}

std::span<const int64_t> RowsOf(const HostRates& rates) {
  return rates.quick ? std::span<const int64_t>(kFewRows) : kManyRows;
}
std::span<const int64_t> SequencesOf(const HostRates& rates) {
  return rates.quick ? std::span<const int64_t>(kFewSequences) : kManySequences;
}
std::span<const uint64_t> CopiesOf(const HostRates& rates) {
  return rates.quick ? std::span<const uint64_t>(kFewCopies) : kManyCopies;
}

class Prober {
 public:
  Prober(Clock& clock, const HostRates& rates)
      : rates_(rates),
        cores_(rates.cores),
        threads_(ThreadCounts(rates.cores)),
        time_(clock, Nanoseconds(static_cast<int64_t>(std::min(rates.time.value, 3600.0) * 1e9)),
              HostRateCount(rates), rates.on_measured) {}

  absl::Status Prepare();
  absl::Status Products(DeviceProfile& device);
  absl::Status Attention(DeviceProfile& device);
  absl::Status Elements(DeviceProfile& device);
  absl::Status Launch(DeviceProfile& device);
  absl::Status Copies(LinkProfile& link);
  absl::Status Passes(HostProfile& host);
  absl::Status Adam(HostProfile& host);

  Origin Source(std::string source) const {
    return {.kind = OriginKind::kMeasured, .source = std::move(source), .when = rates_.when};
  }
  Figure FigureOf(double work, const Measured& measured, std::string source) const {
    Figure figure{.value = work / measured.seconds, .origin = Source(std::move(source))};
    figure.origin.repeats = measured.repeats;
    figure.origin.spread = measured.spread;
    return figure;
  }

 private:
  float* Floats(uint64_t byte_offset) const {
    return reinterpret_cast<float*>(arena_.data() + byte_offset);
  }
  // The next piece of `bytes` of a third of the arena, so that caches do not hold it yet.
  uint64_t NextPiece(uint64_t bytes) {
    if (turn_ + bytes > third_) turn_ = 0;
    return std::exchange(turn_, turn_ + bytes);
  }
  absl::StatusOr<Measured> Measure(absl::FunctionRef<absl::Status()> work) {
    return time_.Measure(work);
  }
  const KernelContext& All() const { return contexts_.at(cores_); }

  const HostRates& rates_;
  int64_t cores_;
  std::vector<int64_t> threads_;
  MeasuringTime time_;
  HostMemory arena_;
  HostMemory scratch_;
  uint64_t third_ = 0;  // bytes; arrays begin at 0, third_ and 2 x third_
  uint64_t turn_ = 0;
  std::vector<std::unique_ptr<Workers>> workers_;
  std::map<int64_t, KernelContext> contexts_;  // by threads
};

absl::Status Prober::Prepare() {
  third_ = rates_.arena_bytes / 3 / 4096 * 4096;
  ASSIGN_OR_RETURN(arena_, HostMemory::Create(3 * third_));
  ASSIGN_OR_RETURN(scratch_, HostMemory::Create(static_cast<uint64_t>(cores_) * kWorkerScratchBytes,
                                                {.populate = false}));
  for (const int64_t threads : threads_) {
    ASSIGN_OR_RETURN(std::unique_ptr<Workers> workers,
                     Workers::Create("probe", static_cast<int>(threads)));
    contexts_[threads] = {.workers = workers.get(), .scratch = scratch_.span()};
    workers_.push_back(std::move(workers));
  }
  // Numbers of usual size: products of zeros or denormals may be quicker or slower.
  float* values = Floats(0);
  for (uint64_t i = 0; i < 3 * third_ / sizeof(float); ++i) {
    values[i] = static_cast<float>(static_cast<int>(i * 37 % 127) - 63) * 0x1p-6F;
  }
  return absl::OkStatus();
}

absl::Status Prober::Products(DeviceProfile& device) {
  device.gemm_fp32.origin = Source(StrCat("a layer's three products, rows x ", kGemmWidth, " x ",
                                          kGemmWidth, ", on ", cores_, " threads; by rows"));
  const float* weights = Floats(0);
  const float* inputs = Floats(third_);
  float* outputs = Floats(2 * third_);
  constexpr int64_t kN = kGemmWidth;
  for (const int64_t rows : RowsOf(rates_)) {
    ASSIGN_OR_RETURN(
        const Measured measured, Measure([&]() -> absl::Status {
          const auto product = [&](GemmForm form, int64_t m, int64_t k, const float* a,
                                   const float* b) {
            return GemmHost(All(), {.form = form,
                                    .m = m,
                                    .n = kN,
                                    .k = k,
                                    .a = a,
                                    .a_stride = kN,
                                    .b = b,
                                    .b_stride = kN,
                                    .c = outputs,
                                    .c_stride = kN});
          };
          RETURN_IF_ERROR(product(GemmForm::kForward, rows, kN, inputs, weights));
          RETURN_IF_ERROR(product(GemmForm::kInputGradient, rows, kN, inputs, weights));
          return product(GemmForm::kWeightGradient, kN, rows, inputs, weights);
        }));
    AddPoint(device.gemm_fp32, static_cast<double>(rows),
             3.0 * 2.0 * static_cast<double>(rows * kN * kN), measured);
  }
  device.gemm_bf16 = device.gemm_fp32;
  device.gemm_bf16.origin.source += "; device `host` computes in fp32";
  return absl::OkStatus();
}

absl::Status Prober::Attention(DeviceProfile& device) {
  device.attention.origin = Source(StrCat("forward and backward of ", kHeads, " heads of ",
                                          kHeadDim, " on ", cores_, " threads"));
  for (const int64_t sequence : SequencesOf(rates_)) {
    const AttentionShape shape = {.batch = 1024 / sequence,
                                  .sequence = sequence,
                                  .heads = kHeads,
                                  .kv_heads = kHeads,
                                  .head_dim = kHeadDim,
                                  .scale = 1.0F / std::sqrt(static_cast<float>(kHeadDim))};
    const uint64_t size = 1024 * kHeads * kHeadDim;
    CHECK(9 * size * sizeof(float) <= kLeastArenaBytes);
    const auto array = [&](uint64_t number) { return Floats(number * size * sizeof(float)); };
    std::vector<TokenRecord> records(1024);
    for (int64_t t = 0; t < 1024; ++t) {
      records[static_cast<size_t>(t)].position = static_cast<int32_t>(t % sequence);
    }
    ASSIGN_OR_RETURN(const Measured measured, Measure([&]() -> absl::Status {
                       RETURN_IF_ERROR(AttentionForwardHost(All(), {.shape = shape,
                                                                    .records = records.data(),
                                                                    .q = array(0),
                                                                    .k = array(1),
                                                                    .v = array(2),
                                                                    .output = array(3),
                                                                    .log_sum_exp = array(8)}));
                       return AttentionBackwardHost(All(), {.shape = shape,
                                                            .records = records.data(),
                                                            .q = array(0),
                                                            .k = array(1),
                                                            .v = array(2),
                                                            .output = array(3),
                                                            .log_sum_exp = array(8),
                                                            .output_gradient = array(4),
                                                            .output_dot = array(8) + 1024 * kHeads,
                                                            .q_gradient = array(5),
                                                            .k_gradient = array(6),
                                                            .v_gradient = array(7)});
                     }));
    // 4 flops a pair and channel forward and 10 backward, as model/stage_work.h counts.
    const int64_t pairs = shape.batch * sequence * (sequence + 1) / 2;
    AddPoint(device.attention, static_cast<double>(sequence),
             14.0 * static_cast<double>(pairs * kHeads * kHeadDim), measured);
  }
  return absl::OkStatus();
}

absl::Status Prober::Elements(DeviceProfile& device) {
  const auto count = static_cast<int64_t>(
      std::min<uint64_t>(third_ / sizeof(float), uint64_t{2} << 20) / kNormWidth * kNormWidth);
  ASSIGN_OR_RETURN(const Measured measured, Measure([&]() -> absl::Status {
                     RETURN_IF_ERROR(SwigluForwardHost(All(), {.count = count,
                                                               .gate = Floats(0),
                                                               .up = Floats(third_),
                                                               .output = Floats(2 * third_)}));
                     return RmsNormForwardHost(All(), {.rows = count / kNormWidth,
                                                       .width = kNormWidth,
                                                       .x = Floats(0),
                                                       .weight = Floats(third_),
                                                       .y = Floats(2 * third_)});
                   }));
  device.element_bytes_per_second =
      FigureOf(5.0 * 4.0 * static_cast<double>(count), measured,
               StrCat("SwiGLU and RMSNorm over ", count, " values on ", cores_, " threads"));
  return absl::OkStatus();
}

absl::Status Prober::Launch(DeviceProfile& device) {
  ASSIGN_OR_RETURN(const Measured measured, Measure([&] {
                     All().workers->Run(cores_, [](int64_t, int) {});
                     return absl::OkStatus();
                   }));
  device.launch_seconds = FigureOf(1, measured, StrCat("waking ", cores_, " threads"));
  device.launch_seconds.value = measured.seconds;
  return absl::OkStatus();
}

absl::Status Prober::Copies(LinkProfile& link) {
  const KernelContext& one = contexts_.at(1);
  link.h2d_pinned.origin =
      Source("weights expanded from their high halves by one thread; by bytes");
  link.d2h_pinned.origin = Source("a copy by one thread; by bytes");
  for (const uint64_t bytes : CopiesOf(rates_)) {
    // Every high half takes twice its size when expanded.
    ASSIGN_OR_RETURN(const Measured in, Measure([&] {
                       const uint64_t at = NextPiece(2 * bytes);
                       return ExpandWeightsHost(
                           one, {.count = static_cast<int64_t>(bytes / sizeof(uint16_t)),
                                 .hi = reinterpret_cast<const uint16_t*>(arena_.data() + at),
                                 .weights = Floats(third_ + at)});
                     }));
    AddPoint(link.h2d_pinned, static_cast<double>(bytes), static_cast<double>(bytes), in);
    ASSIGN_OR_RETURN(const Measured out, Measure([&] {
                       const uint64_t at = NextPiece(bytes);
                       return CopyBytesHost(one, {.bytes = static_cast<int64_t>(bytes),
                                                  .from = Floats(at),
                                                  .to = Floats(third_ + at)});
                     }));
    AddPoint(link.d2h_pinned, static_cast<double>(bytes), static_cast<double>(bytes), out);
  }
  link.h2d_pageable = link.h2d_pinned;
  link.d2h_pageable = link.d2h_pinned;
  const int64_t threads = std::min<int64_t>(cores_, 2);
  ASSIGN_OR_RETURN(const Measured both, Measure([&] {
                     const uint64_t at = NextPiece(kFewCopies.back());
                     return CopyBytesHost(contexts_.at(threads),
                                          {.bytes = static_cast<int64_t>(kFewCopies.back()),
                                           .from = Floats(at),
                                           .to = Floats(third_ + at)});
                   }));
  link.both_ways_bytes_per_second = FigureOf(static_cast<double>(kFewCopies.back()), both,
                                             StrCat("copies by ", threads, " threads at once"));
  return absl::OkStatus();
}

absl::Status Prober::Passes(HostProfile& host) {
  const auto count = static_cast<int64_t>(third_ / sizeof(float));
  host.dram.origin = Source("gradients added to kept ones, 12 bytes a value; by threads");
  host.pack.origin = Source("bytes copied out; by threads");
  for (const int64_t threads : threads_) {
    const KernelContext& context = contexts_.at(threads);
    ASSIGN_OR_RETURN(const Measured pass, Measure([&] {
                       return AccumulateHost(context, {.count = count,
                                                       .gradient_fp32 = Floats(0),
                                                       .add = true,
                                                       .kept_fp32 = Floats(third_)});
                     }));
    AddPoint(host.dram, static_cast<double>(threads), 12.0 * static_cast<double>(count), pass);
    ASSIGN_OR_RETURN(const Measured pack, Measure([&] {
                       return CopyBytesHost(context, {.bytes = static_cast<int64_t>(third_),
                                                      .from = Floats(0),
                                                      .to = Floats(2 * third_)});
                     }));
    AddPoint(host.pack, static_cast<double>(threads), static_cast<double>(third_), pack);
  }
  return absl::OkStatus();
}

absl::Status Prober::Adam(HostProfile& host) {
  // 16 bytes hold everything one parameter has in the largest format.
  const uint64_t count = 3 * third_ / 16 / 2 / 4096 * 4096;
  std::memset(arena_.data(), 0, arena_.size());
  const auto part = [&](uint64_t bytes_before) { return arena_.data() + bytes_before * count; };
  auto* gradients = reinterpret_cast<uint16_t*>(part(0));
  std::fill_n(gradients, count, uint16_t{0x3C00});  // 1/128
  AdamUpdate update = {.count = static_cast<int64_t>(count),
                       .constants = AdamConstantsOf({}),
                       .gradient_bf16 = gradients,
                       .hi = reinterpret_cast<uint16_t*>(part(2)),
                       .m = part(6),
                       .v = part(10)};
  update.m_scales = reinterpret_cast<float*>(part(14));
  update.v_scales = update.m_scales + count / kAdamBlock;
  for (int f = 0; f < kStateFormatCount; ++f) {
    const auto format = static_cast<StateFormat>(f);
    update.lo = format == StateFormat::kBf16Weights ? nullptr : reinterpret_cast<int16_t*>(part(4));
    update.moments = format == StateFormat::kBf16Moments   ? MomentType::kBf16
                     : format == StateFormat::k8BitMoments ? MomentType::k8Bit
                                                           : MomentType::kFp32;
    // The moments of another format are no moments of this one.
    std::memset(part(6), 0, 10 * count);
    Curve& curve = host.adam[static_cast<size_t>(f)];
    curve.origin = Source(StrCat("Adam over ", count, " parameters; by threads"));
    for (const int64_t threads : threads_) {
      ASSIGN_OR_RETURN(const Measured measured,
                       Measure([&] { return AdamUpdateHost(contexts_.at(threads), update); }));
      AddPoint(curve, static_cast<double>(threads), static_cast<double>(count), measured);
    }
  }
  return absl::OkStatus();
}

}  // namespace

// What the members of Prober measure, in their order.
int64_t HostRateCount(const HostRates& rates) {
  const auto threads = static_cast<int64_t>(ThreadCounts(rates.cores).size());
  const size_t sizes =
      RowsOf(rates).size() + SequencesOf(rates).size() + 2 * CopiesOf(rates).size();
  return static_cast<int64_t>(sizes) + 3 + (2 + kStateFormatCount) * threads;
}

absl::Status MeasureHostRates(Clock& clock, const HostRates& rates, HardwareProfile& profile) {
  CHECK(rates.cores >= 1 && rates.cores <= 1024 && rates.arena_bytes >= kLeastArenaBytes);
  Prober prober(clock, rates);
  RETURN_IF_ERROR(prober.Prepare());
  RETURN_IF_ERROR(prober.Products(profile.device));
  RETURN_IF_ERROR(prober.Attention(profile.device));
  RETURN_IF_ERROR(prober.Elements(profile.device));
  RETURN_IF_ERROR(prober.Launch(profile.device));
  RETURN_IF_ERROR(prober.Copies(profile.link));
  RETURN_IF_ERROR(prober.Passes(profile.host));
  RETURN_IF_ERROR(prober.Adam(profile.host));
  profile.link.latency_seconds = profile.device.launch_seconds;
  profile.device.memory_bytes_per_second = {.value = profile.host.dram.Highest(),
                                            .origin = profile.host.dram.origin};
  return absl::OkStatus();
}

}  // namespace horizon

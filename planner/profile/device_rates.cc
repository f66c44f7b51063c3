#include "planner/profile/device_rates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/check.h"
#include "common/host_memory.h"
#include "common/kernel_context.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "planner/profile/measure.h"

namespace horizon {
namespace {

constexpr std::array<int64_t, 6> kRows = {16, 64, 256, 1024, 2048, 4096};
constexpr std::array<int64_t, 4> kSequences = {128, 512, 2048, 4096};
constexpr std::array<Bytes, 4> kCopies = {64_KiB, 1_MiB, 8_MiB, 32_MiB};
constexpr int64_t kHeads = 8;
constexpr int64_t kHeadDim = 128;
constexpr int64_t kNormWidth = 1024;
constexpr int64_t kLaunches = 64;  // one after another, to see what one costs
constexpr size_t kPassSizes = 3;   // from kLeastMatrixBytes to kUsualMatrixBytes by eights
constexpr int64_t kMatrices = 9;   // of matrix_bytes: attention and its backward have most arrays

// Rows and columns of the square matrix that fills `bytes`, a power of two.
int64_t WidthOf(Bytes bytes, ValueType values) {
  int64_t width = 1;
  while (static_cast<uint64_t>(4 * width * width * BytesOf(values)) <= bytes.value()) width *= 2;
  return width;
}

AttentionShape ShapeOf(int64_t tokens, int64_t sequence) {
  return {.batch = tokens / sequence,
          .sequence = sequence,
          .heads = kHeads,
          .kv_heads = kHeads,
          .head_dim = kHeadDim,
          .scale = 1.0F / std::sqrt(static_cast<float>(kHeadDim))};
}

// The most tokens for which the arrays of attention fit into the matrices.
int64_t TokensOf(Bytes matrix_bytes, ValueType values) {
  const auto each = static_cast<uint64_t>(kHeads * kHeadDim * BytesOf(values));
  return std::min<int64_t>(kSequences.back(), static_cast<int64_t>(matrix_bytes.value() / each));
}

Bytes CudaScratchBytes(const DeviceRateOptions& options) {
  const int64_t tokens = TokensOf(options.matrix_bytes, ValueType::kBf16);
  uint64_t most = 0;
  for (const int64_t sequence : kSequences) {
    if (sequence > tokens) break;
    most = std::max({most, AttentionForwardWorkspaceBytes(ShapeOf(tokens, sequence)),
                     AttentionBackwardWorkspaceBytes(ShapeOf(tokens, sequence))});
  }
  return Bytes(kGemmWorkspaceBytes) + Bytes(most);
}

Bytes HostScratchBytes(int threads) { return Bytes(kWorkerScratchBytes) * threads; }

Bytes Aligned(Bytes bytes) { return bytes.RoundedUp(kDeviceAlignment); }

// Numbers beside the matrices: one fp32 for each token and head, twice, and the tokens.
Bytes SmallBytes(const DeviceRateOptions& options, ValueType values) {
  const auto tokens = static_cast<uint64_t>(TokensOf(options.matrix_bytes, values));
  return Aligned(Bytes(2 * kHeads * sizeof(float) + sizeof(TokenRecord)) * tokens);
}

// Measures the rates of MeasureDeviceRates one after another, in memory and on streams that all the
// measurements share.
class DeviceRateProber {
 public:
  DeviceRateProber(Clock& clock, const RatedDevice& rated, const DeviceRateOptions& options)
      : rated_(rated),
        options_(options),
        time_(clock, Nanoseconds(static_cast<int64_t>(std::min(options.time.value, 3600.0) * 1e9)),
              kMeasurements) {}

  absl::Status Prepare();
  absl::Status MeasureGemm(DeviceProfile& device);
  absl::Status MeasureAttention(DeviceProfile& device);
  absl::Status MeasureMemoryPasses(DeviceProfile& device);
  absl::Status MeasureCopies(LinkProfile& link);
  absl::Status MeasureBothWays(LinkProfile& link);

 private:
  static constexpr auto kMeasurements = static_cast<int64_t>(
      kRows.size() + kSequences.size() + 2 * kPassSizes + 1 + 2 * kCopies.size() + 2);
  struct Grown {
    int64_t bytes = 0;
    Measured measured;
  };

  Origin Source(std::string source) const {
    return {.kind = OriginKind::kMeasured, .source = std::move(source), .when = options_.when};
  }
  Figure FigureOf(double value, const Measured& measured, std::string source) const {
    Figure figure{.value = value, .origin = Source(std::move(source))};
    figure.origin.repeats = measured.repeats;
    figure.origin.spread = measured.spread;
    return figure;
  }
  std::byte* Matrix(int64_t number) const {
    return matrices_.data() + static_cast<uint64_t>(number) * options_.matrix_bytes.value();
  }
  Values Numbers(int64_t matrix) const { return {Matrix(matrix), rated_.values}; }
  std::byte* Host(int64_t part) const {
    return host_.data() + static_cast<uint64_t>(part) * options_.matrix_bytes.value();
  }
  absl::Status Launch(KernelCall kernel) {
    return rated_.device.Launch(compute_, {.name = "measure"}, std::move(kernel));
  }
  // How long `work`, put on `stream`, takes there.
  absl::StatusOr<Measured> Time(StreamRef stream, absl::FunctionRef<absl::Status()> work);
  // The largest of ascending sizes, up to a matrix, that there is time for.
  absl::StatusOr<Grown> Grow(absl::FunctionRef<absl::Status(int64_t bytes)> work);
  // Whether work of `flops` can be expected to end in its time, after work that was measured.
  bool HasTimeFor(double flops, double last_flops, const Measured& last) const {
    return 2 * last.seconds * flops / last_flops < time_.Share();
  }

  const RatedDevice& rated_;
  const DeviceRateOptions& options_;
  MeasuringTime time_;
  DeviceMemory matrices_;
  DeviceMemory small_;
  DeviceMemory scratch_;
  HostMemory host_;  // two matrices
  struct Registration {
    Device* device = nullptr;
    std::span<std::byte> memory;
    ~Registration() {
      if (device != nullptr) device->UnregisterHost(memory).IgnoreError();
    }
  } registration_;
  StreamRef compute_;
  StreamRef to_device_;
  StreamRef to_host_;
  std::array<EventRef, 4> events_;
};

absl::Status DeviceRateProber::Prepare() {
  ASSIGN_OR_RETURN(matrices_, rated_.device.Allocate(kMatrices * options_.matrix_bytes));
  ASSIGN_OR_RETURN(small_, rated_.device.Allocate(SmallBytes(options_, rated_.values)));
  ASSIGN_OR_RETURN(scratch_, rated_.device.Allocate(rated_.device_context == nullptr
                                                        ? HostScratchBytes(rated_.threads)
                                                        : CudaScratchBytes(options_)));
  ASSIGN_OR_RETURN(host_, HostMemory::Create(2 * options_.matrix_bytes));
  RETURN_IF_ERROR(rated_.device.RegisterHost(host_.span()));
  registration_.device = &rated_.device;
  registration_.memory = host_.span();
  ASSIGN_OR_RETURN(compute_,
                   rated_.device.CreateStream({.name = "rates",
                                               .threads = rated_.threads,
                                               .scratch = {scratch_.data(), scratch_.size()},
                                               .device_context = rated_.device_context}));
  ASSIGN_OR_RETURN(to_device_, rated_.device.CreateStream({.name = "rates in"}));
  ASSIGN_OR_RETURN(to_host_, rated_.device.CreateStream({.name = "rates out"}));
  for (EventRef& event : events_) {
    ASSIGN_OR_RETURN(event, rated_.device.CreateEvent());
  }
  // Numbers of usual size: a GEMM of zeros or denormals may be quicker or slower.
  for (uint64_t i = 0; i < host_.size() / 4; ++i) {
    const float value = static_cast<float>(static_cast<int>(i * 37 % 127) - 63) * 0x1p-6F;
    if (rated_.values == ValueType::kFp32) {
      std::memcpy(host_.data() + 4 * i, &value, 4);
    } else {
      uint32_t bits = 0;
      std::memcpy(&bits, &value, 4);
      const std::array<uint16_t, 2> pair = {static_cast<uint16_t>(bits >> 16),
                                            static_cast<uint16_t>(bits >> 16)};
      std::memcpy(host_.data() + 4 * i, pair.data(), 4);
    }
  }
  for (int64_t matrix = 0; matrix < kMatrices; ++matrix) {
    RETURN_IF_ERROR(rated_.device.CopyToDevice(compute_, Matrix(matrix), Host(matrix % 2),
                                               options_.matrix_bytes));
  }
  RETURN_IF_ERROR(rated_.device.Record(compute_, events_[0]));
  return rated_.device.Await(events_[0]);
}

absl::StatusOr<Measured> DeviceRateProber::Time(StreamRef stream,
                                                absl::FunctionRef<absl::Status()> work) {
  return time_.MeasureSelfTimed([&]() -> absl::StatusOr<double> {
    RETURN_IF_ERROR(rated_.device.Record(stream, events_[0]));
    RETURN_IF_ERROR(work());
    RETURN_IF_ERROR(rated_.device.Record(stream, events_[1]));
    RETURN_IF_ERROR(rated_.device.Await(events_[1]));
    ASSIGN_OR_RETURN(const Nanoseconds begin, rated_.device.TimeOf(events_[0]));
    ASSIGN_OR_RETURN(const Nanoseconds end, rated_.device.TimeOf(events_[1]));
    return std::chrono::duration<double>(end - begin).count();
  });
}

absl::Status DeviceRateProber::MeasureGemm(DeviceProfile& device) {
  const int64_t width = WidthOf(options_.matrix_bytes, rated_.values);
  Curve curve{.origin = Source(
                  StrCat("a layer's three products, rows x ", width, " x ", width, "; by rows"))};
  double last_flops = 0;
  Measured last;
  for (const int64_t rows : kRows) {
    if (rows > width) break;
    const double flops = 3.0 * 2.0 * static_cast<double>(rows * width) * static_cast<double>(width);
    if (!curve.points.empty() && !HasTimeFor(flops, last_flops, last)) break;
    const auto gemm = [&](GemmForm form, int64_t m, int64_t k) {
      return Launch([this, form, m, k, width](const KernelContext& context) {
        return rated_.kernels.gemm(context, {.form = form,
                                             .m = m,
                                             .n = width,
                                             .k = k,
                                             .a = Numbers(0),
                                             .a_stride = width,
                                             .b = Numbers(1),
                                             .b_stride = width,
                                             .c = Numbers(2),
                                             .c_stride = width});
      });
    };
    ASSIGN_OR_RETURN(last, Time(compute_, [&]() -> absl::Status {
                       RETURN_IF_ERROR(gemm(GemmForm::kForward, rows, width));
                       RETURN_IF_ERROR(gemm(GemmForm::kInputGradient, rows, width));
                       return gemm(GemmForm::kWeightGradient, width, rows);
                     }));
    last_flops = flops;
    AddPoint(curve, static_cast<double>(rows), flops, last);
  }
  device.gemm_bf16 = curve;
  device.gemm_fp32 = curve;
  if (rated_.values == ValueType::kBf16) {
    // No GEMM of a run has fp32 operands there.
    device.gemm_fp32.origin.source += "; of bf16, the only type this device multiplies for us";
  }
  return absl::OkStatus();
}

absl::Status DeviceRateProber::MeasureAttention(DeviceProfile& device) {
  const int64_t tokens = TokensOf(options_.matrix_bytes, rated_.values);
  device.attention = {.origin = Source(StrCat("forward and backward of ", kHeads, " heads of ",
                                              kHeadDim, ", ", tokens, " tokens; by sequence"))};
  auto* log_sum_exp = reinterpret_cast<float*>(small_.data());
  float* output_dot = log_sum_exp + tokens * kHeads;
  auto* records = reinterpret_cast<TokenRecord*>(output_dot + tokens * kHeads);
  double last_flops = 0;
  Measured last;
  for (const int64_t sequence : kSequences) {
    if (sequence > tokens) break;
    const AttentionShape shape = ShapeOf(tokens, sequence);
    // 4 flops a pair and channel forward and 10 backward, as model/stage_work.h counts.
    const int64_t pairs = shape.batch * sequence * (sequence + 1) / 2;
    const double flops = 14.0 * static_cast<double>(pairs * kHeads * kHeadDim);
    if (!device.attention.points.empty() && !HasTimeFor(flops, last_flops, last)) break;
    auto* positions = reinterpret_cast<TokenRecord*>(host_.data());
    for (int64_t t = 0; t < tokens; ++t) {
      positions[t] = {.position = static_cast<int32_t>(t % sequence)};
    }
    RETURN_IF_ERROR(rated_.device.CopyToDevice(
        compute_, reinterpret_cast<std::byte*>(records), host_.data(),
        Bytes(sizeof(TokenRecord)) * static_cast<uint64_t>(shape.batch * sequence)));
    ASSIGN_OR_RETURN(
        last, Time(compute_, [&]() -> absl::Status {
          RETURN_IF_ERROR(Launch([=, this](const KernelContext& context) {
            return rated_.kernels.attention_forward(context, {.shape = shape,
                                                              .records = records,
                                                              .q = Numbers(0),
                                                              .k = Numbers(1),
                                                              .v = Numbers(2),
                                                              .output = Numbers(3),
                                                              .log_sum_exp = log_sum_exp});
          }));
          return Launch([=, this](const KernelContext& context) {
            return rated_.kernels.attention_backward(context, {.shape = shape,
                                                               .records = records,
                                                               .q = Numbers(0),
                                                               .k = Numbers(1),
                                                               .v = Numbers(2),
                                                               .output = Numbers(3),
                                                               .log_sum_exp = log_sum_exp,
                                                               .output_gradient = Numbers(4),
                                                               .output_dot = output_dot,
                                                               .q_gradient = Numbers(5),
                                                               .k_gradient = Numbers(6),
                                                               .v_gradient = Numbers(7)});
          });
        }));
    last_flops = flops;
    AddPoint(device.attention, static_cast<double>(sequence), flops, last);
  }
  return absl::OkStatus();
}

absl::StatusOr<DeviceRateProber::Grown> DeviceRateProber::Grow(
    absl::FunctionRef<absl::Status(int64_t bytes)> work) {
  Grown grown;
  for (Bytes bytes = kLeastMatrixBytes; bytes <= options_.matrix_bytes; bytes *= 8) {
    const auto size = static_cast<int64_t>(bytes.value());
    if (grown.bytes > 0 &&
        !HasTimeFor(static_cast<double>(size), static_cast<double>(grown.bytes), grown.measured)) {
      break;
    }
    ASSIGN_OR_RETURN(grown.measured, Time(compute_, [&] { return work(size); }));
    grown.bytes = size;
  }
  return grown;
}

absl::Status DeviceRateProber::MeasureMemoryPasses(DeviceProfile& device) {
  const auto values_of = [&](int64_t bytes) {
    return bytes / BytesOf(rated_.values) / kNormWidth * kNormWidth;
  };
  ASSIGN_OR_RETURN(
      const Grown elements, Grow([&](int64_t bytes) -> absl::Status {
        const int64_t count = values_of(bytes);
        RETURN_IF_ERROR(Launch([this, count](const KernelContext& context) {
          return rated_.kernels.glu_forward(
              context,
              {.count = count, .gate = Numbers(0), .up = Numbers(1), .output = Numbers(2)});
        }));
        return Launch([this, count](const KernelContext& context) {
          return rated_.kernels.rms_norm_forward(context, {.rows = count / kNormWidth,
                                                           .width = kNormWidth,
                                                           .x = Numbers(0),
                                                           .weight = Numbers(1),
                                                           .y = Numbers(2)});
        });
      }));
  device.element_bytes_per_second = FigureOf(
      5.0 * static_cast<double>(elements.bytes) / elements.measured.seconds, elements.measured,
      StrCat("SwiGLU and RMSNorm over ", values_of(elements.bytes), " values"));
  const auto copy = [&](int64_t bytes) {
    return Launch([this, bytes](const KernelContext& context) {
      return rated_.kernels.copy_bytes(context,
                                       {.bytes = bytes, .from = Matrix(0), .to = Matrix(1)});
    });
  };
  ASSIGN_OR_RETURN(const Grown large, Grow(copy));
  device.memory_bytes_per_second =
      FigureOf(2.0 * static_cast<double>(large.bytes) / large.measured.seconds, large.measured,
               "a copy within the device, read and written");
  ASSIGN_OR_RETURN(const Measured small, Time(compute_, [&]() -> absl::Status {
                     for (int64_t i = 0; i < kLaunches; ++i) RETURN_IF_ERROR(copy(16));
                     return absl::OkStatus();
                   }));
  device.launch_seconds = FigureOf(small.seconds / static_cast<double>(kLaunches), small,
                                   StrCat(kLaunches, " kernels of 16 bytes in a row"));
  return absl::OkStatus();
}

absl::Status DeviceRateProber::MeasureCopies(LinkProfile& link) {
  link.h2d_pinned = {.origin = Source("page-locked memory to the device; by bytes")};
  link.d2h_pinned = {.origin = Source("the device to page-locked memory; by bytes")};
  const auto in = [&](Bytes bytes) {
    return rated_.device.CopyToDevice(to_device_, Matrix(0), Host(0), bytes);
  };
  const auto out = [&](Bytes bytes) {
    return rated_.device.CopyToHost(to_host_, Host(1), Matrix(1), bytes);
  };
  for (const Bytes bytes : kCopies) {
    if (bytes > options_.matrix_bytes) break;
    const auto size = static_cast<double>(bytes);
    ASSIGN_OR_RETURN(const Measured there, Time(to_device_, [&] { return in(bytes); }));
    AddPoint(link.h2d_pinned, size, size, there);
    ASSIGN_OR_RETURN(const Measured back, Time(to_host_, [&] { return out(bytes); }));
    AddPoint(link.d2h_pinned, size, size, back);
  }
  ASSIGN_OR_RETURN(const Measured least, Time(to_device_, [&] { return in(8_B); }));
  link.latency_seconds = FigureOf(least.seconds, least, "a copy of 8 bytes to the device");
  return absl::OkStatus();
}

absl::Status DeviceRateProber::MeasureBothWays(LinkProfile& link) {
  const Bytes bytes = std::min(kCopies[2], options_.matrix_bytes);
  ASSIGN_OR_RETURN(const Measured both, time_.MeasureSelfTimed([&]() -> absl::StatusOr<double> {
    RETURN_IF_ERROR(rated_.device.Record(to_device_, events_[0]));
    RETURN_IF_ERROR(rated_.device.Record(to_host_, events_[1]));
    RETURN_IF_ERROR(rated_.device.CopyToDevice(to_device_, Matrix(0), Host(0), bytes));
    RETURN_IF_ERROR(rated_.device.CopyToHost(to_host_, Host(1), Matrix(1), bytes));
    RETURN_IF_ERROR(rated_.device.Record(to_device_, events_[2]));
    RETURN_IF_ERROR(rated_.device.Record(to_host_, events_[3]));
    std::array<Nanoseconds, 4> times{};
    for (const size_t i : {2, 3}) RETURN_IF_ERROR(rated_.device.Await(events_[i]));
    for (size_t i = 0; i < times.size(); ++i) {
      ASSIGN_OR_RETURN(times[i], rated_.device.TimeOf(events_[i]));
    }
    return std::chrono::duration<double>(std::max(times[2], times[3]) -
                                         std::min(times[0], times[1]))
        .count();
  }));
  link.both_ways_bytes_per_second = FigureOf(2.0 * static_cast<double>(bytes) / both.seconds, both,
                                             "a copy each way at once, summed");
  return absl::OkStatus();
}

// A pageable copy goes through a page-locked staging buffer: it is the device's copy, and before
// (or after) it a copy by one thread.
Curve Pageable(Curve pinned, double thread_bytes_per_second) {
  for (Curve::Point& point : pinned.points) {
    point.y = 1 / (1 / point.y + 1 / thread_bytes_per_second);
  }
  pinned.origin.source += "; with a copy by one thread";
  return pinned;
}

}  // namespace

Bytes CudaRatingBytes(const DeviceRateOptions& options) {
  return kMatrices * options.matrix_bytes + SmallBytes(options, ValueType::kBf16) +
         Aligned(CudaScratchBytes(options));
}

Bytes HostRatingBytes(const DeviceRateOptions& options, int threads) {
  return kMatrices * options.matrix_bytes + SmallBytes(options, ValueType::kFp32) +
         Aligned(HostScratchBytes(threads));
}

absl::Status MeasureDeviceRates(Clock& clock, const RatedDevice& rated,
                                const DeviceRateOptions& options, HardwareProfile& profile) {
  CHECK(options.matrix_bytes >= kLeastMatrixBytes &&
        options.matrix_bytes == Aligned(options.matrix_bytes));
  DeviceRateProber prober(clock, rated, options);
  RETURN_IF_ERROR(prober.Prepare());
  RETURN_IF_ERROR(prober.MeasureGemm(profile.device));
  RETURN_IF_ERROR(prober.MeasureAttention(profile.device));
  RETURN_IF_ERROR(prober.MeasureMemoryPasses(profile.device));
  RETURN_IF_ERROR(prober.MeasureCopies(profile.link));
  RETURN_IF_ERROR(prober.MeasureBothWays(profile.link));
  CHECK(!profile.host.pack.points.empty());
  const double thread = profile.host.pack.At(1);
  profile.link.h2d_pageable = Pageable(profile.link.h2d_pinned, thread);
  profile.link.d2h_pageable = Pageable(profile.link.d2h_pinned, thread);
  return absl::OkStatus();
}

}  // namespace horizon

#include "planner/profile/host_rates.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "common/check.h"
#include "common/host_memory.h"
#include "common/kernel_context.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/threads/workers.h"
#include "kernels/activation/glu.h"
#include "kernels/arguments/token_record.h"
#include "kernels/attention/attention.h"
#include "kernels/elementwise/convert.h"
#include "kernels/experts/expert_gemm.h"
#include "kernels/gemm/gemm.h"
#include "kernels/head/head_loss.h"
#include "kernels/norm/rms_norm.h"
#include "kernels/optimizer/adam.h"
#include "kernels/optimizer/squared_norm.h"
#include "planner/profile/machine_speed.h"
#include "planner/profile/measure.h"
#include "planner/profile/yardstick.h"

namespace horizon {
namespace {

// GEMMs of this many flops or more reach the rate that their smallest dimension allows.
constexpr double kLargeGemmFlops = 1e9;
// Sides of a matrix; three of them fit a third of the least arena each.
constexpr int64_t kLongestSide = 1408;
// Weights that successive GEMMs walk through: more than the caches of the cores hold, and about as
// much as the chunks that a step has loaded.
constexpr uint64_t kWalkedBytes = uint64_t{16} << 20;
constexpr std::array<int64_t, 4> kFewRows = {16, 64, 256, 768};
constexpr std::array<int64_t, 8> kManyRows = {8, 16, 32, 64, 128, 256, 512, 1024};
// Of cubes, small to large.
constexpr std::array<int64_t, 5> kFewCubes = {64, 160, 320, 640, 1024};
constexpr std::array<int64_t, 8> kManyCubes = {64, 96, 160, 224, 320, 480, 720, 1024};
constexpr std::array<int64_t, 2> kFewSequences = {256, 1024};
constexpr std::array<int64_t, 4> kManySequences = {128, 256, 512, 1024};
constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr std::array<uint64_t, 3> kFewCopies = {64 * kKiB, 1024 * kKiB, 4096 * kKiB};
constexpr std::array<uint64_t, 5> kManyCopies = {16 * kKiB, 64 * kKiB, 256 * kKiB, 1024 * kKiB,
                                                 4096 * kKiB};
// Tokens of loss chunks; whole tiles.
constexpr std::array<int64_t, 2> kFewLossChunks = {128, 512};
constexpr std::array<int64_t, 4> kManyLossChunks = {128, 256, 512, 1024};
constexpr int64_t kHeadWidth = 512;
constexpr double kMostHeadFlops = 4e9;  // of one measurement, for each core
// Rows of an expert; their multiplies of this width and depth, of as many experts as fit.
constexpr std::array<int64_t, 2> kFewExpertRows = {16, 128};
constexpr std::array<int64_t, 5> kManyExpertRows = {4, 16, 64, 128, 256};
constexpr int64_t kExpertWidth = 256;
constexpr int64_t kExpertDepth = 512;
constexpr int64_t kMostExperts = 16;
constexpr int64_t kHeads = 8;
constexpr int64_t kHeadDim = 64;
constexpr int64_t kNormWidth = 1024;
// The speed of the machine is measured in windows of kSpeedWindow, which take this share of the
// time.
constexpr double kWindowsShare = 0.08;
constexpr double kLeastWindows = 4;
constexpr double kMostWindows = 40;

std::vector<int64_t> ThreadCounts(int64_t cores) {
  std::vector<int64_t> counts;
  for (int64_t threads = 1; threads < cores; threads *= 2) counts.push_back(threads);
  counts.push_back(cores);
  return counts;
}

std::span<const int64_t> RowsOf(const HostRateOptions& options) {
  return options.quick ? std::span<const int64_t>(kFewRows) : kManyRows;
}
std::span<const int64_t> CubesOf(const HostRateOptions& options) {
  return options.quick ? std::span<const int64_t>(kFewCubes) : kManyCubes;
}
std::span<const int64_t> SequencesOf(const HostRateOptions& options) {
  return options.quick ? std::span<const int64_t>(kFewSequences) : kManySequences;
}
std::span<const int64_t> LossChunksOf(const HostRateOptions& options) {
  return options.quick ? std::span<const int64_t>(kFewLossChunks) : kManyLossChunks;
}
std::span<const int64_t> ExpertRowsOf(const HostRateOptions& options) {
  return options.quick ? std::span<const int64_t>(kFewExpertRows) : kManyExpertRows;
}
std::span<const uint64_t> CopiesOf(const HostRateOptions& options) {
  return options.quick ? std::span<const uint64_t>(kFewCopies) : kManyCopies;
}

// Measures the rates of MeasureHostRates one after another, in memory and on threads that all the
// measurements share.
class HostRateProber {
 public:
  HostRateProber(Clock& clock, const HostRateOptions& options)
      : clock_(clock),
        options_(options),
        cores_(options.cores),
        threads_(ThreadCounts(options.cores)),
        time_(clock, Nanoseconds(static_cast<int64_t>(std::min(options.time.value, 3600.0) * 1e9)),
              HostRateCount(options), options.on_measured) {}

  absl::Status Prepare();
  absl::Status MeasureYardsticks();
  absl::Status MeasureGemm(DeviceProfile& device);
  absl::Status MeasureAttention(DeviceProfile& device);
  absl::Status MeasureHead(DeviceProfile& device);
  absl::Status MeasureExperts(DeviceProfile& device);
  absl::Status MeasureElementwise(DeviceProfile& device);
  absl::Status MeasureLaunch(DeviceProfile& device);
  absl::Status MeasureCopies(LinkProfile& link);
  absl::Status MeasureHostPasses(HostProfile& host);
  absl::Status MeasureAdam(HostProfile& host);
  // Brings the rates to the speed that the machine had on average while they were measured.
  void FinishAtMeanSpeed(HardwareProfile& profile) const;

  Origin Source(std::string source) const {
    return {.kind = OriginKind::kMeasured, .source = std::move(source), .when = options_.when};
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
  // What limits the speed of some work, and so which yardstick it is measured against.
  enum class Bound { kArithmetic, kMemory };
  absl::StatusOr<Measured> Measure(Bound bound, absl::FunctionRef<absl::Status()> work) {
    RETURN_IF_ERROR(SampleSpeed());
    return bound == Bound::kArithmetic
               ? time_.MeasureAgainst(
                     work, [this] { return yardstick_->TimeGemm(); }, usual_gemm_seconds_)
               : time_.MeasureAgainst(
                     work, [this] { return yardstick_->TimeMemoryPass(); }, usual_memory_seconds_);
  }
  absl::Status SampleSpeed();
  absl::Status RunLayerGemms(int64_t rows, int64_t side);
  absl::Status MeasureSmallGemmShare(DeviceProfile& device);
  const KernelContext& All() const { return contexts_.at(cores_); }

  Clock& clock_;
  const HostRateOptions& options_;
  int64_t cores_;
  std::vector<int64_t> threads_;
  MeasuringTime time_;
  HostMemory arena_;
  HostMemory scratch_;
  uint64_t third_ = 0;  // bytes; arrays begin at 0, third_ and 2 x third_
  uint64_t turn_ = 0;
  std::vector<std::unique_ptr<Workers>> workers_;
  std::map<int64_t, KernelContext> contexts_;  // by threads
  std::optional<Yardstick> yardstick_;
  // Seconds of the yardsticks, against which everything else is measured.
  double usual_gemm_seconds_ = 0;
  double usual_memory_seconds_ = 0;
  // Windows in which the speed was measured, spread over the time of all measurements.
  std::vector<Yardstick::Window> windows_;
  int64_t measurements_ = 0;  // begun so far
};

absl::Status HostRateProber::Prepare() {
  third_ = options_.arena_bytes.value() / 3 / 4096 * 4096;
  ASSIGN_OR_RETURN(arena_, HostMemory::Create(Bytes(3 * third_)));
  ASSIGN_OR_RETURN(scratch_,
                   HostMemory::Create(Bytes(kWorkerScratchBytes) * cores_, {.populate = false}));
  for (const int64_t threads : threads_) {
    ASSIGN_OR_RETURN(std::unique_ptr<Workers> workers,
                     Workers::Create("probe", static_cast<int>(threads)));
    contexts_[threads] = {.workers = workers.get(), .scratch = scratch_.span()};
    workers_.push_back(std::move(workers));
  }
  // Numbers of usual size: a GEMM of zeros or denormals may be quicker or slower.
  float* values = Floats(0);
  for (uint64_t i = 0; i < 3 * third_ / sizeof(float); ++i) {
    values[i] = static_cast<float>(static_cast<int>(i * 37 % 127) - 63) * 0x1p-6F;
  }
  ASSIGN_OR_RETURN(yardstick_,
                   Yardstick::Create(clock_, All(),
                                     std::min(options_.arena_bytes / 2, Yardstick::kMemoryBytes)));
  return absl::OkStatus();
}

// Measures the speed of the machine that rates are at first related to.
absl::Status HostRateProber::MeasureYardsticks() {
  ASSIGN_OR_RETURN(const Measured gemm,
                   time_.MeasureSelfTimed([this] { return yardstick_->TimeGemm(); }));
  ASSIGN_OR_RETURN(const Measured memory,
                   time_.MeasureSelfTimed([this] { return yardstick_->TimeMemoryPass(); }));
  usual_gemm_seconds_ = gemm.seconds;
  usual_memory_seconds_ = memory.seconds;
  return absl::OkStatus();
}

// Measures the speed for a moment, if it is time for the next window.
absl::Status HostRateProber::SampleSpeed() {
  const auto wanted = static_cast<int64_t>(std::clamp(
      kWindowsShare * options_.time.value / kSpeedWindow.value, kLeastWindows, kMostWindows));
  const int64_t due = 1 + measurements_++ * wanted / HostRateCount(options_);
  if (static_cast<int64_t>(windows_.size()) >= due) return absl::OkStatus();
  const Seconds window{std::min(kSpeedWindow.value,
                                options_.time.value * kWindowsShare / static_cast<double>(wanted))};
  ASSIGN_OR_RETURN(windows_.emplace_back(), yardstick_->TimeBoth(window));
  return absl::OkStatus();
}

void HostRateProber::FinishAtMeanSpeed(HardwareProfile& profile) const {
  const auto figure = [&](double work, double Yardstick::Window::*seconds, std::string source) {
    std::vector<double> values;
    double sum = 0;
    for (const Yardstick::Window& window : windows_) {
      values.push_back(window.*seconds);
      sum += window.*seconds;
    }
    const Spread spread = SpreadOf(values);
    const double mean = sum / static_cast<double>(values.size());
    return FigureOf(work, {.seconds = mean, .repeats = spread.repeats, .spread = spread.apart},
                    std::move(source));
  };
  const Figure gemm = figure(Yardstick::kFlops, &Yardstick::Window::gemm_seconds,
                             StrCat("a product of 512 cubed on ", cores_,
                                    " threads; the rates bound by arithmetic are as they are at "
                                    "this speed"));
  const Figure memory = figure(yardstick_->bytes(), &Yardstick::Window::memory_seconds,
                               StrCat("values added to others by ", cores_,
                                      " threads; the rates bound by memory are as they are at "
                                      "this speed"));
  profile = AtSpeed(std::move(profile),
                    {.gemm = gemm.value * usual_gemm_seconds_ / Yardstick::kFlops,
                     .memory = memory.value * usual_memory_seconds_ / yardstick_->bytes()});
  profile.host.yardstick_flops_per_second = gemm;
  profile.host.yardstick_bytes_per_second = memory;
}

// Runs a layer's three GEMMs (forward, input gradient, weight gradient) of `rows` tokens and a
// matrix of side x side. As in a step, the weights were not used just before, and the weight
// gradient goes to another place than the last call's.
absl::Status HostRateProber::RunLayerGemms(int64_t rows, int64_t side) {
  const uint64_t weights = static_cast<uint64_t>(side * side) * sizeof(float);
  const uint64_t at = turn_ + weights > std::min(third_, kWalkedBytes) ? 0 : turn_;
  turn_ = at + weights;
  const auto gemm = [&](GemmForm form, int64_t m, int64_t k) {
    return GemmHost(All(), {.form = form,
                            .m = m,
                            .n = side,
                            .k = k,
                            .a = Floats(third_),
                            .a_stride = side,
                            .b = Floats(at),
                            .b_stride = side,
                            .c = Floats(2 * third_ + at),
                            .c_stride = side});
  };
  RETURN_IF_ERROR(gemm(GemmForm::kForward, rows, side));
  RETURN_IF_ERROR(gemm(GemmForm::kInputGradient, rows, side));
  return gemm(GemmForm::kWeightGradient, side, rows);
}

absl::Status HostRateProber::MeasureGemm(DeviceProfile& device) {
  device.gemm_fp32.origin = Source(
      StrCat("a layer's three large products on ", cores_, " threads; by smallest dimension"));
  for (const int64_t rows : RowsOf(options_)) {
    const auto side = std::clamp(
        static_cast<int64_t>(std::sqrt(kLargeGemmFlops / 2 / static_cast<double>(rows))) / 32 * 32,
        rows, kLongestSide);
    ASSIGN_OR_RETURN(const Measured measured,
                     Measure(Bound::kArithmetic, [&] { return RunLayerGemms(rows, side); }));
    AddPoint(device.gemm_fp32, static_cast<double>(rows),
             3.0 * 2.0 * static_cast<double>(rows * side * side), measured);
  }
  device.gemm_bf16 = device.gemm_fp32;
  device.gemm_bf16.origin.source += "; device `host` computes in fp32";
  return MeasureSmallGemmShare(device);
}

absl::Status HostRateProber::MeasureSmallGemmShare(DeviceProfile& device) {
  Curve share{.origin = Source(StrCat("three cubic products on ", cores_,
                                      " threads, beside the rate of their dimension; by flops"))};
  for (const int64_t side : CubesOf(options_)) {
    const double flops = 2.0 * static_cast<double>(side * side * side);
    ASSIGN_OR_RETURN(const Measured measured,
                     Measure(Bound::kArithmetic, [&] { return RunLayerGemms(side, side); }));
    const double full = device.gemm_fp32.At(static_cast<double>(side));
    AddPoint(share, flops, 3.0 * flops / full, measured);
  }
  device.gemm_share = std::move(share);
  return absl::OkStatus();
}

absl::Status HostRateProber::MeasureAttention(DeviceProfile& device) {
  device.attention.origin = Source(StrCat("forward and backward of ", kHeads, " heads of ",
                                          kHeadDim, " on ", cores_, " threads"));
  for (const int64_t sequence : SequencesOf(options_)) {
    const AttentionShape shape = {.batch = 1024 / sequence,
                                  .sequence = sequence,
                                  .heads = kHeads,
                                  .kv_heads = kHeads,
                                  .head_dim = kHeadDim,
                                  .scale = 1.0F / std::sqrt(static_cast<float>(kHeadDim))};
    const uint64_t size = 1024 * kHeads * kHeadDim;
    CHECK(9 * size * sizeof(float) <= kLeastArenaBytes.value());
    const auto array = [&](uint64_t number) { return Floats(number * size * sizeof(float)); };
    std::vector<TokenRecord> records(1024);
    for (int64_t t = 0; t < 1024; ++t) {
      records[static_cast<size_t>(t)].position = static_cast<int32_t>(t % sequence);
    }
    ASSIGN_OR_RETURN(const Measured measured, Measure(Bound::kArithmetic, [&]() -> absl::Status {
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

// The loss of chunks of tokens over as many rows of a vocabulary as there is memory for. The arena
// holds weights and inputs in its first third, logits and sums in the second, gradients in the
// last.
absl::Status HostRateProber::MeasureHead(DeviceProfile& device) {
  const uint64_t token_bytes = kHeadWidth * sizeof(float);
  const auto tiles_in = [](uint64_t bytes, uint64_t row_bytes) {
    return static_cast<int64_t>(bytes / row_bytes / kVocabularyTileRows);
  };
  Curve curve{.origin = Source(StrCat("logits, softmax and gradients of ", kHeadWidth,
                                      " channels on ", cores_, " threads; by tokens"))};
  for (const int64_t tokens : LossChunksOf(options_)) {
    const auto count = static_cast<uint64_t>(tokens);
    const double tile_flops = 6.0 * static_cast<double>(tokens * kVocabularyTileRows * kHeadWidth);
    const int64_t most =
        std::min({static_cast<int64_t>(kMostHeadFlops * static_cast<double>(cores_) / tile_flops),
                  tiles_in(third_ - count * token_bytes, token_bytes),
                  tiles_in(third_ - count * sizeof(TokenSums), count * sizeof(float))});
    // The same number for each core, so that none waits for another.
    const int64_t tiles = most < cores_ ? most : most / cores_ * cores_;
    if (tiles < 1) break;
    const int64_t rows = tiles * kVocabularyTileRows;
    const HeadShape shape = {.tokens = tokens, .hidden = kHeadWidth, .rows = rows};
    const auto weights = static_cast<uint64_t>(rows) * token_bytes;
    float* logits = Floats(third_);
    std::vector<TokenRecord> records(count);
    for (int64_t t = 0; t < tokens; ++t) {
      records[static_cast<size_t>(t)].label = static_cast<int32_t>(t * 37 % rows);
    }
    LossSum loss;
    ASSIGN_OR_RETURN(const Measured measured, Measure(Bound::kArithmetic, [&] {
                       return HeadLossHost(
                           All(), {.shape = shape,
                                   .input = Floats(weights),
                                   .weights = Floats(0),
                                   .records = records.data(),
                                   .sums = reinterpret_cast<TokenSums*>(logits + tokens * rows),
                                   .scale = 1.0F / static_cast<float>(tokens),
                                   .logits = logits,
                                   .loss = &loss,
                                   .clear_loss = true,
                                   .input_gradient = Floats(2 * third_ + weights),
                                   .weight_gradient = Floats(2 * third_),
                                   .first_chunk = true});
                     }));
    AddPoint(curve, static_cast<double>(tokens),
             6.0 * static_cast<double>(tokens * rows) * kHeadWidth, measured);
  }
  if (!curve.points.empty()) device.head = std::move(curve);
  return absl::OkStatus();
}

// Forward, input gradient and weight gradient of experts that all have as many rows. The arena
// holds inputs in its first third, weights in the second, and results in the last.
absl::Status HostRateProber::MeasureExperts(DeviceProfile& device) {
  Curve curve{.origin = Source(StrCat("three grouped products of experts with ", kExpertDepth,
                                      " x ", kExpertWidth, " weights on ", cores_,
                                      " threads; by rows of an expert"))};
  const int64_t matrix = kExpertWidth * kExpertDepth;
  for (const int64_t rows : ExpertRowsOf(options_)) {
    const auto fits = static_cast<int64_t>(third_ / sizeof(float)) /
                      std::max(matrix, rows * (kExpertDepth + kExpertWidth));
    const int64_t experts = std::min(kMostExperts, fits);
    if (experts < 1) break;
    std::vector<int32_t> begins;
    for (int64_t e = 0; e <= experts; ++e) begins.push_back(static_cast<int32_t>(e * rows));
    const int64_t all = experts * rows;
    float* x = Floats(0);
    float* y = x + all * kExpertDepth;
    ASSIGN_OR_RETURN(const Measured measured, Measure(Bound::kArithmetic, [&]() -> absl::Status {
                       ExpertGemm gemm = {.experts = experts,
                                          .begins = begins.data(),
                                          .most_rows = all,
                                          .n = kExpertWidth,
                                          .k = kExpertDepth,
                                          .a = x,
                                          .a_stride = kExpertDepth,
                                          .b = Floats(third_),
                                          .b_transposed = Transposed::kYes,
                                          .b_stride = kExpertDepth,
                                          .b_expert_stride = matrix,
                                          .c = Floats(2 * third_),
                                          .c_stride = kExpertWidth};
                       RETURN_IF_ERROR(ExpertGemmHost(All(), gemm));
                       gemm.n = gemm.c_stride = kExpertDepth;
                       gemm.k = gemm.a_stride = kExpertWidth;
                       gemm.a = y;
                       gemm.b_transposed = Transposed::kNo;
                       RETURN_IF_ERROR(ExpertGemmHost(All(), gemm));
                       return ExpertWeightGradientHost(All(),
                                                       {.experts = experts,
                                                        .begins = begins.data(),
                                                        .most_rows = all,
                                                        .m = kExpertWidth,
                                                        .n = kExpertDepth,
                                                        .a = y,
                                                        .a_stride = kExpertWidth,
                                                        .b = x,
                                                        .b_stride = kExpertDepth,
                                                        .gradient = {.sum = Floats(2 * third_)},
                                                        .gradient_expert_stride = matrix});
                     }));
    AddPoint(curve, static_cast<double>(rows), 3.0 * 2.0 * static_cast<double>(all * matrix),
             measured);
  }
  if (!curve.points.empty()) device.experts = std::move(curve);
  return absl::OkStatus();
}

absl::Status HostRateProber::MeasureElementwise(DeviceProfile& device) {
  const auto count = static_cast<int64_t>(
      std::min<uint64_t>(third_ / sizeof(float), uint64_t{512} << 10) / kNormWidth * kNormWidth);
  ASSIGN_OR_RETURN(const Measured measured, Measure(Bound::kArithmetic, [&]() -> absl::Status {
                     RETURN_IF_ERROR(GluForwardHost(All(), {.count = count,
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

absl::Status HostRateProber::MeasureLaunch(DeviceProfile& device) {
  ASSIGN_OR_RETURN(const Measured measured, Measure(Bound::kArithmetic, [&] {
                     All().workers->Run(cores_, [](int64_t, int) {});
                     return absl::OkStatus();
                   }));
  device.launch_seconds = FigureOf(1, measured, StrCat("waking ", cores_, " threads"));
  device.launch_seconds.value = measured.seconds;
  return absl::OkStatus();
}

absl::Status HostRateProber::MeasureCopies(LinkProfile& link) {
  const KernelContext& one = contexts_.at(1);
  // What a copy takes besides its bytes: one byte is as good as none.
  ASSIGN_OR_RETURN(const Measured least, Measure(Bound::kArithmetic, [&] {
                     return CopyBytesHost(one,
                                          {.bytes = 1, .from = Floats(0), .to = Floats(third_)});
                   }));
  link.latency_seconds = FigureOf(1, least, "a copy of one byte");
  link.latency_seconds.value = least.seconds;
  link.h2d_pinned.origin =
      Source("weights expanded from their high halves by one thread; by bytes");
  link.d2h_pinned.origin = Source("a copy by one thread; by bytes");
  for (const uint64_t bytes : CopiesOf(options_)) {
    // Every high half takes twice its size when expanded.
    ASSIGN_OR_RETURN(const Measured in, Measure(Bound::kMemory, [&] {
                       const uint64_t at = NextPiece(2 * bytes);
                       return ExpandWeightsHost(
                           one, {.count = static_cast<int64_t>(bytes / sizeof(uint16_t)),
                                 .hi = reinterpret_cast<const uint16_t*>(arena_.data() + at),
                                 .weights = Floats(third_ + at)});
                     }));
    AddPoint(link.h2d_pinned, static_cast<double>(bytes), static_cast<double>(bytes), in);
    ASSIGN_OR_RETURN(const Measured out, Measure(Bound::kMemory, [&] {
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
  ASSIGN_OR_RETURN(const Measured both, Measure(Bound::kMemory, [&] {
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

absl::Status HostRateProber::MeasureHostPasses(HostProfile& host) {
  const auto count = static_cast<int64_t>(third_ / sizeof(float));
  host.dram.origin = Source("gradients added to kept ones, 12 bytes a value; by threads");
  host.pack.origin = Source("bytes copied out; by threads");
  Curve accumulate{.origin =
                       Source("bf16 gradients put to kept ones, 4 bytes a value; by threads")};
  Curve norm{.origin = Source("squares of bf16 gradients, 2 bytes a value; by threads")};
  std::vector<double> partials(static_cast<size_t>(2 * count) / SquaredNorm().block + 1);
  for (const int64_t threads : threads_) {
    const KernelContext& context = contexts_.at(threads);
    ASSIGN_OR_RETURN(const Measured pass, Measure(Bound::kMemory, [&] {
                       return AccumulateHost(context, {.count = count,
                                                       .gradient_fp32 = Floats(0),
                                                       .add = true,
                                                       .kept_fp32 = Floats(third_)});
                     }));
    AddPoint(host.dram, static_cast<double>(threads), 12.0 * static_cast<double>(count), pass);
    ASSIGN_OR_RETURN(const Measured pack, Measure(Bound::kMemory, [&] {
                       return CopyBytesHost(context, {.bytes = static_cast<int64_t>(third_),
                                                      .from = Floats(0),
                                                      .to = Floats(2 * third_)});
                     }));
    AddPoint(host.pack, static_cast<double>(threads), static_cast<double>(third_), pack);
    // As many bytes as above: no cache holds them.
    const auto* arriving = reinterpret_cast<const uint16_t*>(arena_.data());
    ASSIGN_OR_RETURN(const Measured put, Measure(Bound::kMemory, [&] {
                       return AccumulateHost(
                           context, {.count = 2 * count,
                                     .gradient_bf16 = arriving,
                                     .kept_bf16 = reinterpret_cast<uint16_t*>(Floats(2 * third_))});
                     }));
    AddPoint(accumulate, static_cast<double>(threads), 8.0 * static_cast<double>(count), put);
    ASSIGN_OR_RETURN(const Measured squares, Measure(Bound::kArithmetic, [&] {
                       return SquaredNormHost(
                           context,
                           {.count = 2 * count, .bf16 = arriving, .partials = partials.data()});
                     }));
    AddPoint(norm, static_cast<double>(threads), 4.0 * static_cast<double>(count), squares);
  }
  host.accumulate = std::move(accumulate);
  host.norm = std::move(norm);
  return absl::OkStatus();
}

absl::Status HostRateProber::MeasureAdam(HostProfile& host) {
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
      ASSIGN_OR_RETURN(const Measured measured, Measure(Bound::kMemory, [&] {
                         return AdamUpdateHost(contexts_.at(threads), update);
                       }));
      AddPoint(curve, static_cast<double>(threads), static_cast<double>(count), measured);
    }
  }
  return absl::OkStatus();
}

}  // namespace

// Counts the measurements of HostRateProber, in their order.
int64_t HostRateCount(const HostRateOptions& options) {
  const auto threads = static_cast<int64_t>(ThreadCounts(options.cores).size());
  const size_t sizes = RowsOf(options).size() + CubesOf(options).size() +
                       SequencesOf(options).size() + LossChunksOf(options).size() +
                       ExpertRowsOf(options).size() + 2 * CopiesOf(options).size();
  return static_cast<int64_t>(sizes) + 6 + (4 + kStateFormatCount) * threads;
}

absl::Status MeasureHostRates(Clock& clock, const HostRateOptions& options,
                              HardwareProfile& profile) {
  CHECK(options.cores >= 1 && options.cores <= 1024 && options.arena_bytes >= kLeastArenaBytes);
  HostRateProber prober(clock, options);
  RETURN_IF_ERROR(prober.Prepare());
  RETURN_IF_ERROR(prober.MeasureYardsticks());
  RETURN_IF_ERROR(prober.MeasureGemm(profile.device));
  RETURN_IF_ERROR(prober.MeasureAttention(profile.device));
  RETURN_IF_ERROR(prober.MeasureHead(profile.device));
  RETURN_IF_ERROR(prober.MeasureExperts(profile.device));
  RETURN_IF_ERROR(prober.MeasureElementwise(profile.device));
  RETURN_IF_ERROR(prober.MeasureLaunch(profile.device));
  RETURN_IF_ERROR(prober.MeasureCopies(profile.link));
  RETURN_IF_ERROR(prober.MeasureHostPasses(profile.host));
  RETURN_IF_ERROR(prober.MeasureAdam(profile.host));
  prober.FinishAtMeanSpeed(profile);
  profile.device.memory_bytes_per_second = {.value = profile.host.dram.Highest(),
                                            .origin = profile.host.dram.origin};
  return absl::OkStatus();
}

}  // namespace horizon

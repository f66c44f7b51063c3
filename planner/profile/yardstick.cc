#include "planner/profile/yardstick.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <utility>

#include "common/check.h"
#include "common/status_macros.h"
#include "kernels/elementwise/convert.h"
#include "kernels/gemm/gemm.h"

namespace horizon {
namespace {

constexpr int64_t kSide = 512;
constexpr Bytes kMatrixBytes(kSide* kSide * sizeof(float));
// The memory holds two arrays of three pieces each. A run adds a piece of the first array to the
// same piece of the second.
constexpr int64_t kPieces = 3;
constexpr Bytes kLeastMemoryBytes = 8_MiB;

void FillWithUsualNumbers(std::span<std::byte> memory) {
  auto* values = reinterpret_cast<float*>(memory.data());
  for (uint64_t i = 0; i < memory.size() / sizeof(float); ++i) {
    values[i] = static_cast<float>(static_cast<int>(i * 37 % 127) - 63) * 0x1p-6F;
  }
}

}  // namespace

Yardstick::Yardstick(Clock& clock, const KernelContext& context, HostMemory matrices,
                     HostMemory owned, std::span<std::byte> streamed)
    : clock_(&clock),
      context_(&context),
      matrices_(std::move(matrices)),
      owned_(std::move(owned)),
      streamed_(streamed),
      values_(static_cast<int64_t>(streamed_.size() / (2 * kPieces * sizeof(float)))) {
  FillWithUsualNumbers(matrices_.span());
  FillWithUsualNumbers(streamed_);
}

absl::StatusOr<Yardstick> Yardstick::Create(Clock& clock, const KernelContext& context,
                                            Bytes memory_bytes) {
  CHECK(memory_bytes >= kLeastMemoryBytes);
  ASSIGN_OR_RETURN(HostMemory matrices, HostMemory::Create(3 * kMatrixBytes));
  ASSIGN_OR_RETURN(HostMemory owned, HostMemory::Create(memory_bytes));
  const std::span<std::byte> streamed = owned.span();
  return Yardstick(clock, context, std::move(matrices), std::move(owned), streamed);
}

absl::StatusOr<Yardstick> Yardstick::CreateIn(Clock& clock, const KernelContext& context,
                                              std::span<std::byte> borrowed) {
  ASSIGN_OR_RETURN(HostMemory matrices, HostMemory::Create(3 * kMatrixBytes));
  return Yardstick(clock, context, std::move(matrices), HostMemory(), borrowed);
}

absl::StatusOr<double> Yardstick::TimeGemm() {
  auto* a = reinterpret_cast<float*>(matrices_.data());
  const Nanoseconds begin = clock_->Now();
  RETURN_IF_ERROR(GemmHost(*context_, {.form = GemmForm::kForward,
                                       .m = kSide,
                                       .n = kSide,
                                       .k = kSide,
                                       .a = a,
                                       .a_stride = kSide,
                                       .b = a + kSide * kSide,
                                       .b_stride = kSide,
                                       .c = a + 2 * kSide * kSide,
                                       .c_stride = kSide}));
  // A clock may not tell two moments apart; no work takes no time.
  return std::max(1e-9, std::chrono::duration<double>(clock_->Now() - begin).count());
}

absl::StatusOr<Yardstick::Window> Yardstick::TimeBoth(Seconds time) {
  const bool with_memory = Bytes(streamed_.size()) >= kLeastMemoryBytes;
  const Nanoseconds end =
      clock_->Now() + std::chrono::nanoseconds(static_cast<int64_t>(time.value * 1e9));
  // These start the threads and touch the pages.
  RETURN_IF_ERROR(TimeGemm().status());
  if (with_memory) RETURN_IF_ERROR(TimeMemoryPass().status());
  // The mean, not the median: a training step is long, so it also contains its share of the moments
  // in which the machine is slowed down.
  Window sum;
  double runs = 0;
  do {
    ASSIGN_OR_RETURN(const double gemm, TimeGemm());
    sum.gemm_seconds += gemm;
    if (with_memory) {
      ASSIGN_OR_RETURN(const double memory, TimeMemoryPass());
      sum.memory_seconds += memory;
    }
    ++runs;
  } while (clock_->Now() < end);
  return Window{.gemm_seconds = sum.gemm_seconds / runs,
                .memory_seconds = sum.memory_seconds / runs};
}

absl::StatusOr<double> Yardstick::TimeMemoryPass() {
  CHECK(Bytes(streamed_.size()) >= kLeastMemoryBytes);
  auto* from = reinterpret_cast<float*>(streamed_.data()) + next_ * values_;
  next_ = (next_ + 1) % kPieces;
  const Nanoseconds begin = clock_->Now();
  // Because of `add` the values grow from run to run; the bytes moved stay the same.
  RETURN_IF_ERROR(AccumulateHost(*context_, {.count = values_,
                                             .gradient_fp32 = from,
                                             .add = true,
                                             .kept_fp32 = from + kPieces * values_}));
  return std::max(1e-9, std::chrono::duration<double>(clock_->Now() - begin).count());
}

}  // namespace horizon

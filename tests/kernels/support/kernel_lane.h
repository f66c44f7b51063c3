#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <random>
#include <span>
#include <vector>

#include "common/kernel_context.h"
#include "common/threads/workers.h"

namespace horizon {

// What a lane of the schedule gives to host kernels: workers and their scratch. For tests:
//   KernelLane lane(/*workers=*/4);
//   EXPECT_TRUE(GemmHost(lane.context(), gemm).ok());
// The scratch starts as NaN, and a guard follows it.
class KernelLane {
 public:
  explicit KernelLane(int workers)
      : workers_(*Workers::Create("kernel", workers)),
        bytes_(static_cast<size_t>(workers) * kWorkerScratchBytes),
        scratch_(new (std::align_val_t(64)) std::byte[bytes_ + kGuardBytes]) {
    std::memset(scratch_.get(), 0xFF, bytes_ + kGuardBytes);
  }

  KernelContext context() {
    return {.workers = workers_.get(), .scratch = std::span(scratch_.get(), bytes_)};
  }

  // Whether nothing was written past the end of the scratch.
  bool guard_holds() const {
    for (size_t i = bytes_; i < bytes_ + kGuardBytes; ++i) {
      if (scratch_[i] != std::byte{0xFF}) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kGuardBytes = size_t{1} << 16;
  struct Free {
    void operator()(std::byte* bytes) const { operator delete[](bytes, std::align_val_t(64)); }
  };
  std::unique_ptr<Workers> workers_;
  size_t bytes_;
  std::unique_ptr<std::byte[], Free> scratch_;
};

// An array of floats that is not aligned for vectors, with guards on both sides that a kernel must
// not touch.
class GuardedFloats {
 public:
  explicit GuardedFloats(int64_t size, float value = 0.0f)
      : values_(static_cast<size_t>(size) + 2 * kGuards, value) {
    for (size_t i = 0; i < kGuards; ++i) values_[i] = values_[values_.size() - 1 - i] = kGuard;
  }

  float* data() { return values_.data() + kGuards; }
  const float* data() const { return values_.data() + kGuards; }
  int64_t size() const { return static_cast<int64_t>(values_.size() - 2 * kGuards); }
  float& operator[](int64_t i) { return data()[i]; }
  float operator[](int64_t i) const { return data()[i]; }
  std::span<float> span() { return {data(), static_cast<size_t>(size())}; }
  std::span<const float> span() const { return {data(), static_cast<size_t>(size())}; }

  bool guards_hold() const {
    for (size_t i = 0; i < kGuards; ++i) {
      if (values_[i] != kGuard || values_[values_.size() - 1 - i] != kGuard) return false;
    }
    return true;
  }

 private:
  static constexpr size_t kGuards = 17;
  static constexpr float kGuard = -987.5f;
  std::vector<float> values_;
};

// Uniformly distributed random numbers in -scale .. scale.
inline GuardedFloats RandomFloats(std::mt19937& random, int64_t size, float scale = 1.0f) {
  GuardedFloats floats(size);
  std::uniform_real_distribution<float> uniform(-scale, scale);
  for (float& value : floats.span()) value = uniform(random);
  return floats;
}

inline bool SameBits(const GuardedFloats& a, const GuardedFloats& b) {
  return a.size() == b.size() &&
         std::memcmp(a.data(), b.data(), static_cast<size_t>(a.size()) * sizeof(float)) == 0;
}

}  // namespace horizon

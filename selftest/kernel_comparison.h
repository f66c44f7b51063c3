#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/host_memory.h"
#include "common/kernel_context.h"
#include "common/threads/workers.h"
#include "common/units.h"
#include "kernels/arguments/values.h"
#include "kernels/kernel_table.h"
#include "runtime/device/device.h"
#include "runtime/execution/compute_device.h"
#include "selftest/findings.h"

namespace horizon {

// Compares a kernel of a device under test with the host kernel of the same operation, which has
// tests of its own. Each array exists twice, on the device side and on the host side, with the same
// initial numbers; the kernel runs on both sides, and the results are compared.
//
//   KernelComparison comparison(environment, "glu", findings);
//   const Array x = comparison.AddValues(1000), y = comparison.AddValues(1000);
//   comparison.Run([&](const KernelTable& k, const KernelContext& c, const Side& at) {
//     return k.glu_forward(c, {.count = 1000, .gate = at.ValuesOf(x), ...});
//   });
//   comparison.ExpectClose(y, kRoundedOnce);
//
// Activations and weights have the type that the side uses: fp32 on the host, bf16 on CUDA. Their
// initial numbers are random and exact in bf16.

// What the comparisons of one device share: memory and a stream of the device, and a worker of the
// host to run the host kernels. `device` must outlive it. One thread uses it.
class KernelCheckEnvironment {
 public:
  // The device memory that Create allocates; the device needs at least this capacity.
  static Bytes DeviceBytes(DeviceKind kind, int threads);
  static absl::StatusOr<std::unique_ptr<KernelCheckEnvironment>> Create(const ComputeDevice& device,
                                                                        DeviceKind kind,
                                                                        int threads);
  ~KernelCheckEnvironment();
  KernelCheckEnvironment(const KernelCheckEnvironment&) = delete;
  KernelCheckEnvironment& operator=(const KernelCheckEnvironment&) = delete;

 private:
  friend class KernelComparison;
  KernelCheckEnvironment(const ComputeDevice& device, ValueType values)
      : device_(device), values_(values) {}

  const ComputeDevice& device_;
  const ValueType values_;  // type of the device's activations and weights
  DeviceMemory arrays_;
  DeviceMemory scratch_;
  HostMemory stage_;  // page-locked staging buffer for copies
  bool registered_ = false;
  HostMemory host_scratch_;
  std::unique_ptr<Workers> workers_;
  StreamRef stream_;
  EventRef event_;
};

// Identifies an array of a KernelComparison.
struct Array {
  size_t index = 0;
};

// How much results may differ, in units in the last place (ulp) of bf16. The unit is relative to
// the value plus the root mean square of the whole array, so that sums that cancel are not judged
// by their small result alone.
struct Tolerance {
  double units = 0;  // 0: equal values
};
inline constexpr Tolerance kEqual{0};
inline constexpr Tolerance kRoundedOnce{1};    // only the result is rounded to bf16
inline constexpr Tolerance kRoundedInside{4};  // sums of numbers that were rounded to bf16 before

// One comparison, as above. Each array is added before Run; results are checked after it.
class KernelComparison {
 public:
  // The arrays of one side, as arguments for its kernel.
  class Side {
   public:
    // An array of AddValues, in the type of this side.
    Values ValuesOf(Array array) const;
    // Any other array, as a pointer to its elements.
    template <typename T>
    T* As(Array array) const {
      return reinterpret_cast<T*>(begins_[array.index]);
    }

   private:
    friend class KernelComparison;
    std::vector<std::byte*> begins_;
    ValueType values_ = ValueType::kFp32;
  };
  using Call = absl::FunctionRef<absl::Status(const KernelTable& kernels,
                                              const KernelContext& context, const Side& at)>;

  // Every finding begins with `name`.
  KernelComparison(KernelCheckEnvironment& environment, std::string name, Findings& findings);

  // Adds `count` activations or weights: random numbers with standard deviation `scale`, fp32 or
  // bf16 by side.
  Array AddValues(int64_t count, float scale = 1.0F);
  // Add arrays that have the same bytes on both sides: random numbers (exact in bf16) as fp32 or as
  // bf16, or a copy of given values.
  Array AddFp32(int64_t count, float scale = 1.0F);
  Array AddBf16(int64_t count, float scale = 1.0F);
  template <typename T>
  Array AddPlain(const std::vector<T>& values) {
    return Add(Kind::kPlain, reinterpret_cast<const std::byte*>(values.data()),
               values.size() * sizeof(T));
  }

  // Runs the kernel once on each side and waits for it. Returns false, with a finding, if it fails.
  bool Run(Call call);

  // Call these after Run; they add a finding if the two sides differ by more than allowed.
  void ExpectClose(Array array, Tolerance tolerance);
  void ExpectEqualBytes(Array array);
  // The first element of an array of AddPlain: on the host, and on the device.
  template <typename T>
  std::pair<T, T> First(Array array) const {
    std::pair<T, T> both;
    std::memcpy(&both.first, arrays_[array.index].host.data(), sizeof(T));
    std::memcpy(&both.second, arrays_[array.index].device.data(), sizeof(T));
    return both;
  }

 private:
  enum class Kind { kValues, kFp32, kBf16, kPlain };
  struct Kept {
    Kind kind = Kind::kPlain;
    std::vector<std::byte> host;
    std::vector<std::byte> device;
  };
  Array Add(Kind kind, const std::byte* values, uint64_t bytes);
  Array AddRandom(Kind kind, int64_t count, float scale);
  absl::Status RunOnHost(Call call);
  absl::Status RunOnDevice(Call call);
  std::vector<double> NumbersOf(const Kept& kept, bool on_device) const;

  KernelCheckEnvironment& environment_;
  const std::string name_;
  Findings& findings_;
  std::vector<Kept> arrays_;
  uint64_t random_ = 0x9E3779B97F4A7C15U;
};

}  // namespace horizon

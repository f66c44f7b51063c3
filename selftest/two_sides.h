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

// The arrays of a kernel on two sides: on a device under test, and in plain memory for the host's
// body of the same kernel, which has tests of its own. Both begin with the same numbers; the kernel
// runs on each; results are compared.
//
//   TwoSides sides(world, "glu");
//   const Array x = sides.Numbers(1000), y = sides.Numbers(1000);
//   sides.Run([&](const KernelTable& k, const KernelContext& c, const Side& at) {
//     return k.glu_forward(c, {.count = 1000, .gate = at.Numbers(x), ...});
//   });
//   sides.WantClose(y, kRoundedOnce);
//
// Arrays of activations and weights have the type they have on each side: fp32 on the host, bf16 on
// CUDA. They begin with random numbers that bf16 holds exactly.

// A lane of the device, and a worker of the host, to run kernels on. Everything it names outlives
// it.
class KernelWorld {
 public:
  // The device's memory that a world takes.
  static Bytes DeviceBytes(DeviceKind kind, int threads);
  static absl::StatusOr<std::unique_ptr<KernelWorld>> Create(const ComputeDevice& device,
                                                             DeviceKind kind, int threads);
  ~KernelWorld();
  KernelWorld(const KernelWorld&) = delete;
  KernelWorld& operator=(const KernelWorld&) = delete;

 private:
  friend class TwoSides;
  KernelWorld(const ComputeDevice& device, ValueType values) : device_(device), values_(values) {}

  const ComputeDevice& device_;
  const ValueType values_;  // of the device's activations
  DeviceMemory arrays_;
  DeviceMemory scratch_;
  HostMemory stage_;  // page-locked
  bool registered_ = false;
  HostMemory host_scratch_;
  std::unique_ptr<Workers> workers_;
  StreamRef stream_;
  EventRef event_;
};

// Names an array of a TwoSides.
struct Array {
  size_t index = 0;
};

// How far results may be apart: in units of the last place of bf16, relative to the value and to
// the root mean square of all values of the array (what cancels is not lost).
struct Tolerance {
  double units = 0;  // 0: equal bits
};
inline constexpr Tolerance kEqual{0};
inline constexpr Tolerance kRoundedOnce{1};    // element by element
inline constexpr Tolerance kRoundedInside{4};  // sums of numbers that were rounded on the way

class TwoSides {
 public:
  // What a kernel's arguments are on one side.
  class Side {
   public:
    Values Numbers(Array array) const;
    template <typename T>
    T* As(Array array) const {
      return reinterpret_cast<T*>(begins_[array.index]);
    }

   private:
    friend class TwoSides;
    std::vector<std::byte*> begins_;
    ValueType values_ = ValueType::kFp32;
  };
  using Call = absl::FunctionRef<absl::Status(const KernelTable& kernels,
                                              const KernelContext& context, const Side& at)>;

  // `name` begins every finding.
  TwoSides(KernelWorld& world, std::string name, Findings& findings);

  // Activations or weights: random, `scale` their deviation.
  Array Numbers(int64_t count, float scale = 1.0F);
  // The same on both sides: fp32 (random numbers that bf16 holds), bf16, or any plain values.
  Array Floats(int64_t count, float scale = 1.0F);
  Array Bf16(int64_t count, float scale = 1.0F);
  template <typename T>
  Array Plain(const std::vector<T>& values) {
    return Add(Kind::kPlain, reinterpret_cast<const std::byte*>(values.data()),
               values.size() * sizeof(T));
  }

  // Runs the kernel on both sides, once; false, with a finding, where one fails.
  bool Run(Call call);

  // After Run.
  void WantClose(Array array, Tolerance tolerance);
  void WantEqualBytes(Array array);
  // The first value of a plain array: the host's and the device's.
  template <typename T>
  std::pair<T, T> First(Array array) const {
    std::pair<T, T> both;
    std::memcpy(&both.first, arrays_[array.index].host.data(), sizeof(T));
    std::memcpy(&both.second, arrays_[array.index].device.data(), sizeof(T));
    return both;
  }

 private:
  enum class Kind { kNumbers, kFloats, kBf16, kPlain };
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

  KernelWorld& world_;
  const std::string name_;
  Findings& findings_;
  std::vector<Kept> arrays_;
  uint64_t random_ = 0x9E3779B97F4A7C15U;
};

}  // namespace horizon

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "runtime/device/device.h"

namespace horizon {

// What memory holds that nobody has filled yet or that was given back: NaN as fp32 and as bf16.
inline constexpr uint32_t kPoison = 0x7FC07FC0;
void Poison(std::byte* data, uint64_t bytes);
// Whether every byte is as Poison leaves it.
bool IsPoison(const std::byte* data, uint64_t bytes);

// Holds a kernel to the memory it declared. From construction to Finish everything else is poison,
// and so is what the kernel says it only writes: whoever reads it computes NaN. Finish puts back
// what was there and tells what the kernel changed without having said so.
//
//   MemoryGuard guard(all_memory, declared);
//   const absl::Status status = kernel(context);
//   RETURN_IF_ERROR(guard.Finish("forward"));
//
// Nothing else may use the memory meanwhile.
class MemoryGuard {
 public:
  // `all`: what the kernel could reach; every declared piece lies in one of these, none overlaps
  // another.
  MemoryGuard(std::span<const std::span<std::byte>> all, std::vector<KernelMemory> declared);
  MemoryGuard(const MemoryGuard&) = delete;
  MemoryGuard& operator=(const MemoryGuard&) = delete;

  // Internal, naming `who` and the place, when undeclared memory was written, or memory that was
  // declared as only read.
  absl::Status Finish(std::string_view who);

 private:
  struct Kept {
    std::span<std::byte> memory;
    bool readable = false;  // it was not poisoned
    std::vector<std::byte> before;
  };
  void Keep(std::span<std::byte> memory, bool readable);

  std::vector<Kept> kept_;  // what the kernel may not change
};

}  // namespace horizon

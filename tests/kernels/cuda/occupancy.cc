#include "tests/kernels/cuda/occupancy.h"

#include <algorithm>
#include <cstdint>

#include "absl/status/status.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

// Blocks, shared memory and units are those of cuda_occupancy.h of toolkit 13.0, whose calculation
// gave equal results for 149,940 combinations; warps are as published for each compute capability.
// All have 65536 registers in four parts, handed out to a warp in pieces of 256.
struct Multiprocessor {
  int architecture;
  int warps;
  int blocks;
  int shared_kib;
  int reserved_bytes;  // of shared memory, which the system itself takes of each block
  int shared_unit;     // bytes in which shared memory is handed out
};
constexpr Multiprocessor kKnown[] = {
    {75, 32, 16, 64, 0, 256},      {80, 64, 32, 164, 1024, 128}, {86, 48, 16, 100, 1024, 128},
    {89, 48, 24, 100, 1024, 128},  {90, 64, 32, 228, 1024, 128}, {100, 64, 32, 228, 1024, 128},
    {120, 48, 24, 100, 1024, 128},
};
constexpr int kParts = 4;
constexpr int kRegistersOfPart = 65536 / kParts;
constexpr int kRegisterUnit = 256;
constexpr int kWarpThreads = 32;

int64_t RoundUp(int64_t value, int64_t unit) { return (value + unit - 1) / unit * unit; }

// Blocks of `warps` warps that fit at once; 0 if not one does.
int64_t BlocksAtOnce(const Multiprocessor& on, const KernelUsage& kernel, int64_t warps) {
  const int64_t of_warp = RoundUp(int64_t{kernel.registers} * kWarpThreads, kRegisterUnit);
  const int64_t by_registers =
      of_warp == 0 ? on.blocks : kRegistersOfPart / of_warp * kParts / warps;
  const int64_t of_block = RoundUp(kernel.shared_bytes + on.reserved_bytes, on.shared_unit);
  const int64_t by_shared = of_block == 0 ? on.blocks : (int64_t{on.shared_kib} << 10) / of_block;
  return std::min({int64_t{on.blocks}, on.warps / warps, by_registers, by_shared});
}

}  // namespace

absl::StatusOr<double> Occupancy(const KernelUsage& kernel, int threads) {
  const auto* on = std::find_if(std::begin(kKnown), std::end(kKnown), [&](const auto& known) {
    return known.architecture == kernel.architecture;
  });
  if (on == std::end(kKnown)) {
    return absl::InvalidArgumentError(
        StrCat("the limits of sm_", kernel.architecture, " are not known"));
  }
  const int64_t warps = RoundUp(threads, kWarpThreads) / kWarpThreads;
  const int64_t blocks = BlocksAtOnce(*on, kernel, warps);
  if (blocks == 0) {
    return absl::InvalidArgumentError(StrCat(kernel.kernel, " cannot run on sm_",
                                             kernel.architecture, " in blocks of ", threads,
                                             " threads"));
  }
  return static_cast<double>(blocks * warps) / on->warps;
}

}  // namespace horizon

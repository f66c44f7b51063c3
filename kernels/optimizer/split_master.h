#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"

struct CUstream_st;

namespace horizon {

// The split fp32 master of a parameter: its fp32 master weight is stored as a bf16 high half and a
// 16-bit low half (docs/architecture.md, "The state of a parameter").
//   hi = (bits + 0x8000) >> 16   the nearest bf16, ties away from zero; it is streamed as it is
//   lo = int16(bits)             so that (hi << 16) + lo restores the exact bits
//
// Masters are finite. Split returns InvalidArgument for NaN, infinities and values with an infinite
// hi (|x| >= 0x7F7F8000 as bits). Join returns DataLoss for halves that no Split produces. Both
// name the lowest such index, and the outputs then hold nothing of use. All spans must have the
// same length (otherwise InvalidArgument) and must not overlap; any alignment of the type will do.
// The functions allocate nothing and use no threads: callers divide the work.

// Written from the formula, for tests.
absl::Status SplitMasterReference(std::span<const float> master, std::span<uint16_t> hi,
                                  std::span<int16_t> lo);
absl::Status JoinMasterReference(std::span<const uint16_t> hi, std::span<const int16_t> lo,
                                 std::span<float> master);

// Loops that the compiler vectorises.
absl::Status SplitMasterHost(std::span<const float> master, std::span<uint16_t> hi,
                             std::span<int16_t> lo);
absl::Status JoinMasterHost(std::span<const uint16_t> hi, std::span<const int16_t> lo,
                            std::span<float> master);

// Arrays of `count` elements in device memory. The caller owns them and keeps them until the stream
// has finished the work.
struct SplitMasterDevice {
  float* master = nullptr;
  uint16_t* hi = nullptr;
  int16_t* lo = nullptr;
  // One number in device memory. The kernel sets it to the lowest refused index, or to all ones if
  // there is none.
  uint64_t* first_refused = nullptr;
  size_t count = 0;
};

// Put the work on `stream` (not the default stream) and do not wait for it. The caller reads
// first_refused after the stream has finished the work. Unavailable if there is no CUDA device, no
// driver, or no CUDA in the build; InvalidArgument for a missing array or stream.
absl::Status SplitMasterCuda(const SplitMasterDevice& arrays, CUstream_st* stream);
absl::Status JoinMasterCuda(const SplitMasterDevice& arrays, CUstream_st* stream);

}  // namespace horizon

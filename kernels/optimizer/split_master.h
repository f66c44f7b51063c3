#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"

struct CUstream_st;

namespace horizon {

// The fp32 master of a parameter, kept as two 16-bit halves (design: the state of a parameter):
//   hi = (bits + 0x8000) >> 16, the bf16 nearest to the value, ties away from zero, streamed as is;
//   lo = int16(bits), so that (hi << 16) + lo gives back the exact bits.
// Masters are finite. Split refuses NaN, infinities and values whose hi would be infinite
// (|x| >= 0x7F7F8000 as bits) with InvalidArgument; Join refuses halves that no Split makes with
// DataLoss. Both name the lowest such index, and the outputs then hold nothing of use.
// All spans have one length (else InvalidArgument) and do not overlap; any alignment of the type.
// No allocation, no threads: callers cut the work.

// Written from the formula; for tests.
absl::Status SplitMasterReference(std::span<const float> master, std::span<uint16_t> hi,
                                  std::span<int16_t> lo);
absl::Status JoinMasterReference(std::span<const uint16_t> hi, std::span<const int16_t> lo,
                                 std::span<float> master);

// Loops the compiler turns into vector code.
absl::Status SplitMasterHost(std::span<const float> master, std::span<uint16_t> hi,
                             std::span<int16_t> lo);
absl::Status JoinMasterHost(std::span<const uint16_t> hi, std::span<const int16_t> lo,
                            std::span<float> master);

// Arrays of `count` elements in device memory, owned by the caller until the stream has passed.
struct SplitMasterDevice {
  float* master = nullptr;
  uint16_t* hi = nullptr;
  int16_t* lo = nullptr;
  // One number in device memory: set to the lowest refused index, or all ones when there is none.
  uint64_t* first_refused = nullptr;
  size_t count = 0;
};

// Put the work on `stream` (not the default one) and do not wait: what was refused is read from
// first_refused when the stream has passed. Unavailable where there is no CUDA device, no driver,
// or no CUDA in the build; InvalidArgument for a missing array or stream.
absl::Status SplitMasterCuda(const SplitMasterDevice& arrays, CUstream_st* stream);
absl::Status JoinMasterCuda(const SplitMasterDevice& arrays, CUstream_st* stream);

}  // namespace horizon

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "model/files/dtype.h"

namespace horizon {

// Converts values between fp32 and the dtypes in which a model is stored (F32, F16, BF16; little
// endian, any alignment). The functions are pure and elementwise, so a tensor may be converted in
// pieces, on any number of threads.

// Converts to fp32. Exact for every bit pattern: subnormals, infinities and signed zeros keep their
// value, and a NaN keeps its sign and payload bits. Returns InvalidArgument for another dtype, or
// if `from` does not have exactly the bytes of `into.size()` values.
absl::Status ConvertToFloat(Dtype dtype, std::span<const std::byte> from, std::span<float> into);

// Converts from fp32. Rounds to nearest, ties to even; too large values become infinity, too small
// values become subnormal or zero, and a NaN stays a NaN. Returns the same errors.
absl::Status ConvertFromFloat(std::span<const float> from, Dtype dtype, std::span<std::byte> into);

// The same for one value, with the 16-bit types as raw bits.
float FloatFromBf16(uint16_t bits);
float FloatFromF16(uint16_t bits);
uint16_t Bf16FromFloat(float value);
uint16_t F16FromFloat(float value);

}  // namespace horizon

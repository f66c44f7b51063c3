#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "model/files/dtype.h"

namespace horizon {

// Values between the dtypes a model is stored in (F32, F16, BF16; little endian, any alignment) and
// fp32. Pure, elementwise, so a tensor may be converted in pieces; any number of threads.

// Exact for every pattern: subnormals, infinities and signed zeros keep their value, a NaN keeps
// its sign and the bits of its payload. InvalidArgument for another dtype or when `from` has not
// exactly the bytes of `into.size()` values.
absl::Status ConvertToFloat(Dtype dtype, std::span<const std::byte> from, std::span<float> into);

// Rounds to nearest, ties to even; what is too large becomes infinity, what is too small a
// subnormal or zero, a NaN stays a NaN. Same errors.
absl::Status ConvertFromFloat(std::span<const float> from, Dtype dtype, std::span<std::byte> into);

// One value. The 16 bits of the type in, or out.
float FloatFromBf16(uint16_t bits);
float FloatFromF16(uint16_t bits);
uint16_t Bf16FromFloat(float value);
uint16_t F16FromFloat(float value);

}  // namespace horizon

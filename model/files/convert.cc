#include "model/files/convert.h"

#include <bit>
#include <cstring>

#include "common/checked.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

static_assert(std::endian::native == std::endian::little, "files are little endian and so are we");

constexpr uint32_t kFloatSign = 0x80000000;
constexpr uint32_t kFloatInfinity = 0x7F800000;
// fp32 less fp16: mantissa bits and exponent bias.
constexpr int kMantissaShift = 23 - 10;
constexpr uint32_t kBiasDifference = 127 - 15;
constexpr uint32_t kSmallestNormalF16 = (kBiasDifference + 1) << 23;  // 2^-14 as fp32
constexpr uint32_t kLargestToF16 = 0x477FEFFF;  // the last fp32 below 65520, which ties to 2^16
constexpr uint32_t kHalfOfSmallestF16 = 0x33000000;  // 2^-25: ties to even, that is to zero

// `value` / 2^shift, to nearest, ties to even; 1 <= shift <= 31.
uint32_t ShiftRightToNearestEven(uint32_t value, int shift) {
  const uint32_t half = uint32_t{1} << (shift - 1);
  const uint32_t odd = value >> shift & 1;
  return (value + (half - 1) + odd) >> shift;
}

absl::Status CheckSizes(Dtype dtype, size_t bytes, size_t values) {
  if (!IsModelDtype(dtype)) {
    return absl::InvalidArgumentError(
        StrCat("values of dtype ", ToString(dtype), " cannot be converted; F32, F16 and BF16 can"));
  }
  const CheckedU64 wanted = CheckedU64(values) * (BitsOf(dtype) / 8);
  if (wanted == CheckedU64(bytes)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat(values, " values of ", ToString(dtype), " do not take ", bytes, " bytes"));
}

template <float (*Convert)(uint16_t)>
void Widen(const std::byte* from, std::span<float> into) {
  for (float& value : into) {
    uint16_t bits = 0;
    std::memcpy(&bits, from, sizeof(bits));
    value = Convert(bits);
    from += sizeof(bits);
  }
}

template <uint16_t (*Convert)(float)>
void Narrow(std::span<const float> from, std::byte* into) {
  for (const float value : from) {
    const uint16_t bits = Convert(value);
    std::memcpy(into, &bits, sizeof(bits));
    into += sizeof(bits);
  }
}

}  // namespace

float FloatFromBf16(uint16_t bits) { return std::bit_cast<float>(uint32_t{bits} << 16); }

float FloatFromF16(uint16_t bits) {
  const uint32_t sign = uint32_t{bits} << 16 & kFloatSign;
  const uint32_t magnitude = bits & 0x7FFF;
  if (magnitude >= 0x7C00) {  // infinity and NaN: the payload moves up whole
    return std::bit_cast<float>(sign | kFloatInfinity | (magnitude & 0x3FF) << kMantissaShift);
  }
  if (magnitude >= 0x0400) {
    return std::bit_cast<float>(sign | ((magnitude << kMantissaShift) + (kBiasDifference << 23)));
  }
  // Zero and subnormals, multiples of 2^-24: exact in fp32, whose exponent reaches far lower.
  const float value = static_cast<float>(magnitude) * 0x1p-24F;
  return std::bit_cast<float>(sign | std::bit_cast<uint32_t>(value));
}

uint16_t Bf16FromFloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  // A NaN whose set bits all lie in the lower half would otherwise be cut to an infinity.
  if ((bits & ~kFloatSign) > kFloatInfinity) return static_cast<uint16_t>(bits >> 16 | 0x0040);
  return static_cast<uint16_t>(ShiftRightToNearestEven(bits, 16));
}

uint16_t F16FromFloat(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  const uint32_t sign = bits >> 16 & 0x8000;
  const uint32_t magnitude = bits & ~kFloatSign;
  uint32_t result = 0;
  if (magnitude > kFloatInfinity) {
    result = 0x7E00 | (magnitude >> kMantissaShift & 0x3FF);
  } else if (magnitude > kLargestToF16) {
    result = 0x7C00;
  } else if (magnitude >= kSmallestNormalF16) {
    result = ShiftRightToNearestEven(magnitude - (kBiasDifference << 23), kMantissaShift);
  } else if (magnitude > kHalfOfSmallestF16) {
    // A subnormal counts units of 2^-24: the mantissa with its leading one, shifted to that unit.
    const int exponent = static_cast<int>(magnitude >> 23);
    const uint32_t mantissa = (magnitude & 0x7FFFFF) | 0x800000;
    result = ShiftRightToNearestEven(mantissa, 126 - exponent);
  }
  return static_cast<uint16_t>(sign | result);
}

absl::Status ConvertToFloat(Dtype dtype, std::span<const std::byte> from, std::span<float> into) {
  if (absl::Status status = CheckSizes(dtype, from.size(), into.size()); !status.ok()) {
    return status;
  }
  if (into.empty()) return absl::OkStatus();
  if (dtype == Dtype::kF32) {
    std::memcpy(into.data(), from.data(), from.size());
  } else if (dtype == Dtype::kF16) {
    Widen<FloatFromF16>(from.data(), into);
  } else {
    Widen<FloatFromBf16>(from.data(), into);
  }
  return absl::OkStatus();
}

absl::Status ConvertFromFloat(std::span<const float> from, Dtype dtype, std::span<std::byte> into) {
  if (absl::Status status = CheckSizes(dtype, into.size(), from.size()); !status.ok()) {
    return status;
  }
  if (from.empty()) return absl::OkStatus();
  if (dtype == Dtype::kF32) {
    std::memcpy(into.data(), from.data(), into.size());
  } else if (dtype == Dtype::kF16) {
    Narrow<F16FromFloat>(from, into.data());
  } else {
    Narrow<Bf16FromFloat>(from, into.data());
  }
  return absl::OkStatus();
}

}  // namespace horizon

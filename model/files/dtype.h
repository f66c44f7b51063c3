#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace horizon {

// The element types of safetensors: the complete list of the public format (library 0.8). A file
// with any other type is refused. Every type can be read and written as bytes; only a few can be
// computed with (IsModelDtype).
enum class Dtype {
  kBool,
  kF4,
  kF6E2M3,
  kF6E3M2,
  kU8,
  kI8,
  kF8E5M2,
  kF8E4M3,
  kF8E8M0,
  kF8E4M3Fnuz,
  kF8E5M2Fnuz,
  kI16,
  kU16,
  kF16,
  kBF16,
  kI32,
  kU32,
  kF32,
  kC64,
  kF64,
  kI64,
  kU64,
};

// All types, in the order of declaration.
std::span<const Dtype> AllDtypes();
// The name in files: "BF16", "F8_E4M3".
std::string_view ToString(Dtype dtype);
// Accepts the exact spelling only: "bf16" gives nothing.
std::optional<Dtype> ParseDtype(std::string_view name);
// Bits of one element. It can be 4 or 6; BOOL has 8, C64 (two floats) has 64.
uint64_t BitsOf(Dtype dtype);
// Whether the weights of a model may have this type: F32, F16 and BF16.
bool IsModelDtype(Dtype dtype);

}  // namespace horizon

#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace horizon {

// The element types of safetensors: the closed list of the public format (library 0.8). A file that
// names another one is refused; reading and writing bytes works for all, arithmetic for few.
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

// Every member, in order of declaration.
std::span<const Dtype> AllDtypes();
// The name as it stands in files: "BF16", "F8_E4M3".
std::string_view ToString(Dtype dtype);
// Exact spelling only: "bf16" is none of them.
std::optional<Dtype> ParseDtype(std::string_view name);
// Bits of one element: 4 and 6 are possible, BOOL takes 8, C64 (two floats) 64.
uint64_t BitsOf(Dtype dtype);
// F32, F16 and BF16: what the weights of a model may be stored as.
bool IsModelDtype(Dtype dtype);

}  // namespace horizon

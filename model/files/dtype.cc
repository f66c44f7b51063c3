#include "model/files/dtype.h"

#include <array>
#include <cstddef>

namespace horizon {
namespace {

struct DtypeInfo {
  std::string_view name;
  uint64_t bits;
};

constexpr std::array kDtypes = {
    Dtype::kBool,       Dtype::kF4,     Dtype::kF6E2M3, Dtype::kF6E3M2, Dtype::kU8,
    Dtype::kI8,         Dtype::kF8E5M2, Dtype::kF8E4M3, Dtype::kF8E8M0, Dtype::kF8E4M3Fnuz,
    Dtype::kF8E5M2Fnuz, Dtype::kI16,    Dtype::kU16,    Dtype::kF16,    Dtype::kBF16,
    Dtype::kI32,        Dtype::kU32,    Dtype::kF32,    Dtype::kC64,    Dtype::kF64,
    Dtype::kI64,        Dtype::kU64,
};

// A switch without default: a member added to the list and forgotten here does not compile.
constexpr DtypeInfo InfoOf(Dtype dtype) {
  switch (dtype) {
    case Dtype::kBool:
      return {"BOOL", 8};
    case Dtype::kF4:
      return {"F4", 4};
    case Dtype::kF6E2M3:
      return {"F6_E2M3", 6};
    case Dtype::kF6E3M2:
      return {"F6_E3M2", 6};
    case Dtype::kU8:
      return {"U8", 8};
    case Dtype::kI8:
      return {"I8", 8};
    case Dtype::kF8E5M2:
      return {"F8_E5M2", 8};
    case Dtype::kF8E4M3:
      return {"F8_E4M3", 8};
    case Dtype::kF8E8M0:
      return {"F8_E8M0", 8};
    case Dtype::kF8E4M3Fnuz:
      return {"F8_E4M3FNUZ", 8};
    case Dtype::kF8E5M2Fnuz:
      return {"F8_E5M2FNUZ", 8};
    case Dtype::kI16:
      return {"I16", 16};
    case Dtype::kU16:
      return {"U16", 16};
    case Dtype::kF16:
      return {"F16", 16};
    case Dtype::kBF16:
      return {"BF16", 16};
    case Dtype::kI32:
      return {"I32", 32};
    case Dtype::kU32:
      return {"U32", 32};
    case Dtype::kF32:
      return {"F32", 32};
    case Dtype::kC64:
      return {"C64", 64};
    case Dtype::kF64:
      return {"F64", 64};
    case Dtype::kI64:
      return {"I64", 64};
    case Dtype::kU64:
      return {"U64", 64};
  }
  return {"?", 0};
}

}  // namespace

std::span<const Dtype> AllDtypes() { return kDtypes; }

std::string_view ToString(Dtype dtype) { return InfoOf(dtype).name; }

std::optional<Dtype> ParseDtype(std::string_view name) {
  for (const Dtype dtype : kDtypes) {
    if (InfoOf(dtype).name == name) return dtype;
  }
  return std::nullopt;
}

uint64_t BitsOf(Dtype dtype) { return InfoOf(dtype).bits; }

bool IsModelDtype(Dtype dtype) {
  return dtype == Dtype::kF32 || dtype == Dtype::kF16 || dtype == Dtype::kBF16;
}

}  // namespace horizon

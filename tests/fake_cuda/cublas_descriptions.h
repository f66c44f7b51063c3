#pragma once

#include <cstring>
#include <type_traits>

#include "tests/fake_cuda/gemm.h"

namespace fake_cuda {

// Copies our structures (Matrix, Operation, Preference) out of and into the opaque structures of
// cublasLt, byte for byte.
template <typename Inner, typename Opaque>
Inner Unpack(const Opaque* opaque) {
  static_assert(sizeof(Inner) <= sizeof(Opaque) && std::is_trivially_copyable_v<Inner>);
  Inner inner;
  std::memcpy(static_cast<void*>(&inner), opaque, sizeof(Inner));
  return inner;
}
template <typename Inner, typename Opaque>
void Pack(const Inner& inner, Opaque* opaque) {
  static_assert(sizeof(Inner) <= sizeof(Opaque) && std::is_trivially_copyable_v<Inner>);
  std::memcpy(opaque, &inner, sizeof(Inner));
}

}  // namespace fake_cuda

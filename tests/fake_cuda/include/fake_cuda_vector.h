// Vector accesses, which a GPU refuses with "misaligned address" and an x86 forgives.
#pragma once

#include <cstddef>
#include <cstring>

namespace fake_cuda {

// A fault unless the address is a multiple of `bytes`.
void CheckVectorAccess(const void* pointer, size_t bytes);

template <typename Vector>
Vector LoadVector(const void* from) {
  CheckVectorAccess(from, sizeof(Vector));
  Vector vector;
  std::memcpy(&vector, from, sizeof(Vector));
  return vector;
}
template <typename Vector>
void StoreVector(void* to, const Vector& vector) {
  CheckVectorAccess(to, sizeof(Vector));
  std::memcpy(to, &vector, sizeof(Vector));
}

}  // namespace fake_cuda

// Vector loads and stores that check alignment: a GPU refuses a misaligned one ("misaligned
// address"), an x86 processor does not.
#pragma once

#include <cstddef>
#include <cstring>

namespace fake_cuda {

// Reports a fault unless the address is a multiple of `bytes`.
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

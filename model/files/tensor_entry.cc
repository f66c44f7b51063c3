#include "model/files/tensor_entry.h"

#include <algorithm>
#include <cstddef>

#include "common/checked.h"
#include "common/text/str_cat.h"

namespace horizon {

std::optional<Bytes> TensorBytes(Dtype dtype, std::span<const int64_t> shape) {
  CheckedU64 elements(1);
  for (const int64_t dimension : shape) elements *= CheckedU64::FromSigned(dimension);
  const CheckedU64 bits = elements * BitsOf(dtype);
  if (!bits.ok() || bits.value() % 8 != 0) return std::nullopt;
  return Bytes(bits / 8);
}

std::string ShapeForMessage(std::span<const int64_t> shape) {
  constexpr size_t kShown = 8;
  std::string text = "[";
  for (size_t i = 0; i < std::min(shape.size(), kShown); ++i) {
    text += StrCat(i == 0 ? "" : ", ", shape[i]);
  }
  return text + (shape.size() > kShown ? ", ...]" : "]");
}

}  // namespace horizon

#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/units.h"
#include "model/files/dtype.h"
#include "model/files/safetensors_entries.h"
#include "model/files/safetensors_header.h"

namespace horizon {

// A tensor to be written.
struct TensorDeclaration {
  std::string name;
  Dtype dtype = Dtype::kF32;
  std::vector<int64_t> shape;
};

// How a safetensors file begins, and so where everything in it lies.
struct SafetensorsStart {
  std::string text;  // length and header; the data section starts behind it, at a multiple of 8
  SafetensorsHeader header;
  Bytes data_bytes;
};

// Lays out a file of these tensors: larger element types first, so that every tensor is aligned,
// else in the order given. Pure; `path` is for messages. InvalidArgument when the list could not be
// read back: a name twice or not UTF-8, a negative dimension, a size beyond 64 bits, half a byte,
// more than 10^6 tensors, a header above 100 MB.
absl::StatusOr<SafetensorsStart> StartSafetensors(std::string_view path,
                                                  const std::vector<TensorDeclaration>& tensors,
                                                  const SafetensorsMetadata& metadata);

}  // namespace horizon

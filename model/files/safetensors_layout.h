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

// The layout of a safetensors file: its first bytes, and where each tensor is stored in it.
struct SafetensorsLayout {
  std::string text;  // length and header; the data section follows, at a multiple of 8
  SafetensorsHeader header;
  Bytes data_bytes;
};

// Lays out a file of these tensors. Larger element types come first, so that every tensor is
// aligned; otherwise the order is kept. Pure; `path` is for messages. Returns InvalidArgument if
// the file could not be read back: a duplicate name or one that is not UTF-8, a negative dimension,
// a size beyond 64 bits or not in whole bytes, more than 10^6 tensors, or a header above 100 MB.
absl::StatusOr<SafetensorsLayout> LayOutSafetensors(std::string_view path,
                                                    const std::vector<TensorDeclaration>& tensors,
                                                    const SafetensorsMetadata& metadata);

}  // namespace horizon

#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "common/units.h"
#include "model/files/safetensors_entries.h"
#include "model/files/tensor_entry.h"

namespace horizon {

// Parses and validates the header of a safetensors file. The format is eight bytes N (little
// endian), N bytes of JSON, then the data of all tensors without gaps. Everything here is checked
// with integers before any tensor data is read: the tensors of a valid header can be sized,
// allocated and read without further checks.

inline constexpr uint64_t kSafetensorsPrefixBytes = 8;
inline constexpr Bytes kMaxSafetensorsHeaderBytes = 100'000'000_B;

// A validated header. Plain data: it can be copied and moved, and any number of threads may read
// it.
class SafetensorsHeader {
 public:
  SafetensorsHeader() = default;

  // The pairs of `__metadata__` in file order; keys are unique.
  const SafetensorsMetadata& metadata() const { return metadata_; }
  // Sorted by (begin, end, name). In this order the tensors tile the data section.
  const std::vector<TensorEntry>& tensors() const { return tensors_; }
  // Returns nullptr if there is no such tensor. The pointer is valid as long as this object.
  const TensorEntry* Find(std::string_view name) const;

 private:
  friend absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view file,
                                                                  std::string_view text,
                                                                  Bytes data_bytes);
  // (hash of name, position in tensors_), sorted.
  using NameIndex = std::vector<std::pair<size_t, uint32_t>>;

  SafetensorsMetadata metadata_;
  std::vector<TensorEntry> tensors_;
  NameIndex by_name_;
};

// Decodes N from the first bytes of a file of `file_bytes` bytes (from the whole file if it has
// fewer than eight). Returns DataLoss unless 1 <= N <= `limit` and N bytes fit after the prefix.
absl::StatusOr<Bytes> DecodeHeaderLength(std::string_view file,
                                         std::span<const std::byte> first_bytes, Bytes file_bytes,
                                         Bytes limit = kMaxSafetensorsHeaderBytes);

// Parses and validates the N bytes of header text of a file that has `data_bytes` of data after
// them. Returns DataLoss "FILE: tensor NAME: reason" for the first rule that is broken. `file` is
// for messages. Any header of 100 MB, even the worst case, takes seconds and less than 1 GiB of
// memory (text and result together).
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view file,
                                                         std::string_view text, Bytes data_bytes);

}  // namespace horizon

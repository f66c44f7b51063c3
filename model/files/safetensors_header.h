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

// The header of a safetensors file: eight bytes N (little endian), N bytes of JSON, then the data
// of all tensors without a hole. Everything here works on integers before any payload is touched:
// what passes can be sized, allocated and read without another check.

inline constexpr uint64_t kSafetensorsPrefixBytes = 8;
inline constexpr Bytes kMaxSafetensorsHeaderBytes = 100'000'000_B;

// A validated header. Plain data: copies and moves freely, read by any number of threads.
class SafetensorsHeader {
 public:
  SafetensorsHeader() = default;

  // `__metadata__` in file order, keys unique.
  const SafetensorsMetadata& metadata() const { return metadata_; }
  // Sorted by (begin, end, name): they tile the data section in this order.
  const std::vector<TensorEntry>& tensors() const { return tensors_; }
  // nullptr when there is no such tensor. The pointer lives as long as this object.
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

// N of a file of `file_bytes` bytes from its first bytes (all of the file where it has fewer than
// eight). DataLoss unless 1 <= N <= `limit` and N fits behind the prefix.
absl::StatusOr<Bytes> DecodeHeaderLength(std::string_view file,
                                         std::span<const std::byte> first_bytes, Bytes file_bytes,
                                         Bytes limit = kMaxSafetensorsHeaderBytes);

// Validates the N bytes of header text of a file with `data_bytes` behind them. DataLoss "FILE:
// tensor NAME: reason" on the first rule broken. `file` is for messages. A header of 100 MB, the
// worst included, takes seconds and less than 1 GiB (text and result together).
absl::StatusOr<SafetensorsHeader> ParseSafetensorsHeader(std::string_view file,
                                                         std::string_view text, Bytes data_bytes);

}  // namespace horizon

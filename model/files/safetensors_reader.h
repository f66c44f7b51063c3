#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "common/units.h"
#include "model/files/safetensors_header.h"

namespace horizon {

// One safetensors file, open for reading. Tensors are read straight into the caller's memory with
// positioned reads. The file is never mapped, so a file that shrinks meanwhile causes DataLoss and
// not a signal. Owns the open file; `io` must outlive it. Several threads may call the const
// methods.
class SafetensorsReader {
 public:
  // Opens `path` and validates its header, which may have at most `header_limit` bytes. Returns
  // NotFound if the file is missing, DataLoss if it breaks a rule of safetensors_header.h,
  // otherwise the I/O error.
  static absl::StatusOr<SafetensorsReader> Open(Io& io, const std::string& path,
                                                Bytes header_limit = kMaxSafetensorsHeaderBytes);

  const std::string& path() const { return path_; }
  const SafetensorsHeader& header() const { return header_; }
  // N, the size of the header text.
  Bytes header_bytes() const { return header_bytes_; }

  // Fills `into`, which must have exactly the size of the tensor. Returns NotFound for a name that
  // is not in the file, InvalidArgument for another size, and DataLoss if the file has become
  // shorter.
  absl::Status ReadTensor(std::string_view name, std::span<std::byte> into) const;
  // Fills `into` from byte `offset` of the tensor on; the range must be within the tensor.
  absl::Status ReadRange(std::string_view name, uint64_t offset, std::span<std::byte> into) const;

 private:
  SafetensorsReader() = default;
  absl::StatusOr<const TensorEntry*> FindTensor(std::string_view name) const;

  std::string path_;
  std::unique_ptr<File> file_;
  Bytes header_bytes_;
  SafetensorsHeader header_;
};

}  // namespace horizon

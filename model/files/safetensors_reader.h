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

// One safetensors file, open for reading. Tensors are read with positioned reads straight into the
// caller's memory, never mapped: a file that shrinks meanwhile is DataLoss, not a signal.
// Owns the open file; `io` outlives it. The const methods may be called from several threads.
class SafetensorsReader {
 public:
  // Opens `path` and validates its header, which may take `header_limit`. NotFound when it is
  // missing, DataLoss when it breaks a rule of safetensors_header.h, else the I/O error.
  static absl::StatusOr<SafetensorsReader> Open(Io& io, const std::string& path,
                                                Bytes header_limit = kMaxSafetensorsHeaderBytes);

  const std::string& path() const { return path_; }
  const SafetensorsHeader& header() const { return header_; }
  // N, the bytes of header text.
  Bytes header_bytes() const { return header_bytes_; }

  // Fills `into`, which must have exactly the tensor's bytes. NotFound for a name that is not in
  // the file, InvalidArgument for another size, DataLoss when the file has become shorter.
  absl::Status ReadTensor(std::string_view name, std::span<std::byte> into) const;
  // Fills `into` from byte `offset` of the tensor; the range must lie within it.
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

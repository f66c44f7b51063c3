#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "common/units.h"
#include "model/files/safetensors_header.h"
#include "model/files/safetensors_start.h"

namespace horizon {

struct SafetensorsWriterOptions {
  SafetensorsMetadata metadata;  // left out of the file when empty
  Bytes buffer = 4_MiB;          // small pieces are gathered up to this; at least 1
};

// Writes one safetensors file from pieces. The list of tensors is declared first, so the header is
// on disk before any value; the values then come piece by piece, tensors in any order, the pieces
// of a tensor in theirs. Larger element types are laid out first, so that every tensor is aligned.
// Finish() makes the file whole: without it, or after any error, the file is removed again.
// Owns the open file; `io` outlives it. One thread at a time. The first error stays: every later
// call returns it.
class SafetensorsWriter {
 public:
  // Creates `path`, which must not exist (AlreadyExists). InvalidArgument when the declared list
  // could not be read back: a name twice or not UTF-8, a negative dimension, a size beyond 64 bits,
  // half a byte, more than 10^6 tensors, a header above 100 MB.
  static absl::StatusOr<std::unique_ptr<SafetensorsWriter>> Create(
      Io& io, const std::string& path, const std::vector<TensorDeclaration>& tensors,
      const SafetensorsWriterOptions& options = {});
  ~SafetensorsWriter();
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  // Where everything will lie.
  const SafetensorsHeader& header() const { return header_; }
  // The size the finished file has.
  Bytes file_bytes() const { return Bytes(data_start_) + data_bytes_; }

  // The next bytes of a tensor. InvalidArgument for an unknown name or more bytes than declared.
  absl::Status Append(std::string_view name, std::span<const std::byte> piece);
  // Flushes, syncs and closes; FailedPrecondition, naming the tensor, when bytes are missing. The
  // directory entry is the caller's to sync. Called once.
  absl::Status Finish();

 private:
  SafetensorsWriter(Io& io, std::string path) : io_(io), path_(std::move(path)) {}
  absl::Status AppendUnchecked(std::string_view name, std::span<const std::byte> piece);
  absl::Status Put(uint64_t position, std::span<const std::byte> bytes);
  absl::Status Flush();
  absl::Status CheckComplete() const;
  // Closes and removes what was created.
  void Discard();

  Io& io_;
  std::string path_;
  std::unique_ptr<File> file_;  // null once closed
  SafetensorsHeader header_;
  std::vector<uint64_t> written_;  // bytes given so far, by position in header_.tensors()
  CheckedU64 data_start_;
  Bytes data_bytes_;
  std::vector<std::byte> buffer_;  // bytes not yet handed to the file ...
  uint64_t buffer_position_ = 0;   // ... and where they go
  size_t buffer_limit_ = 0;
  absl::Status status_;
};

}  // namespace horizon

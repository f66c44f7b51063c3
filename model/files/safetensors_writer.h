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
#include "model/files/safetensors_layout.h"

namespace horizon {

// Options of SafetensorsWriter::Create.
struct SafetensorsWriterOptions {
  SafetensorsMetadata metadata;  // not written if empty
  Bytes buffer = 4_MiB;          // small pieces are collected up to this size; at least 1
};

// Writes one safetensors file piece by piece:
//
//   ASSIGN_OR_RETURN(auto writer, SafetensorsWriter::Create(io, path, tensors));
//   RETURN_IF_ERROR(writer->Append("model.norm.weight", piece));  // as often as needed
//   RETURN_IF_ERROR(writer->Finish());
//
// All tensors are declared first, so the header is on disk before any value. Then the values come
// in pieces: tensors in any order, but the pieces of one tensor in sequence. Larger element types
// are laid out first, so that every tensor is aligned. Without Finish(), or after any error, the
// file is removed again. Owns the open file; `io` must outlive it. One thread at a time. The first
// error is kept, and every later call returns it.
class SafetensorsWriter {
 public:
  // Creates `path`, which must not exist (AlreadyExists). Returns InvalidArgument if the declared
  // tensors could not be read back (see LayOutSafetensors): a duplicate name or one that is not
  // UTF-8, a negative dimension, a size beyond 64 bits or not in whole bytes, more than 10^6
  // tensors, or a header above 100 MB.
  static absl::StatusOr<std::unique_ptr<SafetensorsWriter>> Create(
      Io& io, const std::string& path, const std::vector<TensorDeclaration>& tensors,
      const SafetensorsWriterOptions& options = {});
  ~SafetensorsWriter();
  SafetensorsWriter(const SafetensorsWriter&) = delete;
  SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

  // The header of the file: where every tensor is stored.
  const SafetensorsHeader& header() const { return header_; }
  // The size of the finished file.
  Bytes file_bytes() const { return Bytes(data_start_) + data_bytes_; }

  // Appends the next bytes of a tensor. Returns InvalidArgument for an unknown name or more bytes
  // than declared.
  absl::Status Append(std::string_view name, std::span<const std::byte> piece);
  // Flushes, syncs and closes the file. Returns FailedPrecondition, naming the tensor, if bytes are
  // missing. The caller must sync the directory. Call it once.
  absl::Status Finish();

 private:
  SafetensorsWriter(Io& io, std::string path) : io_(io), path_(std::move(path)) {}
  absl::Status AppendUnchecked(std::string_view name, std::span<const std::byte> piece);
  absl::Status Put(uint64_t position, std::span<const std::byte> bytes);
  absl::Status Flush();
  absl::Status CheckComplete() const;
  // Closes and removes the file.
  void Discard();

  Io& io_;
  std::string path_;
  std::unique_ptr<File> file_;  // null once closed
  SafetensorsHeader header_;
  std::vector<uint64_t> written_;  // bytes appended so far, by position in header_.tensors()
  CheckedU64 data_start_;
  Bytes data_bytes_;
  std::vector<std::byte> buffer_;  // bytes not yet written to the file ...
  uint64_t buffer_position_ = 0;   // ... and where they go
  size_t buffer_limit_ = 0;
  absl::Status status_;
};

}  // namespace horizon

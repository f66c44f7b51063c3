#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "common/units.h"
#include "runtime/data/cache/content_hash.h"

namespace horizon {

// Reads a file from its first byte to its last and hashes it on the way. It keeps in memory what
// was asked for at once plus one read. Used by one thread; `io` outlives it.
class SequentialReader {
 public:
  static constexpr Bytes kReadBytes = 1_MiB;

  // Reads `read_bytes` (>= 1) at a time. Errors are Io's.
  static absl::StatusOr<SequentialReader> Open(Io& io, const std::string& path,
                                               Bytes read_bytes = kReadBytes);

  // Returns the bytes that follow: at least `wanted` of them unless the file ends before, and none
  // at the end. They stay valid until the next call. DataLoss when the file has become shorter
  // since it was opened.
  absl::StatusOr<std::string_view> Peek(size_t wanted);
  // Skips `count` of the bytes that Peek returned.
  void Skip(size_t count);

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }    // when it was opened
  uint64_t taken() const { return taken_; }  // bytes skipped so far
  // The hash of every byte read so far; the hash of the whole file once Peek has returned nothing.
  Hash128 hash() const { return hash_.Get(); }

 private:
  SequentialReader() = default;

  std::string path_;
  std::unique_ptr<File> file_;
  uint64_t size_ = 0;
  Bytes read_bytes_ = kReadBytes;
  std::string held_;  // bytes read; the first `used_` of them are skipped
  size_t used_ = 0;
  uint64_t read_ = 0;
  uint64_t taken_ = 0;
  bool at_end_ = false;
  ContentHash hash_;
};

}  // namespace horizon

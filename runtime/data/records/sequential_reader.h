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

// A file from its first byte to its last, hashed on the way. Memory is what was asked for at once
// and one read. One thread; `io` outlives it.
class SequentialReader {
 public:
  static constexpr Bytes kReadBytes = 1_MiB;

  // `read_bytes` (>= 1) at a time. Io's errors.
  static absl::StatusOr<SequentialReader> Open(Io& io, const std::string& path,
                                               Bytes read_bytes = kReadBytes);

  // What follows, at least `wanted` bytes of it unless the file ends before; empty at the end. It
  // stays until the next call. DataLoss when the file is shorter than it was when opened.
  absl::StatusOr<std::string_view> Peek(size_t wanted);
  // Goes past `count` bytes of what Peek gave.
  void Skip(size_t count);

  const std::string& path() const { return path_; }
  uint64_t size() const { return size_; }    // when it was opened
  uint64_t taken() const { return taken_; }  // bytes gone past
  // Of every byte read so far: the file's own once Peek gave nothing.
  Hash128 hash() const { return hash_.Get(); }

 private:
  SequentialReader() = default;

  std::string path_;
  std::unique_ptr<File> file_;
  uint64_t size_ = 0;
  Bytes read_bytes_ = kReadBytes;
  std::string held_;  // read; its first `used_` bytes are gone past
  size_t used_ = 0;
  uint64_t read_ = 0;
  uint64_t taken_ = 0;
  bool at_end_ = false;
  ContentHash hash_;
};

}  // namespace horizon

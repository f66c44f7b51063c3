#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "common/units.h"

namespace horizon {

struct HostMemoryOptions {
  // Every page is there when Create returns: later use cannot fail and does not stop to fault.
  bool populate = true;
  // Asks for huge pages; where the system gives none, small ones serve.
  bool huge_pages = true;
};

// Owns one mapping of the process's memory, zeroed at first, of exactly the size asked for (the
// last page may be longer). What is large and lasts lies in these: a heap would round and keep.
class HostMemory {
 public:
  // ResourceExhausted with the size asked for when the system refuses. Zero bytes are fine.
  static absl::StatusOr<HostMemory> Create(Bytes size, const HostMemoryOptions& options = {});
  HostMemory() = default;
  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;
  ~HostMemory();

  // Begins at a page. Empty after a move.
  std::span<std::byte> span() const { return {data_, size_}; }
  std::byte* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  HostMemory(std::byte* data, uint64_t size) : data_(data), size_(size) {}

  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace horizon

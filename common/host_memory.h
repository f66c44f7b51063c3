#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "absl/status/statusor.h"
#include "common/units.h"

namespace horizon {

// Options of HostMemory::Create.
struct HostMemoryOptions {
  // Create allocates every page before it returns, so later use cannot fail and causes no page
  // faults.
  bool populate = true;
  // Asks the system for huge pages. If it provides none, small pages are used.
  bool huge_pages = true;
};

// Owns one anonymous memory mapping of exactly the requested size (the last page may extend past
// it). The memory is zero at first and is unmapped by the destructor. Use it for large, long-lived
// buffers such as weights and optimizer state: a heap would round their sizes up, and keep the
// memory after they are freed.
class HostMemory {
 public:
  // ResourceExhausted, with the requested size, if the system refuses. A size of zero is allowed.
  static absl::StatusOr<HostMemory> Create(Bytes size, const HostMemoryOptions& options = {});
  HostMemory() = default;
  HostMemory(HostMemory&& other) noexcept;
  HostMemory& operator=(HostMemory&& other) noexcept;
  ~HostMemory();

  // The memory, which starts at a page boundary. Empty after a move.
  std::span<std::byte> span() const { return {data_, size_}; }
  std::byte* data() const { return data_; }
  uint64_t size() const { return size_; }

 private:
  HostMemory(std::byte* data, uint64_t size) : data_(data), size_(size) {}

  std::byte* data_ = nullptr;
  uint64_t size_ = 0;
};

}  // namespace horizon

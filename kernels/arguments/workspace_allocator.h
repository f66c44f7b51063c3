#pragma once

#include <cstddef>
#include <cstdint>

namespace horizon {

// Divides the device workspace of a kernel into arrays: a bump allocator that frees nothing. Each
// array is aligned to 256 bytes.
//   WorkspaceAllocator workspace(context.device_workspace.data());
//   float* scores = workspace.Allocate<float>(rows * columns);
// Constructed without memory, it returns null pointers and only counts bytes. So the same code that
// lays out the arrays also computes how large the workspace must be (allocated_bytes).
class WorkspaceAllocator {
 public:
  explicit WorkspaceAllocator(std::byte* begin = nullptr) : begin_(begin) {}

  template <typename T>
  T* Allocate(int64_t count) {
    constexpr uint64_t kAlignment = 256;
    std::byte* array = begin_ == nullptr ? nullptr : begin_ + allocated_bytes_;
    const uint64_t bytes = static_cast<uint64_t>(count) * sizeof(T);
    allocated_bytes_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return reinterpret_cast<T*>(array);
  }
  uint64_t allocated_bytes() const { return allocated_bytes_; }

 private:
  std::byte* begin_;
  uint64_t allocated_bytes_ = 0;
};

}  // namespace horizon

#pragma once

#include <cstddef>
#include <cstdint>

namespace horizon {

// Hands out consecutive parts of the device workspace, each aligned to 256 bytes. From null it
// hands out null and only counts: so what is needed and what is used are one list.
class DeviceParts {
 public:
  explicit DeviceParts(std::byte* begin = nullptr) : begin_(begin) {}

  template <typename T>
  T* Take(int64_t count) {
    constexpr uint64_t kAlignment = 256;
    std::byte* part = begin_ == nullptr ? nullptr : begin_ + taken_;
    const uint64_t bytes = static_cast<uint64_t>(count) * sizeof(T);
    taken_ += (bytes + kAlignment - 1) / kAlignment * kAlignment;
    return reinterpret_cast<T*>(part);
  }
  uint64_t taken() const { return taken_; }

 private:
  std::byte* begin_;
  uint64_t taken_ = 0;
};

}  // namespace horizon

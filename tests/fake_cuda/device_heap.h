#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fake_cuda {

// The fake's device memory. It has a range of addresses of its own, which nobody can access except
// while the fake runs work (between Open and Close). Each allocation ends at a guard page, up to
// 255 bytes apart; those bytes are checked. Every byte of an allocation starts as 0xFF (NaN in each
// type), and its addresses are never used again. Accessing closed memory ends the process with a
// line that says who accessed what.
class DeviceHeap {
 public:
  DeviceHeap();
  ~DeviceHeap();
  DeviceHeap(const DeviceHeap&) = delete;
  DeviceHeap& operator=(const DeviceHeap&) = delete;

  // Returns an address that is a multiple of 256. The system provides the pages when they are first
  // written.
  void* Allocate(uint64_t bytes);
  // Returns false when `pointer` is not the begin of a live allocation.
  bool Free(void* pointer);
  // Whether all `bytes` bytes from `pointer` on are inside one live allocation. With 0 bytes, the
  // pointer may also be just behind the end of one.
  bool Contains(const void* pointer, uint64_t bytes) const;
  // Whether the pointer is an address of device memory, in a live allocation or not.
  bool IsDevice(const void* pointer) const;
  uint64_t used() const { return used_; }
  std::vector<uint64_t> LiveSizes() const;

  void Open();
  void Close();
  // Both report a fault when an allocation was written outside its bounds: behind its end, checked
  // after each piece of work (`who` is that work), or before its begin.
  void CheckEnds(const std::string& who) const;
  void CheckBegins() const;

  // Describes where the pointer points, for messages: "17 bytes behind an allocation of 256 bytes".
  std::string Describe(const void* pointer) const;

 private:
  struct Allocation {
    uint64_t bytes = 0;
    std::byte* pages = nullptr;  // the mapped range around it
    uint64_t mapped = 0;
    bool live = true;
  };
  void Protect(int protection) const;

  std::byte* region_;
  std::byte* next_;
  uint64_t used_ = 0;
  std::map<std::byte*, Allocation> allocations_;  // by begin; freed ones are kept for messages
};

}  // namespace fake_cuda

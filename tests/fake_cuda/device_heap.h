#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace fake_cuda {

// Device memory: a range of addresses of its own that is closed to everyone but while the fake runs
// work. Each allocation ends (but for 255 bytes that are checked) at a page that nobody may touch,
// begins with 0xFF in every byte (NaN in each type), and its addresses are not used again. Touching
// what is closed ends the process with a line that says who touched what.
class DeviceHeap {
 public:
  DeviceHeap();
  ~DeviceHeap();
  DeviceHeap(const DeviceHeap&) = delete;
  DeviceHeap& operator=(const DeviceHeap&) = delete;

  // At a multiple of 256. Memory is taken from the system when it is written.
  void* Allocate(uint64_t bytes);
  // False when it is not the begin of a live allocation.
  bool Free(void* pointer);
  // bytes > 0: all of them inside one live allocation. 0: the pointer in one, or just behind.
  bool Contains(const void* pointer, uint64_t bytes) const;
  // Whether the pointer is one of device memory, live or not.
  bool IsDevice(const void* pointer) const;
  uint64_t used() const { return used_; }
  std::vector<uint64_t> LiveSizes() const;

  void Open();
  void Close();
  // A fault when `who` wrote behind the end of an allocation (after each piece of work), or before
  // its begin.
  void CheckEnds(const std::string& who) const;
  void CheckBegins() const;

  // Where the pointer lies, for messages: "17 bytes behind an allocation of 256 bytes".
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
  std::map<std::byte*, Allocation> allocations_;  // by begin; the freed ones for messages
};

}  // namespace fake_cuda

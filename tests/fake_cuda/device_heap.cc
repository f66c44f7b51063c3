#include "tests/fake_cuda/device_heap.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "tests/fake_cuda/fault.h"
#include "tests/fake_cuda/thread_block.h"

namespace fake_cuda {
namespace {

constexpr uint64_t kPage = 4096;
constexpr uint64_t kAlignment = 256;             // of cudaMalloc
constexpr uint64_t kRegion = uint64_t{4} << 40;  // addresses, not memory
constexpr uint64_t kPoisonFile = uint64_t{16} << 20;
constexpr int kPoison = 0xFF;
constexpr int kBehind = 0xA5;

uint64_t RoundUp(uint64_t bytes, uint64_t unit) { return (bytes + unit - 1) / unit * unit; }

// A file of poison that every allocation is a private copy of.
int PoisonFile() {
  static const int file = [] {
    const int made = memfd_create("fake_cuda_poison", MFD_CLOEXEC);
    const std::vector<char> poison(kPoisonFile, static_cast<char>(kPoison));
    if (made < 0 ||
        write(made, poison.data(), poison.size()) != static_cast<ssize_t>(poison.size())) {
      Fault("no memory for the poison of device memory");
    }
    return made;
  }();
  return file;
}

const DeviceHeap* heap_of_handler = nullptr;

// Ends the process: what is closed was touched. Strings here allocate, which a handler should not;
// the process dies in any case, at worst without the line.
void OnClosedMemory(int signal, siginfo_t* info, void* /*context*/) {
  std::signal(signal, SIG_DFL);
  const void* address = info->si_addr;
  const std::string where = DescribeRunningThread();
  if (heap_of_handler != nullptr && (heap_of_handler->IsDevice(address) || !where.empty())) {
    const std::string line = "fake CUDA: " +
                             (where.empty() ? std::string("the host touches device memory, ")
                                            : std::string("a thread touches what it may not, ")) +
                             heap_of_handler->Describe(address) + where + "\n";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line.data(), line.size());
    std::abort();
  }
}

void CatchClosedMemory(const DeviceHeap* heap) {
  heap_of_handler = heap;
  struct sigaction action = {};
  action.sa_sigaction = &OnClosedMemory;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  sigaction(SIGSEGV, &action, nullptr);
}

bool HoldsOnly(const std::byte* begin, const std::byte* end, int value) {
  return std::all_of(begin, end, [&](std::byte b) { return b == static_cast<std::byte>(value); });
}

}  // namespace

DeviceHeap::DeviceHeap() {
  void* mapped =
      mmap(nullptr, kRegion, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) Fault("no addresses for device memory");
  region_ = next_ = static_cast<std::byte*>(mapped);
  CatchClosedMemory(this);
}

DeviceHeap::~DeviceHeap() {
  heap_of_handler = nullptr;
  munmap(region_, kRegion);
}

void* DeviceHeap::Allocate(uint64_t bytes) {
  const uint64_t used = RoundUp(bytes, kAlignment);
  Allocation allocation{.bytes = bytes, .pages = next_ + kPage, .mapped = RoundUp(used, kPage)};
  if (allocation.mapped + 2 * kPage > static_cast<uint64_t>(region_ + kRegion - next_)) {
    Fault("the addresses of device memory are used up");
    return nullptr;
  }
  for (uint64_t done = 0; done < allocation.mapped; done += kPoisonFile) {
    const uint64_t piece = std::min(kPoisonFile, allocation.mapped - done);
    if (mmap(allocation.pages + done, piece, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, PoisonFile(), 0) == MAP_FAILED) {
      Fault("no memory for " + std::to_string(bytes) + " bytes of device memory");
    }
  }
  std::byte* begin = allocation.pages + allocation.mapped - used;
  std::memset(begin + bytes, kBehind, used - bytes);
  mprotect(allocation.pages, allocation.mapped, PROT_NONE);
  next_ = allocation.pages + allocation.mapped;
  used_ += used;
  allocations_[begin] = allocation;
  return begin;
}

bool DeviceHeap::Free(void* pointer) {
  const auto found = allocations_.find(static_cast<std::byte*>(pointer));
  if (found == allocations_.end() || !found->second.live) return false;
  found->second.live = false;
  used_ -= RoundUp(found->second.bytes, kAlignment);
  return mmap(found->second.pages, found->second.mapped, PROT_NONE,
              MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED, -1, 0) != MAP_FAILED;
}

bool DeviceHeap::Contains(const void* pointer, uint64_t bytes) const {
  const auto* wanted = static_cast<const std::byte*>(pointer);
  auto next = allocations_.upper_bound(const_cast<std::byte*>(wanted));
  if (next == allocations_.begin()) return false;
  const auto& [begin, allocation] = *std::prev(next);
  const auto offset = static_cast<uint64_t>(wanted - begin);
  return allocation.live && offset <= allocation.bytes && bytes <= allocation.bytes - offset;
}

bool DeviceHeap::IsDevice(const void* pointer) const {
  return pointer >= region_ && pointer < region_ + kRegion;
}

std::vector<uint64_t> DeviceHeap::LiveSizes() const {
  std::vector<uint64_t> sizes;
  for (const auto& [begin, allocation] : allocations_) {
    if (allocation.live) sizes.push_back(allocation.bytes);
  }
  return sizes;
}

void DeviceHeap::Protect(int protection) const {
  for (const auto& [begin, allocation] : allocations_) {
    if (allocation.live) mprotect(allocation.pages, allocation.mapped, protection);
  }
}

void DeviceHeap::Open() { Protect(PROT_READ | PROT_WRITE); }

void DeviceHeap::Close() { Protect(PROT_NONE); }

void DeviceHeap::CheckEnds(const std::string& who) const {
  for (const auto& [begin, allocation] : allocations_) {
    if (!allocation.live) continue;
    std::byte* behind = begin + allocation.bytes;
    std::byte* end = begin + RoundUp(allocation.bytes, kAlignment);
    if (HoldsOnly(behind, end, kBehind)) continue;
    Fault(who + " wrote behind the end of an allocation of " + std::to_string(allocation.bytes) +
          " bytes");
    std::memset(behind, kBehind, static_cast<size_t>(end - behind));
  }
}

void DeviceHeap::CheckBegins() const {
  for (const auto& [begin, allocation] : allocations_) {
    if (!allocation.live || HoldsOnly(allocation.pages, begin, kPoison)) continue;
    Fault("something wrote before the begin of an allocation of " +
          std::to_string(allocation.bytes) + " bytes");
    std::memset(allocation.pages, kPoison, static_cast<size_t>(begin - allocation.pages));
  }
}

std::string DeviceHeap::Describe(const void* pointer) const {
  const auto* wanted = static_cast<const std::byte*>(pointer);
  if (!IsDevice(pointer)) return "an address that is not of device memory";
  auto next = allocations_.upper_bound(const_cast<std::byte*>(wanted));
  if (next != allocations_.end() && next->second.pages - wanted <= 0) {
    return std::to_string(next->first - wanted) + " bytes before an allocation of " +
           std::to_string(next->second.bytes) + " bytes";
  }
  if (next == allocations_.begin()) return "an address that was never allocated";
  const auto& [begin, allocation] = *std::prev(next);
  const std::string what = (allocation.live ? "an allocation of " : "a freed allocation of ") +
                           std::to_string(allocation.bytes) + " bytes";
  const auto offset = static_cast<uint64_t>(wanted - begin);
  if (offset < allocation.bytes) return "byte " + std::to_string(offset) + " of " + what;
  return std::to_string(offset - allocation.bytes) + " bytes behind the end of " + what;
}

}  // namespace fake_cuda

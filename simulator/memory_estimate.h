#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "schedule/schedule.h"
#include "simulator/cost_model.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// The bytes of a run, item by item: all buffers of the layout by kind, and what the process costs
// besides. Never below what is used: items are counted whole and rounded up.

struct MemoryItem {
  Memory memory = Memory::kHost;
  std::string name;  // a BufferKind's word, or "process", "page tables", "driver and libraries"
  int64_t count = 0;
  uint64_t bytes = 0;
};

// Sums of the items.
struct MemoryNeed {
  MemoryTotals totals{};

  uint64_t device_bytes() const { return totals[static_cast<size_t>(Memory::kDevice)]; }
  uint64_t pinned_bytes() const { return totals[static_cast<size_t>(Memory::kPinned)]; }
  // All RAM of the process, the pinned part included.
  uint64_t host_bytes() const {
    return totals[static_cast<size_t>(Memory::kHost)] + pinned_bytes();
  }
};

struct MemoryEstimate : MemoryNeed {
  std::vector<MemoryItem> items;  // by memory, largest first
  uint64_t BytesOf(BufferKind kind) const;
};

MemoryEstimate EstimateMemory(const MemoryLayout& layout, const HardwareProfile& profile,
                              const Software& software = {});
// The sums alone, from the totals of a layout: what a search asks thousands of times.
MemoryNeed EstimateNeed(const MemoryTotals& layout, const HardwareProfile& profile,
                        const Software& software = {});

// What a run lacks on a machine.
enum class Limit { kDeviceMemory, kHostMemory, kPageLocking };
std::span<const EnumWord<Limit>> WordsOf(Limit);

struct Shortage {
  Limit limit = Limit::kHostMemory;
  uint64_t needed = 0;
  uint64_t available = 0;  // after the margin
};
// Empty where all fits and `margin` (a share, 0.05: 5 %) of each memory stays free.
std::vector<Shortage> ShortagesOf(const MemoryNeed& need, const HardwareProfile& profile,
                                  double margin);
// The bytes a memory offers after the margin.
uint64_t Available(const HardwareProfile& profile, Limit limit, double margin);

}  // namespace horizon

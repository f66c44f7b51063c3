#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/units.h"
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
  Bytes bytes;
};

// Sums of the items.
struct MemoryNeed {
  MemoryTotals totals{};

  Bytes device_bytes() const { return totals[static_cast<size_t>(Memory::kDevice)]; }
  Bytes pinned_bytes() const { return totals[static_cast<size_t>(Memory::kPinned)]; }
  // All RAM of the process, the pinned part included.
  Bytes host_bytes() const { return totals[static_cast<size_t>(Memory::kHost)] + pinned_bytes(); }
};

struct MemoryEstimate : MemoryNeed {
  std::vector<MemoryItem> items;  // by memory, largest first
  Bytes BytesOf(BufferKind kind) const;
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
  Bytes needed;
  Bytes available;  // after the margin
};
// Empty where all fits and `margin` (a share, 0.05: 5 %) of each memory stays free.
std::vector<Shortage> ShortagesOf(const MemoryNeed& need, const HardwareProfile& profile,
                                  double margin);
// What a memory offers after the margin; overflowed where nothing limits it.
Bytes Available(const HardwareProfile& profile, Limit limit, double margin);

}  // namespace horizon

#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "common/units.h"
#include "schedule/schedule.h"
#include "simulator/cost_model.h"
#include "simulator/hardware_profile.h"

namespace horizon {

// Estimates the memory of a run, item by item: all buffers of the layout by kind, and what the
// process takes besides. The estimate is never below what is used: items are counted whole and
// rounded up.

// One item of the estimate, such as all ring slots.
struct MemoryItem {
  Memory memory = Memory::kHost;
  std::string name;  // a word of BufferKind, or "process", "page tables", ...
  int64_t count = 0;
  Bytes bytes;
};

// The sums of the items.
struct MemoryNeed {
  MemoryTotals totals{};

  Bytes device_bytes() const { return totals[static_cast<size_t>(Memory::kDevice)]; }
  Bytes pinned_bytes() const { return totals[static_cast<size_t>(Memory::kPinned)]; }
  // All RAM of the process, including pinned memory.
  Bytes host_bytes() const { return totals[static_cast<size_t>(Memory::kHost)] + pinned_bytes(); }
};

// The estimate with all its items.
struct MemoryEstimate : MemoryNeed {
  std::vector<MemoryItem> items;  // by memory, then largest first
  Bytes BytesOf(BufferKind kind) const;
};

MemoryEstimate EstimateMemory(const MemoryLayout& layout, const HardwareProfile& profile,
                              const Software& software = {});
// The sums alone, from the totals of a layout. The plan search calls this thousands of times.
MemoryNeed EstimateNeed(const MemoryTotals& layout, const HardwareProfile& profile,
                        const Software& software = {});

// The limits of a machine that a run can exceed.
enum class Limit { kDeviceMemory, kHostMemory, kPageLocking };
std::span<const EnumWord<Limit>> WordsOf(Limit);

// A limit that a run exceeds, and by how much.
struct Shortage {
  Limit limit = Limit::kHostMemory;
  Bytes needed;
  Bytes available;  // after the margin
};
// The limits that a run exceeds. Empty where everything fits and `margin` (a share: 0.05 is 5 %) of
// device memory and RAM stays free. The page-locking limit has no margin.
std::vector<Shortage> ShortagesOf(const MemoryNeed& need, const HardwareProfile& profile,
                                  double margin);
// What a limit allows after the margin; an overflowed Bytes, which is larger than any other, where
// there is no limit.
Bytes Available(const HardwareProfile& profile, Limit limit, double margin);

}  // namespace horizon

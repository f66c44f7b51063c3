#include "simulator/memory_estimate.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

namespace horizon {
namespace {

constexpr EnumWord<Limit> kLimitWords[] = {{Limit::kDeviceMemory, "device memory"},
                                           {Limit::kHostMemory, "host memory"},
                                           {Limit::kPageLocking, "page-locking"}};

// Arenas are mapped in pages of this size where the system allows; else the last one is part used.
constexpr Bytes kHugePage = 2_MiB;
// Eight bytes for each page of 4 KiB, where no huge page could be had.
constexpr uint64_t kMappedPerTableByte = 512;

Bytes RoundingOf(Bytes bytes) { return bytes.RoundedUp(kHugePage.value()) - bytes; }

// What a run costs besides its buffers.
struct Overhead {
  Memory memory;
  std::string_view name;
  Bytes bytes;
};
std::array<Overhead, 6> OverheadsOf(const MemoryTotals& layout, const HardwareProfile& profile,
                                    const Software& software) {
  const Bytes device = layout[static_cast<size_t>(Memory::kDevice)];
  const Bytes pinned = layout[static_cast<size_t>(Memory::kPinned)];
  const Bytes host = layout[static_cast<size_t>(Memory::kHost)];
  const auto whole = [](const Figure& figure) {
    return Bytes(static_cast<uint64_t>(std::ceil(figure.value)));
  };
  return {
      {{Memory::kDevice, "driver and libraries", whole(profile.device.reserved_bytes)},
       {Memory::kPinned, "page rounding", RoundingOf(pinned)},
       {Memory::kHost, "page rounding", RoundingOf(host)},
       {Memory::kHost, "page tables", (pinned + host) / kMappedPerTableByte},
       {Memory::kHost, "process",
        software.process_bytes != 0_B ? software.process_bytes : whole(profile.host.process_bytes)},
       // On device `host` the device's arena is RAM of the process too.
       {Memory::kHost, "device arena", profile.device.kind == DeviceKind::kHost ? device : 0_B}}};
}

}  // namespace

std::span<const EnumWord<Limit>> WordsOf(Limit) { return kLimitWords; }

Bytes MemoryEstimate::BytesOf(BufferKind kind) const {
  Bytes bytes;
  for (const MemoryItem& item : items) {
    if (item.name == ToString(kind)) bytes += item.bytes;
  }
  return bytes;
}

MemoryEstimate EstimateMemory(const MemoryLayout& layout, const HardwareProfile& profile,
                              const Software& software) {
  MemoryEstimate estimate;
  std::map<std::pair<Memory, BufferKind>, MemoryItem> items;
  MemoryTotals sums{};
  for (const Buffer& buffer : layout.buffers) {
    MemoryItem& item = items[{buffer.memory, buffer.kind}];
    item.memory = buffer.memory;
    item.name = ToString(buffer.kind);
    ++item.count;
    item.bytes += buffer.bytes;
    sums[static_cast<size_t>(buffer.memory)] += buffer.bytes;
  }
  for (auto& [key, item] : items) estimate.items.push_back(std::move(item));
  const auto add = [&](Memory memory, std::string_view name, Bytes bytes) {
    if (bytes == 0_B) return;
    estimate.items.push_back(
        {.memory = memory, .name = std::string(name), .count = 1, .bytes = bytes});
  };
  for (const Memory memory : {Memory::kDevice, Memory::kPinned, Memory::kHost}) {
    const auto m = static_cast<size_t>(memory);
    add(memory, "alignment", layout.totals[m] - sums[m]);
  }
  for (const Overhead& overhead : OverheadsOf(layout.totals, profile, software)) {
    add(overhead.memory, overhead.name, overhead.bytes);
  }
  std::stable_sort(estimate.items.begin(), estimate.items.end(),
                   [](const MemoryItem& a, const MemoryItem& b) {
                     return a.memory != b.memory ? a.memory < b.memory : a.bytes > b.bytes;
                   });
  for (const MemoryItem& item : estimate.items) {
    estimate.totals[static_cast<size_t>(item.memory)] += item.bytes;
  }
  return estimate;
}

MemoryNeed EstimateNeed(const MemoryTotals& layout, const HardwareProfile& profile,
                        const Software& software) {
  MemoryNeed need{.totals = layout};
  for (const Overhead& overhead : OverheadsOf(layout, profile, software)) {
    need.totals[static_cast<size_t>(overhead.memory)] += overhead.bytes;
  }
  return need;
}

Bytes Available(const HardwareProfile& profile, Limit limit, double margin) {
  double bytes = 0;
  switch (limit) {
    case Limit::kDeviceMemory:
      bytes = profile.usable_device_bytes();
      break;
    case Limit::kHostMemory:
      bytes = profile.usable_host_bytes();
      break;
    case Limit::kPageLocking:
      // The host device copies within RAM, where nothing has to be locked.
      if (!profile.host.memlock_bytes.has_value() || profile.device.kind == DeviceKind::kHost) {
        return Bytes(CheckedU64::Overflowed());
      }
      return Bytes(static_cast<uint64_t>(profile.host.memlock_bytes->value));
  }
  return Bytes(static_cast<uint64_t>(bytes * (1 - margin)));
}

std::vector<Shortage> ShortagesOf(const MemoryNeed& need, const HardwareProfile& profile,
                                  double margin) {
  std::vector<Shortage> shortages;
  const auto check = [&](Limit limit, Bytes needed) {
    const Bytes available = Available(profile, limit, margin);
    if (needed > available) {
      shortages.push_back({.limit = limit, .needed = needed, .available = available});
    }
  };
  check(Limit::kHostMemory, need.host_bytes());
  check(Limit::kDeviceMemory, need.device_bytes());
  check(Limit::kPageLocking, need.pinned_bytes());
  return shortages;
}

}  // namespace horizon

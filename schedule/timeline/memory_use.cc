#include "schedule/timeline/memory_use.h"

#include <algorithm>
#include <map>

namespace horizon {
namespace {

struct Span {
  bool open = false;
  int64_t begin = 0;
  int64_t end = 0;
};

}  // namespace

std::vector<MemoryChange> MemoryOverTime(const Schedule& schedule, const Timeline& timeline) {
  const std::vector<Buffer>& buffers = schedule.memory.buffers;
  std::map<int64_t, std::array<int64_t, kMemoryCount>> deltas;
  std::vector<char> lasting(buffers.size(), 0);  // there before the first step, and after the last
  const auto close = [&](size_t b, Span& span) {
    if (!span.open) return;
    const size_t memory = static_cast<size_t>(buffers[b].memory);
    deltas[span.begin][memory] += static_cast<int64_t>(buffers[b].bytes.value());
    if (!lasting[b]) deltas[span.end][memory] -= static_cast<int64_t>(buffers[b].bytes.value());
    span.open = false;
  };

  // Entries of a lane are in order and waits order the rest, so by start time every reader comes
  // after the writer of what it reads.
  std::vector<const TimelineEntry*> by_start;
  for (const TimelineEntry& entry : timeline.entries) by_start.push_back(&entry);
  std::stable_sort(
      by_start.begin(), by_start.end(),
      [](const TimelineEntry* a, const TimelineEntry* b) { return a->start_ns < b->start_ns; });
  std::vector<Span> spans(buffers.size());
  for (const Access& access : schedule.initial) {
    spans[access.buffer] = {.open = true};
    lasting[access.buffer] = 1;
  }
  for (const TimelineEntry* entry : by_start) {
    const Phase& phase = PhaseOf(schedule, timeline.steps[entry->step]);
    const std::span<const Access> accesses = phase.AccessesOf(phase.operations[entry->operation]);
    for (const Access& access : accesses) {
      if (lasting[access.buffer]) continue;
      Span& span = spans[access.buffer];
      const bool fills = access.mode == AccessMode::kWrite &&
                         std::none_of(accesses.begin(), accesses.end(), [&](const Access& other) {
                           return other.buffer == access.buffer && other.mode == AccessMode::kRead;
                         });
      if (fills) {
        close(access.buffer, span);
        span = {.open = true, .begin = entry->start_ns, .end = entry->end_ns};
      } else {
        span.end = std::max(span.end, entry->end_ns);
      }
    }
  }
  for (size_t b = 0; b < spans.size(); ++b) close(b, spans[b]);

  std::vector<MemoryChange> changes;
  std::array<int64_t, kMemoryCount> now{};
  for (const auto& [time, delta] : deltas) {
    MemoryChange change{.time_ns = time};
    for (size_t m = 0; m < kMemoryCount; ++m) {
      now[m] += delta[m];
      change.bytes[m] = Bytes(static_cast<uint64_t>(now[m]));
    }
    changes.push_back(change);
  }
  return changes;
}

}  // namespace horizon

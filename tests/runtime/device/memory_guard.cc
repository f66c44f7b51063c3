#include "tests/runtime/device/memory_guard.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "common/check.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

std::byte PoisonAt(const std::byte* data) {
  return static_cast<std::byte>(kPoison >> (reinterpret_cast<uintptr_t>(data) % 4 * 8));
}

}  // namespace

void Poison(std::byte* data, uint64_t bytes) {
  uint64_t done = std::min<uint64_t>(bytes, sizeof(kPoison));
  for (uint64_t i = 0; i < done; ++i) data[i] = PoisonAt(data + i);
  // Whole periods of the pattern, twice as many each time.
  while (done < bytes) {
    const uint64_t next = std::min(done, bytes - done);
    std::memcpy(data + done, data, next);
    done += next;
  }
}

bool IsPoison(const std::byte* data, uint64_t bytes) {
  for (const std::byte* at = data; at != data + bytes; ++at) {
    if (*at != PoisonAt(at)) return false;
  }
  return true;
}

MemoryGuard::MemoryGuard(std::span<const std::span<std::byte>> all,
                         std::vector<KernelMemory> declared) {
  std::sort(declared.begin(), declared.end(), [](const KernelMemory& a, const KernelMemory& b) {
    return a.memory.data() < b.memory.data();
  });
  size_t placed = 0;
  for (const std::span<std::byte> memory : all) {
    std::byte* const end = memory.data() + memory.size();
    std::byte* at = memory.data();
    for (const KernelMemory& one : declared) {
      if (one.memory.data() < memory.data() || one.memory.data() >= end) continue;
      CHECK(one.memory.data() >= at && one.memory.data() + one.memory.size() <= end);
      ++placed;
      Keep({at, one.memory.data()}, false);
      at = one.memory.data() + one.memory.size();
      if (!one.writes) Keep(one.memory, true);
      if (!one.reads) Poison(one.memory.data(), one.memory.size());
    }
    Keep({at, end}, false);
  }
  CHECK(placed == declared.size());
}

void MemoryGuard::Keep(std::span<std::byte> memory, bool readable) {
  if (memory.empty()) return;
  kept_.push_back(
      {.memory = memory, .readable = readable, .before = {memory.begin(), memory.end()}});
  if (!readable) Poison(memory.data(), memory.size());
}

absl::Status MemoryGuard::Finish(std::string_view who) {
  absl::Status status;
  for (const Kept& kept : kept_) {
    const bool unchanged =
        kept.readable ? std::equal(kept.memory.begin(), kept.memory.end(), kept.before.begin())
                      : IsPoison(kept.memory.data(), kept.memory.size());
    if (!unchanged && status.ok()) {
      status = absl::InternalError(
          StrCat(std::string(who), " wrote into ", kept.memory.size(), " bytes that it ",
                 kept.readable ? "declared as only read" : "did not declare"));
    }
    std::memcpy(kept.memory.data(), kept.before.data(), kept.memory.size());
  }
  kept_.clear();
  return status;
}

}  // namespace horizon

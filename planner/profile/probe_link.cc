#include "planner/profile/probe_link.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <span>

#include "common/host_memory.h"
#include "common/status_macros.h"

namespace horizon {
namespace {

constexpr Bytes kCopyBytes = 32_MiB;
constexpr int kCopiesAtOnce = 8;  // 10 ms and more of work for a link of today

// Takes the better of what was seen and what is.
void Take(const NvmlLink& link, std::optional<PcieState>& best) {
  if (!link.now || !link.most || link.now->generation == 0 || link.now->width == 0) return;
  PcieState& state = best.has_value() ? *best : best.emplace();
  state = {.generation = std::max<int64_t>(state.generation, link.now->generation),
           .width = std::max<int64_t>(state.width, link.now->width),
           .best_generation = std::max<int64_t>(link.most->generation, link.now->generation),
           .best_width = std::max<int64_t>(link.most->width, link.now->width),
           .under_load = true};
}

// Host memory that is registered as long as this lives.
class Registered {
 public:
  Registered(Device& device, std::span<std::byte> memory) : device_(device), memory_(memory) {}
  Registered(const Registered&) = delete;
  Registered& operator=(const Registered&) = delete;
  ~Registered() { device_.UnregisterHost(memory_).IgnoreError(); }

 private:
  Device& device_;
  const std::span<std::byte> memory_;
};

struct Copying {
  Device& device;
  StreamRef stream;
  EventRef done;
  std::byte* to;
  const std::byte* from;
};

// Asks while copies run.
absl::StatusOr<NvmlLink> AskUnderLoad(const Copying& copying, const LinkReader& read) {
  for (int i = 0; i < kCopiesAtOnce; ++i) {
    RETURN_IF_ERROR(
        copying.device.CopyToDevice(copying.stream, copying.to, copying.from, kCopyBytes));
  }
  RETURN_IF_ERROR(copying.device.Record(copying.stream, copying.done));
  const absl::StatusOr<NvmlLink> link = read();
  RETURN_IF_ERROR(copying.device.Await(copying.done));
  // What the driver cannot answer is not told.
  return link.ok() ? *link : NvmlLink{};
}

}  // namespace

absl::StatusOr<std::optional<PcieState>> ProbeLink(Clock& clock, Device& device,
                                                   const LinkReader& read, Seconds time) {
  ASSIGN_OR_RETURN(const HostMemory host, HostMemory::Create(kCopyBytes));
  RETURN_IF_ERROR(device.RegisterHost(host.span()));
  const Registered registered(device, host.span());
  ASSIGN_OR_RETURN(const DeviceMemory memory, device.Allocate(kCopyBytes));
  ASSIGN_OR_RETURN(const StreamRef stream, device.CreateStream({.name = "link"}));
  ASSIGN_OR_RETURN(const EventRef done, device.CreateEvent());
  const Copying copying{device, stream, done, memory.data(), host.data()};
  const Nanoseconds begin = clock.Now();
  std::optional<PcieState> best;
  while (true) {
    const absl::StatusOr<NvmlLink> link = AskUnderLoad(copying, read);
    if (!link.ok()) {
      device.Cancel(link.status());  // so that no copy is left when the memory goes
      return link.status();
    }
    Take(*link, best);
    if (!best || LinkProblem(*best).empty()) return best;
    if (std::chrono::duration<double>(clock.Now() - begin).count() >= time.value) return best;
  }
}

}  // namespace horizon

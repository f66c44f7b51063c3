#include "tests/fake_cuda/meetings.h"

#include <array>
#include <bit>
#include <cstdio>

namespace fake_cuda {
namespace {

std::string NameOf(Meeting meeting) {
  switch (meeting) {
    case Meeting::kNone:
      return "nothing";
    case Meeting::kBarrier:
      return "__syncthreads";
    case Meeting::kWarpBarrier:
      return "__syncwarp";
    case Meeting::kShuffle:
      return "a shuffle";
    case Meeting::kVote:
      return "a vote";
  }
  return "?";
}

std::string Hex(uint32_t mask) {
  std::array<char, 11> text{};
  std::snprintf(text.data(), text.size(), "0x%08x", mask);
  return text.data();
}

bool WaitsInWarp(const Arrival& arrival) {
  return arrival.meeting != Meeting::kNone && arrival.meeting != Meeting::kBarrier;
}

// Why the call of `lane` can never be complete, or nothing: it may be, later.
std::string Flaw(std::span<const Arrival> lanes, size_t lane) {
  const Arrival& own = lanes[lane];
  const std::string who = "lane " + std::to_string(lane) + " waits at " + NameOf(own.meeting) +
                          " with mask " + Hex(own.mask) + ", ";
  if ((own.mask >> lane & 1) == 0) return who + "which does not name it";
  if (lanes.size() < 32 && own.mask >> lanes.size() != 0) {
    return who + "but the warp has " + std::to_string(lanes.size()) + " threads";
  }
  for (size_t other = 0; other < lanes.size(); ++other) {
    if ((own.mask >> other & 1) == 0) continue;
    const std::string whom = "but lane " + std::to_string(other);
    if (lanes[other].returned) return who + whom + " has returned";
    if (lanes[other].meeting == Meeting::kBarrier) return who + whom + " waits at __syncthreads";
  }
  if (own.meeting == Meeting::kShuffle && (own.mask >> own.from & 1) == 0) {
    return who + "but takes the value of lane " + std::to_string(own.from);
  }
  return "";
}

bool IsComplete(std::span<const Arrival> lanes, size_t lane) {
  const Arrival& own = lanes[lane];
  for (size_t other = 0; other < lanes.size(); ++other) {
    if ((own.mask >> other & 1) == 0) continue;
    const Arrival& arrival = lanes[other];
    if (arrival.meeting != own.meeting || arrival.mask != own.mask || arrival.bytes != own.bytes) {
      return false;
    }
  }
  return true;
}

// Gives each lane of the mask what it waited for.
void Complete(std::span<Arrival> lanes, uint32_t mask) {
  std::array<uint64_t, 32> given{};
  uint64_t votes = 0;
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    given[lane] = lanes[lane].bits;
    if ((mask >> lane & 1) != 0 && lanes[lane].bits != 0) votes |= uint64_t{1} << lane;
  }
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    if ((mask >> lane & 1) == 0) continue;
    Arrival& arrival = lanes[lane];
    if (arrival.meeting == Meeting::kShuffle) {
      arrival.bits = given[static_cast<size_t>(arrival.from)];
    } else {
      arrival.bits = votes;
    }
    arrival.meeting = Meeting::kNone;
  }
}

// The common case, without a look at each pair of lanes: all stand at one call, each is named, and
// takes from a lane there is.
bool IsWholeWarpAtOneCall(std::span<const Arrival> lanes) {
  const Arrival& first = lanes[0];
  if (!WaitsInWarp(first) || first.mask != (0xFFFFFFFFu >> (32 - lanes.size()))) return false;
  for (const Arrival& lane : lanes) {
    if (lane.meeting != first.meeting || lane.mask != first.mask || lane.bytes != first.bytes ||
        static_cast<size_t>(lane.from) >= lanes.size()) {
      return false;
    }
  }
  return true;
}

}  // namespace

WarpProgress ResolveWarp(std::span<Arrival> lanes) {
  WarpProgress progress;
  if (IsWholeWarpAtOneCall(lanes)) {
    progress.any = true;
    progress.whole_warp_barrier = lanes[0].meeting == Meeting::kWarpBarrier;
    Complete(lanes, lanes[0].mask);
    return progress;
  }
  size_t waiting = lanes.size();
  for (size_t lane = 0; lane < lanes.size(); ++lane) {
    if (!WaitsInWarp(lanes[lane])) continue;
    progress.fault = Flaw(lanes, lane);
    if (!progress.fault.empty()) return progress;
    if (!IsComplete(lanes, lane)) {
      waiting = lane;
      continue;
    }
    const uint32_t mask = lanes[lane].mask;
    progress.whole_warp_barrier |= lanes[lane].meeting == Meeting::kWarpBarrier &&
                                   static_cast<size_t>(std::popcount(mask)) == lanes.size();
    Complete(lanes, mask);
    progress.any = true;
  }
  if (!progress.any && waiting < lanes.size()) {
    progress.fault = "lane " + std::to_string(waiting) + " waits at " +
                     NameOf(lanes[waiting].meeting) + " with mask " + Hex(lanes[waiting].mask) +
                     ", but the lanes it names wait for something else";
  }
  return progress;
}

BlockProgress ResolveBlock(std::span<Arrival> threads) {
  BlockProgress progress;
  uint64_t predicates = 0;
  size_t returned = threads.size();
  size_t waiting = threads.size();
  for (size_t i = 0; i < threads.size(); ++i) {
    if (threads[i].returned) {
      returned = i;
    } else {
      waiting = i;
      predicates += threads[i].bits;
    }
  }
  if (waiting == threads.size()) return progress;
  if (returned < threads.size()) {
    progress.fault = "thread " + std::to_string(waiting) +
                     " of the block waits at __syncthreads, but thread " +
                     std::to_string(returned) + " has returned";
    return progress;
  }
  for (Arrival& thread : threads) thread = {.bits = predicates};
  progress.any = true;
  return progress;
}

}  // namespace fake_cuda

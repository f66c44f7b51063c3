#include "tests/fake_cuda/collectives.h"

#include <array>
#include <bit>
#include <cstdio>

namespace fake_cuda {
namespace {

std::string NameOf(Collective collective) {
  switch (collective) {
    case Collective::kNone:
      return "nothing";
    case Collective::kBarrier:
      return "__syncthreads";
    case Collective::kWarpBarrier:
      return "__syncwarp";
    case Collective::kShuffle:
      return "a shuffle";
    case Collective::kVote:
      return "a vote";
    case Collective::kMatrixLoad:
      return "ldmatrix";
    case Collective::kMatrixMultiply:
      return "mma";
  }
  return "?";
}

std::string Hex(uint32_t mask) {
  std::array<char, 11> text{};
  std::snprintf(text.data(), text.size(), "0x%08x", mask);
  return text.data();
}

bool IsMatrixInstruction(Collective collective) {
  return collective == Collective::kMatrixLoad || collective == Collective::kMatrixMultiply;
}

bool WaitsInWarp(const Arrival& arrival) {
  return arrival.collective != Collective::kNone && arrival.collective != Collective::kBarrier;
}

// Why the call of `warp_lane` can never be complete; "" if it may be later.
std::string Flaw(std::span<const Arrival> warp_lanes, size_t warp_lane) {
  const Arrival& own = warp_lanes[warp_lane];
  const std::string who = "lane " + std::to_string(warp_lane) + " waits at " +
                          NameOf(own.collective) + " with mask " + Hex(own.mask) + ", ";
  if ((own.mask >> warp_lane & 1) == 0) return who + "which does not name it";
  if (warp_lanes.size() < 32 && own.mask >> warp_lanes.size() != 0) {
    return who + "but the warp has " + std::to_string(warp_lanes.size()) + " threads";
  }
  for (size_t other = 0; other < warp_lanes.size(); ++other) {
    if ((own.mask >> other & 1) == 0) continue;
    const std::string whom = "but lane " + std::to_string(other);
    if (warp_lanes[other].returned) return who + whom + " has returned";
    if (warp_lanes[other].collective == Collective::kBarrier)
      return who + whom + " waits at __syncthreads";
  }
  if (own.collective == Collective::kShuffle && (own.mask >> own.from & 1) == 0) {
    return who + "but takes the value of lane " + std::to_string(own.from);
  }
  return "";
}

bool IsComplete(std::span<const Arrival> warp_lanes, size_t warp_lane) {
  const Arrival& own = warp_lanes[warp_lane];
  for (size_t other = 0; other < warp_lanes.size(); ++other) {
    if ((own.mask >> other & 1) == 0) continue;
    const Arrival& arrival = warp_lanes[other];
    if (arrival.collective != own.collective || arrival.mask != own.mask ||
        arrival.bytes != own.bytes) {
      return false;
    }
  }
  return true;
}

// Gives each warp lane of the mask the result of its call.
void Complete(std::span<Arrival> warp_lanes, uint32_t mask) {
  std::array<uint64_t, 32> given{};
  uint64_t votes = 0;
  for (size_t warp_lane = 0; warp_lane < warp_lanes.size(); ++warp_lane) {
    given[warp_lane] = warp_lanes[warp_lane].bits;
    if ((mask >> warp_lane & 1) != 0 && warp_lanes[warp_lane].bits != 0)
      votes |= uint64_t{1} << warp_lane;
  }
  for (size_t warp_lane = 0; warp_lane < warp_lanes.size(); ++warp_lane) {
    if ((mask >> warp_lane & 1) == 0) continue;
    Arrival& arrival = warp_lanes[warp_lane];
    if (arrival.collective == Collective::kShuffle) {
      arrival.bits = given[static_cast<size_t>(arrival.from)];
    } else {
      arrival.bits = votes;
    }
    arrival.collective = Collective::kNone;
  }
}

// The common case, found without comparing each pair of warp lanes: all make one call, the mask
// names each of them, and each takes its value from a warp lane that exists.
bool IsWholeWarpAtOneCall(std::span<const Arrival> warp_lanes) {
  const Arrival& first = warp_lanes[0];
  if (!WaitsInWarp(first) || first.mask != (0xFFFFFFFFu >> (32 - warp_lanes.size()))) return false;
  for (const Arrival& warp_lane : warp_lanes) {
    if (warp_lane.collective != first.collective || warp_lane.mask != first.mask ||
        warp_lane.bytes != first.bytes ||
        static_cast<size_t>(warp_lane.from) >= warp_lanes.size()) {
      return false;
    }
  }
  return true;
}

}  // namespace

WarpProgress ResolveWarp(std::span<Arrival> warp_lanes) {
  WarpProgress progress;
  if (IsWholeWarpAtOneCall(warp_lanes)) {
    progress.any = true;
    progress.whole_warp_barrier = warp_lanes[0].collective == Collective::kWarpBarrier;
    if (IsMatrixInstruction(warp_lanes[0].collective)) {
      progress.instruction = warp_lanes[0].collective;
    }
    Complete(warp_lanes, warp_lanes[0].mask);
    return progress;
  }
  size_t waiting = warp_lanes.size();
  for (size_t warp_lane = 0; warp_lane < warp_lanes.size(); ++warp_lane) {
    if (!WaitsInWarp(warp_lanes[warp_lane])) continue;
    progress.fault = Flaw(warp_lanes, warp_lane);
    if (!progress.fault.empty()) return progress;
    if (!IsComplete(warp_lanes, warp_lane)) {
      waiting = warp_lane;
      continue;
    }
    const uint32_t mask = warp_lanes[warp_lane].mask;
    progress.whole_warp_barrier |= warp_lanes[warp_lane].collective == Collective::kWarpBarrier &&
                                   static_cast<size_t>(std::popcount(mask)) == warp_lanes.size();
    Complete(warp_lanes, mask);
    progress.any = true;
  }
  if (!progress.any && waiting < warp_lanes.size()) {
    progress.fault = "lane " + std::to_string(waiting) + " waits at " +
                     NameOf(warp_lanes[waiting].collective) + " with mask " +
                     Hex(warp_lanes[waiting].mask) +
                     ", but the lanes it names wait for something else";
  }
  return progress;
}

ThreadBlockProgress ResolveThreadBlock(std::span<Arrival> threads) {
  ThreadBlockProgress progress;
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

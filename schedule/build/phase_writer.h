#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "schedule/operation.h"
#include "schedule/schedule.h"

namespace horizon {

// Turns operations given one by one, in an order in which they could run alone, into phases whose
// lanes run beside each other. The builder says which buffers an operation reads and writes; the
// waits follow from that: a reader waits for the last writer, a writer for the last writer and for
// every reader since. Waits that other waits (or the lane's own order) already imply are left out,
// so an operation waits for at most one operation of each other lane.
//
// The phases of a schedule are written one after another by one writer, so that a wait on the step
// before is found by the same rule.
class PhaseWriter {
 public:
  explicit PhaseWriter(size_t buffers);

  void BeginPhase();
  // What follows is the body; what came since BeginPhase is the prologue.
  void BeginBody();
  Phase EndPhase();

  // Appends `operation` (its pool ranges are set here). `after`: further operations to wait for, as
  // returned by Append. Returns a number that stays valid over phases.
  int64_t Append(Operation operation, std::span<const Access> accesses,
                 std::span<const int64_t> after = {});

 private:
  using Clock = std::array<int32_t, kLaneCount>;  // last finished place of each lane; -1: none
  struct Written {
    Lane lane;
    int32_t place;  // within its lane, over all phases
    Clock clock;    // what has finished when this one has, itself included
  };
  struct Tracks {
    int64_t writer = -1;
    Clock readers;  // place of the last reader of each lane since that write
  };

  Clock Needed(std::span<const Access> accesses, std::span<const int64_t> after) const;
  void AddWaits(Lane lane, Clock needed, Clock& known);
  void Track(std::span<const Access> accesses, int64_t number);
  Wait WaitFor(int64_t number) const;

  std::vector<Written> written_;                               // by number
  std::array<std::vector<int64_t>, kLaneCount> lane_numbers_;  // by place
  std::vector<Tracks> tracks_;                                 // by buffer
  Phase phase_;
  int64_t phase_begin_ = 0;
  int64_t previous_begin_ = 0;
  int64_t previous_body_ = 0;
  // What to expect of the next phase.
  size_t last_operations_ = 0;
  size_t last_accesses_ = 0;
  size_t last_waits_ = 0;
};

}  // namespace horizon

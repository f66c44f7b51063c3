#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "schedule/operation.h"
#include "schedule/schedule.h"

namespace horizon {

// Derives the waits of a schedule. The builder appends operations in an order in which they could
// run one at a time and says which buffers each of them reads and writes. The writer makes phases
// in which the lanes run concurrently: a reader waits for the last writer of a buffer, and a writer
// waits for the last writer and for every reader since. Waits that other waits (or the order of the
// lane) already imply are left out, so an operation waits for at most one operation of each other
// lane.
//
// One writer writes all phases of a schedule, one after another, so that the same rule also finds
// waits for the step before.
class PhaseWriter {
 public:
  explicit PhaseWriter(size_t buffers);  // how many buffers the schedule has

  void BeginPhase();
  // Ends the prologue, which began at BeginPhase, and begins the body.
  void BeginBody();
  Phase EndPhase();

  // Appends `operation` and sets its pool ranges. `after` lists further operations to wait for, as
  // numbers that Append returned (negative ones are ignored). Returns the number of the operation,
  // which stays valid in later phases.
  int64_t Append(Operation operation, std::span<const Access> accesses,
                 std::span<const int64_t> after = {});

 private:
  using Clock = std::array<int32_t, kLaneCount>;  // vector clock: last place that ended; -1: none
  struct Written {
    Lane lane;
    int32_t place;  // within its lane, over all phases
    Clock clock;    // what has ended when this operation has ended, itself included
  };
  struct Tracks {  // who used a buffer last
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
  // Expected sizes of the next phase, to reserve memory.
  size_t last_operations_ = 0;
  size_t last_accesses_ = 0;
  size_t last_waits_ = 0;
};

}  // namespace horizon

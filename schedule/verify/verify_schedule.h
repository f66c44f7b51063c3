#pragma once

#include <string>

#include "absl/status/status.h"
#include "schedule/schedule.h"

namespace horizon {

// Proves, before anything runs, that a schedule is right under every legal timing of its lanes. It
// works from the schedule alone and shares no code with the builder. Checked are, over the steps
// first, steady, steady, drain (and first, drain):
//  - order: no wait cycle; nothing is read before it is filled; no buffer is overwritten before its
//    last reader has finished; whatever the timing, each reader finds the content it expects,
//    written in the step it expects; nothing is loaded in vain; strategies that are said not to
//    overlap compute with loads or gradients do not;
//  - meaning: every operation stands on its lane and touches what its kind has to (the backward of
//    a chunk reads that chunk's weights, activations and incoming gradient, ...), with the bytes
//    its chunk has; every trained chunk is updated exactly once a step, from all contributions, and
//    a frozen one never; nothing below the lowest trained tensor is differentiated;
//  - memory: buffers lie within their memory, none overlaps another, none is unused, and the total
//    of each memory is where its last buffer ends.
// Internal, naming the operations and the buffer, at the first fault.
absl::Status VerifySchedule(const Schedule& schedule);

// The three parts, for tests.
absl::Status VerifyOrder(const Schedule& schedule);
absl::Status VerifyMeaning(const Schedule& schedule);
absl::Status VerifyMemory(const Schedule& schedule);

}  // namespace horizon

#pragma once

#include <string>

#include "absl/status/status.h"
#include "schedule/schedule.h"

namespace horizon {

// Proves, before anything runs, that a schedule is correct under every legal timing of its lanes.
// It uses the schedule alone and shares no code with the builder. It checks the steps first,
// steady, steady, drain (and first, drain):
//  - order: no waits form a cycle; nothing is read before it is filled; no buffer is overwritten
//    before its last reader has ended; under every timing each reader finds the content it expects,
//    written in the step it expects; every loaded chunk is used; strategies that must not overlap
//    compute with loads or gradients do not;
//  - meaning: every operation is on its lane and touches what its kind must touch (the backward of
//    a chunk reads that chunk's weights, activations and incoming gradient, ...), with the bytes of
//    its chunk; every trained chunk is updated exactly once a step, from all contributions, and a
//    frozen chunk never; nothing below the lowest trained tensor is differentiated;
//  - memory: every buffer is aligned and within its memory, none overlaps another, none is unused,
//    and the total of each memory is where its last buffer ends; every parameter is in exactly one
//    chunk.
// Returns Internal at the first fault, naming the operations and the buffer.
absl::Status VerifySchedule(const Schedule& schedule);

// The three parts, for tests.
absl::Status VerifyOrder(const Schedule& schedule);
absl::Status VerifyMeaning(const Schedule& schedule);
absl::Status VerifyMemory(const Schedule& schedule);

}  // namespace horizon

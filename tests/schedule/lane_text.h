#pragma once

#include <string>

#include "schedule/schedule.h"

namespace horizon {

// The operations of one lane as text, in order, with their chunk and, after the first micro-batch,
// the micro-batch: "load_chunk 1, forward 1 mb1, ...". For expectations in tests.
std::string LaneText(const Phase& phase, Lane lane);

}  // namespace horizon

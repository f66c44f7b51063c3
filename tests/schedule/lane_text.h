#pragma once

#include <string>

#include "schedule/schedule.h"

namespace horizon {

// "load_chunk 1, forward 1 mb1, ...": the operations of one lane in order, with their chunk and,
// past the first, their micro-batch.
std::string LaneText(const Phase& phase, Lane lane);

}  // namespace horizon

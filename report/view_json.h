#pragma once

#include <string>

#include "report/run_view.h"

namespace horizon {

// The data of the page of a run or a plan, as one JSON document on one line: summary, compared
// figures, both timelines with names, kinds, bytes and waits, memory over time, series of metrics,
// which experts the tokens chose (of a model that has some), the plan with its reasons, the
// machine. Numbers are not rounded. report/page/ draws it.
std::string ViewJson(const RunView& view);

}  // namespace horizon

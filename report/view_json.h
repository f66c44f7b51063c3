#pragma once

#include <string>

#include "report/run_view.h"

namespace horizon {

// Everything the page shows of a run or a plan, as one JSON document on one line: summary, compared
// figures, both timelines with names, kinds, bytes and waits, memory over time, series of metrics,
// plan with reasons, machine. Numbers are not rounded. See docs/report.md for the keys.
std::string ViewJson(const RunView& view);

}  // namespace horizon

#pragma once

#include <string>

#include "common/files/io.h"
#include "report/run_view.h"

namespace horizon {

// A plan of a small model on a machine with round numbers, with three measured steps of which each
// operation took twice what was predicted.
RunView MadeView();

// The run folder that such a run leaves, complete, in a new folder below the test's temporary one.
// Its lines are of steps 1 to `steps`.
std::string MadeRun(Io& io, int64_t steps = 3);

// The run.json of such a run.
std::string MadeOutcome(int64_t steps, bool interrupted = false);

}  // namespace horizon

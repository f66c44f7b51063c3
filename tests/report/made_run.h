#pragma once

#include <string>

#include "common/files/io.h"
#include "report/run_view.h"

namespace horizon {

// A made-up view for tests: a plan of a small model on a machine with round numbers, with three
// measured steps in which each operation took twice the predicted time.
RunView MadeView();

// Writes the complete run folder of such a run below the test's temporary folder and returns its
// path. metrics.jsonl has the steps 1 to `steps`.
std::string MadeRun(Io& io, int64_t steps = 3);

// The text of the run.json of such a run.
std::string MadeOutcome(int64_t steps, bool interrupted = false);

}  // namespace horizon

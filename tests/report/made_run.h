#pragma once

#include <string>

#include "common/files/io.h"
#include "report/run_view.h"
#include "runtime/loop/routing_line.h"

namespace horizon {

// Models of the catalog, one without experts and one with 128 in each of its 48 layers.
inline constexpr char kDenseModel[] = "qwen2.5-0.5b";
inline constexpr char kExpertsModel[] = "qwen3-30b-a3b";

// A made-up view for tests: a plan of a model on a machine with round numbers, with three measured
// steps in which each operation took twice the predicted time.
RunView MadeView(const std::string& model = kDenseModel);

// Writes the complete run folder of such a run below the test's temporary folder and returns its
// path. metrics.jsonl has the steps 1 to `steps`. Of kExpertsModel, routing.jsonl has two lines,
// MadeRouting(1, steps - 1) and MadeRouting(steps, steps).
std::string MadeRun(Io& io, int64_t steps = 3, const std::string& model = kDenseModel);

// What the tokens of these steps, 4,096 in each, chose in kExpertsModel. Most experts of a layer
// have between none and twice their even share. Of layer 3, about 56 % of the tokens chose expert
// 7; in layer 5 none chose expert 9.
RoutingLine MadeRouting(int64_t first_step, int64_t step);

// The text of the run.json of such a run.
std::string MadeOutcome(int64_t steps, bool interrupted = false);

}  // namespace horizon

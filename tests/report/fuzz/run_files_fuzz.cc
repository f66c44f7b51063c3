// Whatever the bytes, a prediction, an outcome and the lines of a run are read or refused with
// InvalidArgument; a prediction and a line of routing that are read survive being written and read
// again, and the prediction is finite.
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/check.h"
#include "report/read_routing_line.h"
#include "report/run_outcome.h"
#include "report/run_prediction.h"
#include "report/step_lines.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

template <typename T>
bool IsReadOrRefused(const absl::StatusOr<T>& read) {
  return read.ok() || read.status().code() == absl::StatusCode::kInvalidArgument;
}

void TryFiles(std::string_view text) {
  const absl::StatusOr<RunOutcome> outcome = ReadOutcome("fuzz.json", text);
  CHECK(IsReadOrRefused(outcome));
  const absl::StatusOr<StepMetrics> line = ReadMetricsLine("fuzz.jsonl", text);
  CHECK(IsReadOrRefused(line));
  CHECK(!line.ok() || (line->step >= 0 && line->host_bytes.ok()));
  CHECK(IsReadOrRefused(ReadEvaluationLine("fuzz.jsonl", text)));
  const absl::StatusOr<RoutingLine> routing = ReadRoutingLine("fuzz.jsonl", text);
  CHECK(IsReadOrRefused(routing));
  if (routing.ok()) {
    CHECK(*ReadRoutingLine("again.jsonl", RoutingText(*routing)) == *routing);
    CHECK(ExtremesOf(*routing).has_value() == (routing->tokens > 0));
  }
  const absl::StatusOr<RunPrediction> prediction = ReadRunPrediction("fuzz.json", text);
  CHECK(IsReadOrRefused(prediction));
  if (!prediction.ok()) return;
  CHECK(std::isfinite(prediction->prediction.step_seconds));
  CHECK(prediction->prediction.step_seconds >= 0 && prediction->prediction.operations >= 0);
  const absl::StatusOr<RunPrediction> again =
      ReadRunPrediction("again.json", WriteRunPrediction(*prediction));
  CHECK(again.ok() &&
        again->prediction.memory.host_bytes() == prediction->prediction.memory.host_bytes());
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryFiles({reinterpret_cast<const char*>(data), size});
  return 0;
}

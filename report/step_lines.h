#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/io.h"
#include "runtime/metrics.h"

namespace horizon {

// The files of a run that grow by a line: metrics.jsonl and eval.jsonl, read while they grow. A
// line that has not been ended is left out.

template <typename Line>
struct StepLines {
  std::vector<Line> lines;
  uint64_t end = 0;  // bytes that were read: where the next line begins
};

// The lines from byte `begin` on, which follow step `after` (-1: any). A missing file has none.
// Gradient norms are left out. DataLoss, with file and line, for a line that is not one, and for
// steps that do not ascend (metrics: by one).
absl::StatusOr<StepLines<StepMetrics>> LoadMetrics(Io& io, const std::string& path,
                                                   uint64_t begin = 0, int64_t after = -1);
absl::StatusOr<StepLines<EvaluationLine>> LoadEvaluations(Io& io, const std::string& path);

// One line each; `place` ("FILE:LINE") is for messages. InvalidArgument for what is not one.
absl::StatusOr<StepMetrics> ReadMetricsLine(const std::string& place, std::string_view line);
absl::StatusOr<EvaluationLine> ReadEvaluationLine(const std::string& place, std::string_view line);

}  // namespace horizon

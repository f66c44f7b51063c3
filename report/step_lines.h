#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "runtime/loop/metrics.h"

namespace horizon {

// The files of a run that grow by a line: metrics.jsonl and eval.jsonl, read while they grow. A
// line that has not been ended is left out.

// Calls `take` for each line from byte `begin` on, which follow step `after` (-1: any), in memory
// for the longest line and a read. The answer is how many bytes of the file were read then: where
// the next line begins. A missing file has no lines. Gradient norms are left out. DataLoss, with
// file and line, for a line that is not one, and for steps that do not ascend (metrics: by one).
absl::StatusOr<uint64_t> VisitMetrics(Io& io, const std::string& path, uint64_t begin,
                                      int64_t after, const std::function<void(StepMetrics)>& take);
absl::StatusOr<uint64_t> VisitEvaluations(Io& io, const std::string& path, uint64_t begin,
                                          int64_t after,
                                          const std::function<void(EvaluationLine)>& take);

// One line each; `place` ("FILE:LINE") is for messages. InvalidArgument for what is not one.
absl::StatusOr<StepMetrics> ReadMetricsLine(const std::string& place, std::string_view line);
absl::StatusOr<EvaluationLine> ReadEvaluationLine(const std::string& place, std::string_view line);

}  // namespace horizon

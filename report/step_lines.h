#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "runtime/loop/metrics.h"
#include "runtime/loop/routing_line.h"

namespace horizon {

// Reads the files of a run that grow line by line, metrics.jsonl, eval.jsonl and routing.jsonl,
// also while they grow. An unfinished last line is left out.

// Each calls `take` for every line from byte `begin` on and returns the offset at which the next
// line begins. The lines must follow step `after` (-1: any). They need memory for the longest line
// and one read only. A missing file has no lines. Gradient norms are left out. DataLoss, with file
// and line, for an invalid line and for steps that do not ascend (metrics: by one; routing: a line
// may begin later than behind the line before, since a full disk may have cost lines).
absl::StatusOr<uint64_t> VisitMetrics(Io& io, const std::string& path, uint64_t begin,
                                      int64_t after, const std::function<void(StepMetrics)>& take);
absl::StatusOr<uint64_t> VisitEvaluations(Io& io, const std::string& path, uint64_t begin,
                                          int64_t after,
                                          const std::function<void(EvaluationLine)>& take);
absl::StatusOr<uint64_t> VisitRouting(Io& io, const std::string& path, uint64_t begin,
                                      int64_t after, const std::function<void(RoutingLine)>& take);

// Read one line; `place` ("FILE:LINE") is for messages. InvalidArgument for an invalid line.
absl::StatusOr<StepMetrics> ReadMetricsLine(const std::string& place, std::string_view line);
absl::StatusOr<EvaluationLine> ReadEvaluationLine(const std::string& place, std::string_view line);

}  // namespace horizon

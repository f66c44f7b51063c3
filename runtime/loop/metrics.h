#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "common/units.h"

namespace horizon {

// The figures of a training step: a line of metrics.jsonl.
struct StepMetrics {
  int64_t step = 0;          // from 1
  double loss = 0;           // mean over the labelled tokens
  double gradient_norm = 0;  // before clipping
  double learning_rate = 0;
  // Passes over the data after this step, 0.5 in the middle of the first. Empty: an older version
  // wrote the line.
  std::optional<double> epoch;
  int64_t tokens = 0;  // of the step, including padding
  // Tokens with a label in all updates made so far. Empty: not known, because an older version
  // wrote the line or the checkpoint that the run went on from.
  std::optional<int64_t> trained_tokens;
  // Of a model with experts; see StepResult::router_aux_loss. The busiest expert is the one that
  // the largest share of the tokens of a layer chose, over all layers; the idlest likewise.
  struct Routing {
    double aux_loss = 0;
    double busiest = 0;
    double idlest = 0;
  };
  std::optional<Routing> routing;
  Seconds step_time;
  Bytes host_bytes;
  Bytes device_bytes;
  Seconds predicted_step_time;
  // With --log-gradient-norms: each tensor's name and norm, in the model's order. Empty: not
  // written.
  std::vector<std::pair<std::string, double>> gradient_norms;

  double tokens_per_second() const {
    return step_time.value > 0 ? static_cast<double>(tokens) / step_time.value : 0;
  }
};

// Formats {"step": 1, "loss": ...} on one line, without a newline. Numbers read back to the same
// bits; numbers that are not finite become null.
std::string MetricsLine(const StepMetrics& metrics);

// The figures of an evaluation during a run: a line of eval.jsonl.
struct EvaluationLine {
  int64_t step = 0;
  double loss = 0;
  double perplexity = 0;
  int64_t counted = 0;  // tokens with a label
};
// Formats the line, without a newline.
std::string EvaluationText(const EvaluationLine& line);

// The step of the last complete line of such a file, or 0 if it has none or is missing. DataLoss
// where a line has no step.
absl::StatusOr<int64_t> LastStep(Io& io, const std::string& path);

// Truncates a file of lines that begin with {"step": N to the steps up to `last`, for a run that
// resumes after that step. An incomplete line at the end is removed too; a missing file is no
// error. DataLoss when a line up to there has no step.
absl::Status CutAfterStep(Io& io, const std::string& path, int64_t last);

}  // namespace horizon

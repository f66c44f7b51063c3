#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/io.h"
#include "common/units.h"

namespace horizon {

// What a training step is reported with; a line of metrics.jsonl.
struct StepMetrics {
  int64_t step = 0;          // from 1
  double loss = 0;           // mean over the labelled tokens
  double gradient_norm = 0;  // before the clip
  double learning_rate = 0;
  int64_t tokens = 0;  // of the step, padding included
  Seconds step_time;
  Bytes host_bytes;
  Bytes device_bytes;
  Seconds predicted_step_time;
  // With --log-gradient-norms: tensor and norm, in the model's order. Empty: not written.
  std::vector<std::pair<std::string, double>> gradient_norms;

  double tokens_per_second() const {
    return step_time.value > 0 ? static_cast<double>(tokens) / step_time.value : 0;
  }
};

// {"step": 1, "loss": ...} on one line, without a newline. Numbers read back to the same bits;
// those that are not finite are null.
std::string MetricsLine(const StepMetrics& metrics);

// The file metrics.jsonl: one object a line, added to at its end. One thread.
class MetricsWriter {
 public:
  // Creates the file, or goes on at the end of one that is there. `io` outlives the writer.
  static absl::StatusOr<MetricsWriter> Open(Io& io, std::string path);

  // Adds a line in one write; not synced. After an error the line may stand there in part; a later
  // Append still begins a line of its own.
  absl::Status Append(const StepMetrics& metrics);
  absl::Status Sync() { return file_->Sync(); }
  // Syncs and closes. Nothing may follow.
  absl::Status Close();

 private:
  MetricsWriter(Io& io, std::string path, std::unique_ptr<File> file)
      : io_(&io), path_(std::move(path)), file_(std::move(file)) {}
  // Whether a line was begun and not ended, by us or by a run that was killed.
  absl::StatusOr<bool> EndsInsideALine();

  Io* io_;
  std::string path_;
  std::unique_ptr<File> file_;
  bool end_is_known_ = false;  // to be the end of a line
};

// An evaluation during a run; a line of eval.jsonl.
struct EvaluationLine {
  int64_t step = 0;
  double loss = 0;
  double perplexity = 0;
  int64_t counted = 0;  // tokens
};
// Adds a line to the file, which is made if missing, and syncs it.
absl::Status AppendEvaluation(Io& io, const std::string& path, const EvaluationLine& line);

// Cuts a file of lines that begin with {"step": N to the steps up to `last`: what a run that goes
// on from there has done before. A part of a line at the end goes too; a missing file is none.
// DataLoss when a line up to there has no step.
absl::Status CutAfterStep(Io& io, const std::string& path, int64_t last);

}  // namespace horizon

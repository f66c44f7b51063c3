#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/clock.h"
#include "common/documents/enum_words.h"
#include "common/files/io.h"
#include "runtime/loop/metrics.h"
#include "runtime/loop/routing_line.h"

namespace horizon {

// Receives the figures of a run and writes them in one format into the run folder. Nothing that
// happens to its files ends the run: see AppendFile. Used by one thread.
class MetricsSink {
 public:
  virtual ~MetricsSink() = default;
  // Called once, before everything else. Reports at once a folder that cannot be written.
  virtual absl::Status Open() = 0;
  virtual void AddStep(const StepMetrics& metrics) = 0;
  // The figures are on disk when it returns, if that is possible.
  virtual void AddEvaluation(const EvaluationLine& line) = 0;
  // The sums over some steps, the last of which was added just before.
  virtual void AddRouting(const RoutingLine& line) = 0;
  // Syncs all figures to disk, if that is possible. Called before a checkpoint is complete.
  virtual void Sync() = 0;
  // No call may follow. Allowed without Open.
  virtual void Close() = 0;
};

// The formats of `--metrics`. kJsonl is always written, since the program reads it back.
enum class MetricsFormat {
  kJsonl,        // metrics.jsonl, eval.jsonl and routing.jsonl
  kTensorboard,  // events.out.tfevents.*, for `tensorboard --logdir`
};
std::span<const EnumWord<MetricsFormat>> WordsOf(MetricsFormat);

// Where and how a run writes its figures. The references outlive the sink.
struct MetricsPlace {
  Io& io;
  Clock& clock;
  std::string folder;  // the run folder, which exists
  // The first step that will be reported. Files of an earlier process may have it already.
  int64_t first_step = 1;
  std::function<void(const std::string&)> warn;  // receives whole sentences for the user
};

// A sink that writes metrics.jsonl, eval.jsonl and (of a model with experts) routing.jsonl, and
// every other format of `formats`.
std::unique_ptr<MetricsSink> MakeMetricsSink(const MetricsPlace& place,
                                             const std::vector<MetricsFormat>& formats);

}  // namespace horizon

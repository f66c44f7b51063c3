#include "runtime/loop/metrics_sink.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/status_macros.h"
#include "runtime/loop/append_file.h"
#include "runtime/loop/tensorboard_sink.h"

namespace horizon {

std::span<const EnumWord<MetricsFormat>> WordsOf(MetricsFormat) {
  static constexpr std::array<EnumWord<MetricsFormat>, 2> kWords = {
      {{MetricsFormat::kJsonl, "jsonl"}, {MetricsFormat::kTensorboard, "tensorboard"}}};
  return kWords;
}

namespace {

class JsonLinesSink : public MetricsSink {
 public:
  explicit JsonLinesSink(const MetricsPlace& place)
      : steps_(place.io, LinesAt(place.folder + "/metrics.jsonl"), place.warn),
        evaluations_(place.io, LinesAt(place.folder + "/eval.jsonl"), place.warn),
        routing_(place.io, LinesAt(place.folder + "/routing.jsonl"), place.warn) {}

  absl::Status Open() override { return steps_.Open(); }
  void AddStep(const StepMetrics& metrics) override { steps_.Append(MetricsLine(metrics) + "\n"); }
  void AddEvaluation(const EvaluationLine& line) override {
    evaluations_.Append(EvaluationText(line) + "\n");
    evaluations_.Sync();
  }
  void AddRouting(const RoutingLine& line) override { routing_.Append(RoutingText(line) + "\n"); }
  void Sync() override {
    steps_.Sync();
    evaluations_.Sync();
    routing_.Sync();
  }
  void Close() override {
    steps_.Close();
    evaluations_.Close();
    routing_.Close();
  }

 private:
  AppendFile steps_;
  AppendFile evaluations_;
  AppendFile routing_;
};

// Passes everything on to each of its sinks.
class AllSinks : public MetricsSink {
 public:
  explicit AllSinks(std::vector<std::unique_ptr<MetricsSink>> sinks) : sinks_(std::move(sinks)) {}

  absl::Status Open() override {
    for (const auto& sink : sinks_) RETURN_IF_ERROR(sink->Open());
    return absl::OkStatus();
  }
  void AddStep(const StepMetrics& metrics) override {
    for (const auto& sink : sinks_) sink->AddStep(metrics);
  }
  void AddEvaluation(const EvaluationLine& line) override {
    for (const auto& sink : sinks_) sink->AddEvaluation(line);
  }
  void AddRouting(const RoutingLine& line) override {
    for (const auto& sink : sinks_) sink->AddRouting(line);
  }
  void Sync() override {
    for (const auto& sink : sinks_) sink->Sync();
  }
  void Close() override {
    for (const auto& sink : sinks_) sink->Close();
  }

 private:
  const std::vector<std::unique_ptr<MetricsSink>> sinks_;
};

}  // namespace

std::unique_ptr<MetricsSink> MakeMetricsSink(const MetricsPlace& place,
                                             const std::vector<MetricsFormat>& formats) {
  std::vector<std::unique_ptr<MetricsSink>> sinks;
  if (std::find(formats.begin(), formats.end(), MetricsFormat::kTensorboard) != formats.end()) {
    sinks.push_back(MakeTensorboardSink(place));
  }
  // Last, since a run that resumes takes from eval.jsonl which evaluations all sinks have.
  sinks.push_back(std::make_unique<JsonLinesSink>(place));
  return std::make_unique<AllSinks>(std::move(sinks));
}

}  // namespace horizon

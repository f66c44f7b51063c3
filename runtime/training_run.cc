#include "runtime/training_run.h"

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

#include "common/status_macros.h"
#include "common/str_cat.h"
#include "runtime/learning_rate.h"
#include "runtime/metrics.h"
#include "runtime/process_memory.h"
#include "schedule/trace_writer.h"

namespace horizon {
namespace {

double Median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

void StartAtZero(Timeline& timeline) {
  int64_t begin = std::numeric_limits<int64_t>::max();
  for (const TimelineEntry& entry : timeline.entries) begin = std::min(begin, entry.start_ns);
  for (TimelineEntry& entry : timeline.entries) {
    entry.start_ns -= begin;
    entry.end_ns -= begin;
  }
}

class Run {
 public:
  explicit Run(const TrainingRun& run) : run_(run), job_(run.trainer.schedule().job) {
    summary_.tokens_per_step = job_.accumulation * job_.micro_batch_tokens();
  }

  absl::StatusOr<RunSummary> Do() {
    ASSIGN_OR_RETURN(MetricsWriter metrics,
                     MetricsWriter::Open(run_.io, run_.folder + "/metrics.jsonl"));
    RETURN_IF_ERROR(run_.trainer.Train(
        1, job_.steps, [this](int64_t number) { return Input(number); },
        [&](const Trainer::Report& report) { return OnStep(report, metrics); }));
    RETURN_IF_ERROR(metrics.Close());
    RETURN_IF_ERROR(WriteTrace(run_.trainer.schedule(), last_,
                               StrCat("measured: step ", summary_.steps, " of ", job_.model),
                               run_.io, run_.folder + "/timeline.json"));
    summary_.step_seconds = Median(
        seconds_.size() > 1 ? std::vector<double>(seconds_.begin() + 1, seconds_.end()) : seconds_);
    return summary_;
  }

 private:
  absl::StatusOr<StepInput> Input(int64_t number) {
    StepInput input{.learning_rate = LearningRateAt(job_, number)};
    const int64_t each = job_.micro_batch_tokens();
    input.tokens.resize(static_cast<size_t>(each * job_.accumulation));
    for (int64_t mb = 0; mb < job_.accumulation; ++mb) {
      ASSIGN_OR_RETURN(const int64_t counted,
                       run_.data.Fill(std::span(input.tokens).subspan(mb * each, each)));
      input.counted += counted;
    }
    return input;
  }

  absl::StatusOr<Trainer::Next> OnStep(const Trainer::Report& report, MetricsWriter& metrics) {
    const StepResult& result = report.result;
    ASSIGN_OR_RETURN(const ProcessMemory memory, ReadProcessMemory(run_.io));
    const StepNews news{
        .step = result.number,
        .steps = job_.steps,
        .loss = result.loss,
        .gradient_norm = result.gradient_norm,
        .learning_rate = LearningRateAt(job_, result.number),
        .seconds = report.seconds,
        .tokens_per_second = static_cast<double>(summary_.tokens_per_step) / report.seconds,
        .host_bytes = memory.resident(),
        .device_bytes = Bytes(CheckedU64(run_.device.used())),
        .skipped = SkippedBecause(result)};
    RETURN_IF_ERROR(metrics.Append(MetricsOf(news, result)));
    Count(news);
    last_ = report.timeline;
    StartAtZero(last_);
    if (run_.on_step) run_.on_step(news);
    const bool stop = run_.stop_requested && run_.stop_requested();
    if (stop && result.number < job_.steps) summary_.interrupted = true;
    return stop ? Trainer::Next::kStop : Trainer::Next::kGoOn;
  }

  static std::string SkippedBecause(const StepResult& result) {
    if (result.applied) return "";
    return result.counted == 0 ? "no token has a label" : result.non_finite + " is not finite";
  }

  StepMetrics MetricsOf(const StepNews& news, const StepResult& result) const {
    StepMetrics line{.step = news.step,
                     .loss = news.loss,
                     .gradient_norm = news.gradient_norm,
                     .learning_rate = news.learning_rate,
                     .tokens = summary_.tokens_per_step,
                     .step_time = Seconds(news.seconds),
                     .host_bytes = news.host_bytes,
                     .device_bytes = news.device_bytes,
                     .predicted_step_time = Seconds(run_.predicted_step_seconds)};
    if (run_.log_gradient_norms) {
      const std::vector<std::string>& names = run_.trainer.TensorNames();
      for (size_t i = 0; i < names.size(); ++i) {
        line.gradient_norms.emplace_back(names[i], result.norms[i]);
      }
    }
    return line;
  }

  void Count(const StepNews& news) {
    if (summary_.steps == 0) summary_.first_loss = summary_.best_loss = news.loss;
    ++summary_.steps;
    if (!news.skipped.empty()) ++summary_.skipped;
    summary_.last_loss = news.loss;
    summary_.best_loss = std::min(summary_.best_loss, news.loss);
    summary_.seconds += news.seconds;
    seconds_.push_back(news.seconds);
  }

  const TrainingRun& run_;
  const TrainingJob& job_;
  RunSummary summary_;
  std::vector<double> seconds_;
  Timeline last_;
};

}  // namespace

absl::StatusOr<RunSummary> RunTraining(const TrainingRun& run) { return Run(run).Do(); }

}  // namespace horizon

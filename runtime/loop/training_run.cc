#include "runtime/loop/training_run.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "common/process_memory.h"
#include "common/statistics.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/model_spec.h"
#include "runtime/execution/learning_rate.h"
#include "runtime/execution/step_input.h"
#include "runtime/loop/even_sample.h"
#include "runtime/loop/metrics.h"
#include "runtime/loop/routing_line.h"

namespace horizon {
namespace {

void StartAtZero(Timeline& timeline) {
  int64_t begin = std::numeric_limits<int64_t>::max();
  for (const TimelineEntry& entry : timeline.entries) begin = std::min(begin, entry.start_ns);
  for (TimelineEntry& entry : timeline.entries) {
    entry.start_ns -= begin;
    entry.end_ns -= begin;
  }
}

// How many step times are kept for their median: 64 KiB of them.
constexpr size_t kSecondsToKeep = 8192;

// The loop over the steps of one run: the callbacks of Trainer::Train, the checkpoints and
// evaluations between steps, and the counters and files that they update.
class TrainingLoop {
 public:
  explicit TrainingLoop(const TrainingRun& run)
      : run_(run),
        job_(run.trainer.schedule().job),
        counters_(run.counters),
        expert_layers_(LayersWithExperts(run.trainer.pass().spec())),
        metrics_(MakeMetricsSink({.io = run.io,
                                  .clock = run.clock,
                                  .folder = run.folder,
                                  .first_step = run.first_step,
                                  .warn = [this](const auto& text) { Warn(text); }},
                                 run.metrics)) {
    summary_.tokens_per_step = job_.accumulation * job_.micro_batch_tokens();
    summary_.steps = run.first_step - 1;
    summary_.skipped = counters_.skipped_steps;
    summary_.first_loss = counters_.first_loss.value_or(0);
    summary_.best_loss = counters_.best_loss.value_or(0);
    summary_.last_loss = counters_.last_loss.value_or(0);
    summary_.epoch = run.data.passes();
    summary_.trained_tokens = counters_.trained_tokens;
  }

  absl::StatusOr<RunSummary> Run() {
    RETURN_IF_ERROR(metrics_->Open());
    absl::Status trained = EvaluateAtResume();
    while (trained.ok() && summary_.steps < job_.steps && !summary_.interrupted) {
      trained = TrainSegment();
    }
    if (!FolderIsLost()) {
      ReportMeasured(true);
      WriteRouting();
    }
    // A save that was in progress when something failed is still completed, if its state is
    // complete.
    if (run_.saving != nullptr) {
      for (const SaveReport& report : run_.saving->saver.Finish())
        trained.Update(RecordSave(report));
    }
    RETURN_IF_ERROR(trained);
    if (!FolderIsLost()) SaveFinalState();
    // Closed only now, because disk space is needed for the state first.
    metrics_->Close();
    // The first step also fills pages and caches, so it does not count.
    const std::vector<double>& seconds = seconds_.values();
    summary_.step_seconds = MeanWithoutOutliers(
        seconds.size() > 1 ? std::vector<double>(seconds.begin() + 1, seconds.end()) : seconds);
    if (!durations_.empty()) summary_.durations = durations_.Mean();
    return summary_;
  }

 private:
  bool EvaluationIsDue(int64_t step) const {
    return run_.evaluation != nullptr &&
           (step == job_.steps ||
            (run_.evaluation->every > 0 && step % run_.evaluation->every == 0));
  }

  // A run that was stopped or killed after a step may not have reached its evaluation. It is made
  // again, gives the same numbers, and is written where it was not.
  absl::Status EvaluateAtResume() {
    if (summary_.steps == 0 || summary_.steps == job_.steps || !EvaluationIsDue(summary_.steps)) {
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(last_evaluation_, LastStep(run_.io, run_.folder + "/eval.jsonl"));
    return EvaluateNow();
  }

  // Trains the steps up to the next one after which everything must pause.
  absl::Status TrainSegment() {
    const int64_t first = summary_.steps + 1;
    int64_t last = job_.steps;
    const auto stop_at = [&](int64_t every) {
      if (every > 0) last = std::min(last, (first + every - 1) / every * every);
    };
    if (run_.evaluation != nullptr) stop_at(run_.evaluation->every);
    if (run_.saving != nullptr && !SavesWhileTraining()) stop_at(run_.saving->every);
    RETURN_IF_ERROR(run_.trainer.Train(
        first, last, [this](int64_t number) { return Input(number); },
        [&](const Trainer::Report& report) { return OnStep(report); },
        SavesWhileTraining() ? &run_.saving->saver : nullptr));
    if (SaveIsDue(summary_.steps) && !SavesWhileTraining()) {
      RETURN_IF_ERROR(
          RecordSave(run_.saving->saver.SaveNow(summary_.steps, FactsOf(summary_.steps))));
    }
    // A stop that was requested while the last step was in flight stopped nothing.
    summary_.interrupted &= summary_.steps < job_.steps;
    const bool evaluates = !summary_.interrupted && EvaluationIsDue(summary_.steps);
    return evaluates ? EvaluateNow() : absl::OkStatus();
  }

  bool SavesWhileTraining() const {
    return run_.saving != nullptr && run_.trainer.store().state_on_host();
  }
  // Saves while the run continues; the state after the last step is saved at the end.
  bool SaveIsDue(int64_t step) const {
    return run_.saving != nullptr && run_.saving->every > 0 && step % run_.saving->every == 0 &&
           step < job_.steps && !summary_.interrupted;
  }

  absl::StatusOr<StepInput> Input(int64_t number) {
    ASSIGN_OR_RETURN(StepInput input, ReadStepInput(job_, number, run_.data));
    // A step begins before the one before it has ended, so both positions are needed.
    places_[number % 2] = {.position = run_.data.position(), .passes = run_.data.passes()};
    if (SaveIsDue(number) && SavesWhileTraining()) run_.saving->saver.Begin(number);
    return input;
  }

  absl::StatusOr<Trainer::Next> OnStep(const Trainer::Report& report) {
    const StepResult& result = report.result;
    if (result.applied && counters_.trained_tokens.has_value()) {
      *counters_.trained_tokens += result.counted;
    }
    ASSIGN_OR_RETURN(const ProcessMemory memory, ReadProcessMemory(run_.io));
    const StepProgress progress{
        .step = result.number,
        .steps = job_.steps,
        .loss = result.loss,
        .gradient_norm = result.gradient_norm,
        .learning_rate = LearningRateAt(job_, result.number),
        .epoch = places_[result.number % 2].passes,
        .trained_tokens = counters_.trained_tokens,
        .seconds = report.seconds,
        .tokens_per_second = static_cast<double>(summary_.tokens_per_step) / report.seconds,
        .host_bytes = memory.resident(),
        .device_bytes = run_.device.used(),
        .skipped = SkipReason(result)};
    const RoutingLine routing = RoutingOf(result);
    metrics_->AddStep(MetricsOf(progress, result, routing));
    const bool lost = FolderIsLost();
    if (routing.experts > 0) {
      AddSteps(routing, routing_);
      const bool due = result.number % kStepsPerRoutingLine == 0 || SaveIsDue(result.number);
      if (due && !lost) WriteRouting();
    }
    Count(progress);
    summary_.last_step = report.timeline;
    StartAtZero(summary_.last_step);
    if (&report.phase == &run_.trainer.schedule().steady) {
      durations_.Add(DurationsOf(run_.trainer.schedule(), report.timeline, 0));
      if (run_.on_measured) steady_ = summary_.last_step;
      steady_step_ = result.number;
      if (!lost) ReportMeasured(false);
    }
    if (run_.on_step) run_.on_step(progress);
    if (run_.saving != nullptr) RETURN_IF_ERROR(AfterStep(result.number));
    const bool stop = lost || (run_.stop_requested && run_.stop_requested());
    if (stop && result.number < job_.steps) summary_.interrupted = true;
    return stop ? Trainer::Next::kStop : Trainer::Next::kContinue;
  }

  void ReportMeasured(bool last) const {
    if (!run_.on_measured || steady_step_ == 0) return;
    run_.on_measured(
        {.step = steady_step_, .timeline = steady_, .durations = durations_, .last = last});
  }

  void Warn(const std::string& text) const {
    if (run_.on_warning) run_.on_warning(text);
  }

  bool FolderIsLost() {
    if (summary_.folder_lost.ok() && run_.check_folder) summary_.folder_lost = run_.check_folder();
    return !summary_.folder_lost.ok();
  }

  absl::Status AfterStep(int64_t step) {
    if (SaveIsDue(step)) {
      metrics_->Sync();
      if (SavesWhileTraining()) run_.saving->saver.Provide(step, FactsOf(step));
    }
    for (const SaveReport& report : run_.saving->saver.TakeReports()) {
      RETURN_IF_ERROR(RecordSave(report));
    }
    return absl::OkStatus();
  }

  CheckpointFacts FactsOf(int64_t step) const {
    const Schedule& schedule = run_.trainer.schedule();
    TrainingJob job = schedule.job;
    job.sample_lengths.clear();  // no number of the run depends on them; job.json has them
    return {.job = std::move(job),
            .plan = schedule.plan,
            .model_fingerprint = run_.saving->model_fingerprint,
            .frozen = run_.saving->frozen,
            .data_fingerprint = run_.saving->data_fingerprint,
            .data_position = places_[step % 2].position,
            .generator_key = job_.seed,
            .counters = counters_,
            .metrics_lines = step};
  }

  // Saves the state in which the run ends, unless it was saved before. If this fails, the state is
  // still in the store, and the caller decides what to do.
  void SaveFinalState() {
    if (run_.saving == nullptr || summary_.steps < run_.first_step) return;
    if (summary_.saved.has_value() && summary_.saved->step == summary_.steps) return;
    metrics_->Sync();
    SaveReport report = run_.saving->saver.SaveNow(summary_.steps, FactsOf(summary_.steps));
    report.at_end = true;
    if (report.path.empty()) summary_.end_not_saved = report.status;
    RecordSave(report).IgnoreError();
  }

  absl::Status RecordSave(const SaveReport& report) {
    if (run_.saving->on_save) run_.saving->on_save(report);
    if (!report.path.empty()) summary_.saved = report;
    return run_.saving->must_succeed ? report.status : absl::OkStatus();
  }

  absl::Status EvaluateNow() {
    const RunEvaluation& held_out = *run_.evaluation;
    RETURN_IF_ERROR(held_out.data.Seek({}));
    // The evaluation after the last step is made even if a stop was requested: there is no later
    // step to resume with, and a complete run is not evaluated again.
    const auto stops = [&] {
      return summary_.steps < job_.steps && run_.stop_requested && run_.stop_requested();
    };
    bool ended = false;
    ASSIGN_OR_RETURN(
        const Evaluation evaluation,
        Evaluate(held_out.pass, [&]() -> absl::StatusOr<std::optional<std::vector<TokenRecord>>> {
          ended |= stops();
          if (ended) return std::nullopt;
          std::vector<TokenRecord> tokens(static_cast<size_t>(job_.micro_batch_tokens()));
          RETURN_IF_ERROR(held_out.data.Fill(tokens).status());
          ended = held_out.data_ended();
          return tokens;
        }));
    if (stops()) {
      summary_.interrupted = true;
      return absl::OkStatus();
    }
    summary_.evaluation = evaluation;
    if (last_evaluation_ < summary_.steps) {
      metrics_->AddEvaluation({.step = summary_.steps,
                               .loss = evaluation.loss(),
                               .perplexity = evaluation.perplexity(),
                               .counted = evaluation.counted});
    }
    if (held_out.on_evaluation) held_out.on_evaluation(summary_.steps, evaluation);
    return absl::OkStatus();
  }

  static std::string SkipReason(const StepResult& result) {
    if (result.applied) return "";
    return result.counted == 0 ? "no token has a label" : result.non_finite + " is not finite";
  }

  // How many steps' durations are kept for their median; fewer where a step has very many
  // operations: at most 16 MB.
  size_t StepsToKeep() const {
    constexpr size_t kMostDurations = 2'000'000;
    const size_t operations = run_.trainer.schedule().steady.operations.size();
    return std::clamp<size_t>(kMostDurations / std::max<size_t>(1, operations), 1, 15);
  }

  // What the routers chose in this step. Of a dense model there are no experts.
  RoutingLine RoutingOf(const StepResult& result) const {
    if (result.expert_counts.empty()) return {};
    const auto first_layer =
        std::span(result.expert_counts).first(static_cast<size_t>(result.experts));
    // Each token that is not padding is counted once for each expert that it chose.
    const int64_t pairs = std::accumulate(first_layer.begin(), first_layer.end(), int64_t{0});
    return {.step = result.number,
            .first_step = result.number,
            .experts = result.experts,
            .experts_per_token = result.experts_per_token,
            .layers = expert_layers_,
            .tokens = pairs / result.experts_per_token,
            .counts = result.expert_counts};
  }

  // Writes what was added up since the last line, if anything was.
  void WriteRouting() {
    if (routing_.step == 0) return;
    metrics_->AddRouting(routing_);
    routing_ = {};
  }

  StepMetrics MetricsOf(const StepProgress& progress, const StepResult& result,
                        const RoutingLine& routing) const {
    StepMetrics line{.step = progress.step,
                     .loss = progress.loss,
                     .gradient_norm = progress.gradient_norm,
                     .learning_rate = progress.learning_rate,
                     .epoch = progress.epoch,
                     .tokens = summary_.tokens_per_step,
                     .trained_tokens = progress.trained_tokens,
                     .step_time = Seconds{progress.seconds},
                     .host_bytes = progress.host_bytes,
                     .device_bytes = progress.device_bytes,
                     .predicted_step_time = Seconds{run_.predicted_step_seconds}};
    if (routing.experts > 0) {
      constexpr double kNone = std::numeric_limits<double>::quiet_NaN();
      const std::optional<RoutingExtremes> extremes = ExtremesOf(routing);
      line.routing = {.aux_loss = result.router_aux_loss,
                      .busiest = extremes.has_value() ? extremes->busiest.share : kNone,
                      .idlest = extremes.has_value() ? extremes->idlest.share : kNone};
    }
    if (run_.log_gradient_norms) {
      const std::vector<std::string>& names = run_.trainer.TensorNames();
      for (size_t i = 0; i < names.size(); ++i) {
        line.gradient_norms.emplace_back(names[i], result.norms[i]);
      }
    }
    return line;
  }

  void Count(const StepProgress& progress) {
    if (!counters_.first_loss.has_value()) {
      counters_.first_loss = counters_.best_loss = progress.loss;
    }
    counters_.best_loss = std::min(*counters_.best_loss, progress.loss);
    counters_.last_loss = progress.loss;
    counters_.tokens += summary_.tokens_per_step;
    if (!progress.skipped.empty()) ++counters_.skipped_steps;
    summary_.steps = progress.step;
    summary_.skipped = counters_.skipped_steps;
    summary_.first_loss = *counters_.first_loss;
    summary_.last_loss = progress.loss;
    summary_.best_loss = *counters_.best_loss;
    summary_.epoch = progress.epoch;
    summary_.trained_tokens = progress.trained_tokens;
    summary_.seconds += progress.seconds;
    seconds_.Add(progress.seconds);
  }

  const TrainingRun& run_;
  const TrainingJob& job_;
  RunCounters counters_;
  const std::vector<int64_t> expert_layers_;
  // Where the data stands after the input of a step, by its number modulo 2.
  struct Place {
    DataPosition position;
    double passes = 0;
  };
  Place places_[2];
  RunSummary summary_;
  EvenSample seconds_{kSecondsToKeep};
  MeanDurations durations_{StepsToKeep()};
  std::unique_ptr<MetricsSink> metrics_;
  RoutingLine routing_;          // of the steps since the last line of routing.jsonl
  int64_t last_evaluation_ = 0;  // the last step whose evaluation was written before a resume
  Timeline steady_;              // the last steady step's
  int64_t steady_step_ = 0;
};

}  // namespace

absl::StatusOr<RunSummary> RunTrainingLoop(const TrainingRun& run) {
  return TrainingLoop(run).Run();
}

}  // namespace horizon

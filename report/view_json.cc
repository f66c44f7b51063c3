#include "report/view_json.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "common/documents/json.h"
#include "model/model_spec.h"
#include "model/stages.h"
#include "planner/prediction_basis.h"
#include "report/operation_family.h"
#include "runtime/loop/metrics.h"
#include "runtime/loop/routing_line.h"
#include "schedule/timeline/memory_use.h"

namespace horizon {
namespace {

void WriteFigure(std::string_view key, const ComparedFigure& figure, bool measured,
                 JsonWriter& json) {
  json.Key(key).BeginObject().Key("predicted").Number(figure.predicted);
  json.Key("measured");
  if (measured) {
    json.Number(figure.measured);
  } else {
    json.Null();
  }
  json.Key("error");
  if (measured && figure.error.has_value()) {
    json.Number(*figure.error);
  } else {
    json.Null();
  }
  json.EndObject();
}

void WriteWorks(std::string_view key, const std::vector<ComparedWork>& works, JsonWriter& json) {
  json.Key(key).BeginArray();
  for (const ComparedWork& work : works) {
    json.BeginObject().Key("name").String(work.name).Key("lane").String(work.lane);
    json.Key("operations").Integer(work.operations);
    WriteFigure("seconds", work.seconds, true, json);
    json.EndObject();
  }
  json.EndArray();
}

template <typename Items, typename Write>
void WriteList(std::string_view key, const Items& items, JsonWriter& json, Write write) {
  json.Key(key).BeginArray();
  for (const auto& item : items) write(item);
  json.EndArray();
}

void WriteNumbers(std::string_view key, const std::vector<int64_t>& numbers, JsonWriter& json) {
  WriteList(key, numbers, json, [&](int64_t number) { json.Integer(number); });
}

class ViewWriter {
 public:
  explicit ViewWriter(const RunView& view) : view_(view), outcome_(OutcomeSoFar(view)) {}

  std::string Write() && {
    json_.BeginObject();
    WriteSummary();
    WriteFigures();
    WriteLanes();
    WriteMemory();
    WriteTimelines();
    WriteMetrics();
    if (view_.spec.experts.experts > 0) WriteExperts();
    json_.Key("job");
    WriteJob(view_.job, json_);
    json_.Key("plan");
    WritePlan(view_.plan, json_);
    WriteList("reasons", view_.reasons, json_, [&](const PlanReason& reason) {
      json_.BeginObject().Key("field").String(reason.field).Key("text").String(reason.text);
      json_.EndObject();
    });
    WriteList("notes", view_.schedule.notes, json_,
              [&](const std::string& note) { json_.String(note); });
    json_.EndObject();
    // The profile is a JSON text already.
    std::string text = std::move(json_).Finish();
    text.pop_back();
    return text + ", \"machine\": " + OneLine(WriteProfile(view_.machine)) + "}";
  }

 private:
  // Newlines of our pretty JSON stand between its values only.
  static std::string OneLine(std::string text) {
    std::replace(text.begin(), text.end(), '\n', ' ');
    return text;
  }

  void WriteSummary() {
    json_.Key("folder").String(view_.folder).Key("state").String(ToString(view_.state));
    json_.Key("steps_done").Integer(view_.steps_done);
    json_.Key("steps_total").Integer(view_.steps_total);
    const ParameterCounts parameters = CountParameters(ListStages(view_.spec));
    json_.Key("model").BeginObject().Key("name").String(view_.spec.name);
    json_.Key("parameters").Unsigned(parameters.total);
    json_.Key("active_parameters").Unsigned(parameters.active).EndObject();
    WriteList("limits", view_.prediction.limits, json_,
              [&](const std::string& limit) { json_.String(limit); });
    json_.Key("model_tflops").Number(view_.prediction.prediction.model_tflops);
    json_.Key("fits").Bool(
        ShortagesOf(view_.prediction.prediction.memory, view_.machine, 0).empty());
    json_.Key("basis");
    WriteBasis(BasisOf(view_.machine, view_.plan.strategy), json_);
    json_.Key("loss").BeginObject();
    const auto loss = [&](std::string_view key, std::optional<double> value) {
      json_.Key(key);
      if (value.has_value()) {
        json_.Number(*value);
      } else {
        json_.Null();
      }
    };
    loss("first", outcome_.has_value() ? outcome_->first_loss : std::nullopt);
    loss("last", outcome_.has_value() ? outcome_->last_loss : std::nullopt);
    json_.EndObject();
    json_.Key("skipped").Integer(outcome_.has_value() ? outcome_->skipped : 0);
    if (!view_.metrics.empty()) {
      const StepMetrics& last = view_.metrics.lines().back();
      if (last.epoch.has_value()) json_.Key("epoch").Number(*last.epoch);
      if (last.trained_tokens.has_value()) {
        json_.Key("trained_tokens").Integer(*last.trained_tokens);
      }
    }
  }

  void WriteFigures() {
    const Prediction& predicted = view_.prediction.prediction;
    const bool measured = outcome_.has_value();
    const RunOutcome figures = outcome_.value_or(RunOutcome{
        .step_seconds = {.predicted = predicted.step_seconds},
        .tokens_per_second = {.predicted = predicted.tokens_per_second},
        .host_bytes = {.predicted = static_cast<double>(predicted.memory.host_bytes())},
        .device_bytes = {.predicted = static_cast<double>(view_.prediction.arena_bytes)}});
    json_.Key("figures").BeginObject();
    WriteFigure("step_seconds", figures.step_seconds, measured, json_);
    if (figures.step_seconds_at_speed.has_value()) {
      WriteFigure("step_seconds_at_speed", *figures.step_seconds_at_speed, measured, json_);
    }
    WriteFigure("tokens_per_second", figures.tokens_per_second, measured, json_);
    WriteFigure("host_bytes", figures.host_bytes, measured, json_);
    WriteFigure("device_bytes", figures.device_bytes, measured, json_);
    json_.EndObject();
  }

  void WriteLanes() {
    const Prediction& predicted = view_.prediction.prediction;
    json_.Key("busy_share").BeginObject();
    for (const EnumWord<Lane>& lane : WordsOf(Lane{})) {
      json_.Key(lane.word).Number(predicted.busy_share[static_cast<size_t>(lane.value)]);
    }
    json_.EndObject();
    WriteList("stalls", predicted.stalls, json_, [&](const Stall& stall) {
      json_.BeginObject().Key("lane").String(ToString(stall.lane));
      json_.Key("awaited").String(ToString(stall.awaited));
      json_.Key("awaited_lane").String(ToString(stall.awaited_lane));
      json_.Key("seconds").Number(static_cast<double>(stall.nanoseconds) * 1e-9).EndObject();
    });
    const RunOutcome none;
    const RunOutcome& works = outcome_.has_value() ? *outcome_ : none;
    WriteWorks("lanes", works.lanes, json_);
    WriteWorks("kinds", works.kinds, json_);
    WriteWorks("missed_most", works.missed_most, json_);
  }

  void WriteMemory() {
    const MemoryEstimate& memory = view_.prediction.prediction.memory;
    json_.Key("memory").BeginObject();
    json_.Key("usable_host_bytes").Unsigned(view_.prediction.usable_host_bytes);
    json_.Key("device_memory_bytes").Unsigned(view_.prediction.device_memory_bytes);
    json_.Key("arena_bytes").Unsigned(view_.prediction.arena_bytes);
    json_.Key("device_is_host").Bool(view_.machine.device.kind == DeviceKind::kHost);
    json_.Key("predicted_host_bytes").Unsigned(memory.host_bytes());
    json_.Key("predicted_device_bytes").Unsigned(memory.device_bytes());
    json_.Key("laid_out").BeginObject();
    for (const EnumWord<Memory>& one : WordsOf(Memory{})) {
      json_.Key(one.word).Unsigned(view_.schedule.memory.totals[static_cast<size_t>(one.value)]);
    }
    json_.EndObject();
    WriteList("items", memory.items, json_, [&](const MemoryItem& item) {
      json_.BeginObject().Key("memory").String(ToString(item.memory));
      json_.Key("what").String(item.name).Key("count").Integer(item.count);
      json_.Key("bytes").Unsigned(item.bytes).EndObject();
    });
    json_.EndObject();
  }

  void WriteTimelines() {
    json_.Key("timelines");
    if (!view_.timelines.has_value()) {
      json_.Null();
      return;
    }
    const StepTimelines& timelines = *view_.timelines;
    json_.BeginObject();
    WriteList("lanes", WordsOf(Lane{}), json_,
              [&](const EnumWord<Lane>& lane) { json_.String(lane.word); });
    WriteList("kinds", WordsOf(OperationKind{}), json_,
              [&](const EnumWord<OperationKind>& kind) { json_.String(kind.word); });
    WriteList("families", WordsOf(OperationFamily{}), json_,
              [&](const EnumWord<OperationFamily>& family) { json_.String(family.word); });
    WriteList("family_of_kind", WordsOf(OperationKind{}), json_,
              [&](const EnumWord<OperationKind>& kind) {
                json_.Integer(static_cast<int64_t>(FamilyOf(kind.value)));
              });
    WriteOperations();
    json_.Key("predicted").BeginObject();
    WriteTimes(timelines.predicted, timelines.awaited, view_.prediction.prediction.step_seconds);
    json_.EndObject().Key("measured");
    if (timelines.step == 0) {
      json_.Null();
    } else {
      json_.BeginObject().Key("step").Integer(timelines.step);
      const double seconds = outcome_.has_value() ? outcome_->step_seconds.measured
                                                  : view_.prediction.prediction.step_seconds;
      WriteTimes(timelines.measured, MeasuredWaits(timelines.measured), seconds);
      WriteNumbers("mean_ns", timelines.mean_ns, json_);
      json_.EndObject();
    }
    json_.EndObject();
  }

  void WriteOperations() {
    const std::vector<Operation>& operations = view_.schedule.steady.operations;
    const auto write = [&](std::string_view key, auto value) {
      WriteList(key, operations, json_, value);
    };
    json_.Key("operations").BeginObject();
    write("name", [&](const Operation& one) { json_.String(view_.schedule.NameOf(one)); });
    write("lane", [&](const Operation& one) { json_.Integer(static_cast<int64_t>(one.lane)); });
    write("kind", [&](const Operation& one) { json_.Integer(static_cast<int64_t>(one.kind)); });
    write("bytes", [&](const Operation& one) { json_.Unsigned(one.bytes); });
    json_.EndObject();
  }

  void WriteTimes(const OperationTimes& times, const std::vector<AwaitedOperation>& awaited,
                  double step_seconds) {
    WriteNumbers("start_ns", times.start_ns, json_);
    WriteNumbers("end_ns", times.end_ns, json_);
    WriteList("awaited", awaited, json_, [&](const AwaitedOperation& one) {
      json_.BeginArray().Integer(one.operation).Bool(one.previous_step).EndArray();
    });
    WriteMemoryOverStep(times, step_seconds);
  }

  // What was in use while the step ran, with what the steps before and after it have there: the
  // middle one of three.
  void WriteMemoryOverStep(const OperationTimes& times, double step_seconds) {
    const auto period = static_cast<int64_t>(std::llround(step_seconds * 1e9));
    Timeline three = TimelineOf(view_.schedule, times);
    const size_t count = three.entries.size();
    const int64_t end = three.end_ns() + period;
    for (int32_t step = 1; step < 3; ++step) {
      three.steps.push_back(StepKind::kSteady);
      for (size_t i = 0; i < count; ++i) {
        TimelineEntry entry = three.entries[i];
        entry.step = step;
        entry.start_ns += step * period;
        entry.end_ns += step * period;
        three.entries.push_back(entry);
      }
    }
    std::vector<MemoryChange> changes;
    for (MemoryChange change : MemoryOverTime(view_.schedule, three)) {
      if (change.time_ns > end) break;
      change.time_ns = std::max<int64_t>(0, change.time_ns - period);
      if (!changes.empty() && changes.back().time_ns == change.time_ns) changes.pop_back();
      changes.push_back(change);
    }
    json_.Key("memory").BeginObject();
    WriteList("time_ns", changes, json_,
              [&](const MemoryChange& change) { json_.Integer(change.time_ns); });
    for (const EnumWord<Memory>& one : WordsOf(Memory{})) {
      WriteList(one.word, changes, json_, [&](const MemoryChange& change) {
        json_.Unsigned(change.bytes[static_cast<size_t>(one.value)]);
      });
    }
    json_.EndObject();
  }

  // Of a measured step: the last of what each operation waits for, if it ended after the lane was
  // free. What it awaited of the step before was not measured with it.
  std::vector<AwaitedOperation> MeasuredWaits(const OperationTimes& times) const {
    const Phase& phase = view_.schedule.steady;
    std::vector<AwaitedOperation> waits(phase.operations.size());
    std::array<int64_t, kLaneCount> lane_free{};
    for (size_t i = 0; i < phase.operations.size(); ++i) {
      const Operation& operation = phase.operations[i];
      int64_t& free = lane_free[static_cast<size_t>(operation.lane)];
      for (const Wait& wait : phase.WaitsOf(operation)) {
        if (wait.previous_step || times.end_ns[static_cast<size_t>(wait.operation)] <= free) {
          continue;
        }
        free = times.end_ns[static_cast<size_t>(wait.operation)];
        waits[i] = {.operation = wait.operation};
      }
      free = times.end_ns[i];
    }
    return waits;
  }

  void WriteMetrics() {
    std::vector<const StepMetrics*> shown;
    for (const StepMetrics& line : view_.metrics.lines()) shown.push_back(&line);
    // While a run goes on its curves only grow, so that followers get what is new and no more: of a
    // long one, the step that is not going to be kept is left out until the end.
    if (view_.state == RunState::kRunning && !view_.metrics.last_is_kept()) shown.pop_back();
    json_.Key("metrics").BeginObject().Key("every").Unsigned(view_.metrics.every());
    const auto write = [&](std::string_view key, auto value) {
      WriteList(key, shown, json_, [&](const StepMetrics* line) { value(*line); });
    };
    write("step", [&](const StepMetrics& line) { json_.Integer(line.step); });
    write("loss", [&](const StepMetrics& line) { json_.Number(line.loss); });
    write("gradient_norm", [&](const StepMetrics& line) { json_.Number(line.gradient_norm); });
    write("learning_rate", [&](const StepMetrics& line) { json_.Number(line.learning_rate); });
    write("step_seconds", [&](const StepMetrics& line) { json_.Number(line.step_time.value); });
    write("tokens_per_second",
          [&](const StepMetrics& line) { json_.Number(line.tokens_per_second()); });
    write("host_bytes", [&](const StepMetrics& line) { json_.Unsigned(line.host_bytes.value()); });
    write("device_bytes",
          [&](const StepMetrics& line) { json_.Unsigned(line.device_bytes.value()); });
    if (view_.spec.experts.experts > 0) {
      const auto figure = [&](const StepMetrics& line, double StepMetrics::Routing::*value) {
        json_.Number(line.routing.has_value() ? (*line.routing).*value : std::nan(""));
      };
      using Routing = StepMetrics::Routing;
      write("router_aux_loss", [&](const StepMetrics& line) { figure(line, &Routing::aux_loss); });
      write("busiest_expert", [&](const StepMetrics& line) { figure(line, &Routing::busiest); });
      write("idlest_expert", [&](const StepMetrics& line) { figure(line, &Routing::idlest); });
    }
    json_.EndObject();
    WriteList("evaluations", view_.evaluations.lines(), json_, [&](const EvaluationLine& line) {
      json_.BeginObject().Key("step").Integer(line.step).Key("loss").Number(line.loss);
      json_.Key("perplexity").Number(line.perplexity).EndObject();
    });
  }

  void WriteExperts() {
    json_.Key("experts").BeginObject().Key("experts").Integer(view_.spec.experts.experts);
    json_.Key("experts_per_token").Integer(view_.spec.experts.experts_per_token);
    WriteNumbers("layers", LayersWithExperts(view_.spec), json_);
    json_.Key("steps_per_line").Integer(kStepsPerRoutingLine);
    json_.Key("routing");
    if (view_.routing.has_value()) {
      WriteRouting(*view_.routing);
    } else {
      json_.Null();
    }
    json_.EndObject();
  }

  void WriteRouting(const RoutingLine& line) {
    json_.BeginObject().Key("first_step").Integer(line.first_step);
    json_.Key("step").Integer(line.step).Key("tokens").Integer(line.tokens);
    json_.Key("counts").BeginArray();
    for (size_t layer = 0; layer < line.layers.size(); ++layer) {
      json_.BeginArray();
      const auto each = static_cast<size_t>(line.experts);
      for (const int64_t count : std::span(line.counts).subspan(layer * each, each)) {
        json_.Integer(count);
      }
      json_.EndArray();
    }
    json_.EndArray().EndObject();
  }

  const RunView& view_;
  const std::optional<RunOutcome> outcome_;
  JsonWriter json_{JsonWriter::Style::kOneLine};
};

}  // namespace

std::string ViewJson(const RunView& view) { return ViewWriter(view).Write(); }

}  // namespace horizon

#include "report/step_timelines.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "common/check.h"
#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

// Six numbers an operation, and what stands around them.
constexpr DocumentLimits kLimits{
    .text = 96_MiB, .depth = 8, .values = 6 * kMostTimelineOperations + 64};
// An hour is more than any step of ours takes; this is a year.
constexpr int64_t kMostNanoseconds = int64_t{1} << 55;

// awaited: -1 the lane, i >= 0 operation i of this step, -2 - i operation i of the step before.
int64_t CodeOf(const AwaitedOperation& awaited) {
  if (awaited.operation < 0) return -1;
  return awaited.previous_step ? -2 - int64_t{awaited.operation} : awaited.operation;
}
AwaitedOperation AwaitedOf(int64_t code) {
  if (code == -1) return {};
  if (code >= 0) return {.operation = static_cast<OperationId>(code)};
  return {.operation = static_cast<OperationId>(-2 - code), .previous_step = true};
}

void WriteNumbers(std::string_view key, const std::vector<int64_t>& numbers, JsonWriter& json) {
  json.Key(key).BeginArray();
  for (const int64_t number : numbers) json.Integer(number);
  json.EndArray();
}

void WriteTimes(std::string_view key, const OperationTimes& times, JsonWriter& json) {
  json.Key(key).BeginObject();
  WriteNumbers("start_ns", times.start_ns, json);
  WriteNumbers("end_ns", times.end_ns, json);
  json.EndObject();
}

// Reads `count` numbers from `least` to `most`.
void ReadNumbers(ObjectReader& reader, std::string_view key, int64_t count, int64_t least,
                 int64_t most, std::vector<int64_t>& numbers) {
  reader.Required(key, &numbers);
  if (!reader.ok()) return;
  if (static_cast<int64_t>(numbers.size()) != count) {
    return reader.Fail(
        key, StrCat("needs ", count, " numbers, one an operation, found ", numbers.size()));
  }
  for (const int64_t number : numbers) {
    if (number >= least && number <= most) continue;
    return reader.Fail(key, StrCat("needs numbers from ", least, " to ", most, ", found ", number));
  }
}

absl::Status ReadTimes(const Document& document, ObjectReader& fields, std::string_view key,
                       int64_t count, OperationTimes& times) {
  const Value* value = fields.Take(key);
  if (!fields.ok()) return absl::OkStatus();
  if (value == nullptr) {
    fields.Fail(key, "required and missing");
    return absl::OkStatus();
  }
  ObjectReader reader(document, *value, std::string(key));
  ReadNumbers(reader, "start_ns", count, 0, kMostNanoseconds, times.start_ns);
  ReadNumbers(reader, "end_ns", count, 0, kMostNanoseconds, times.end_ns);
  for (size_t i = 0; reader.ok() && i < times.start_ns.size(); ++i) {
    if (times.end_ns[i] >= times.start_ns[i]) continue;
    reader.Fail("end_ns", StrCat("operation ", i, " ends before it starts"));
  }
  return reader.Finish();
}

}  // namespace

OperationTimes TimesOf(const Schedule& schedule, const Timeline& timeline, int32_t step) {
  const size_t count = schedule.steady.operations.size();
  OperationTimes times{.start_ns = std::vector<int64_t>(count, -1),
                       .end_ns = std::vector<int64_t>(count, -1)};
  int64_t begin = std::numeric_limits<int64_t>::max();
  for (const TimelineEntry& entry : timeline.entries) {
    if (entry.step == step) begin = std::min(begin, entry.start_ns);
  }
  size_t found = 0;
  for (const TimelineEntry& entry : timeline.entries) {
    if (entry.step != step) continue;
    const auto i = static_cast<size_t>(entry.operation);
    CHECK(i < count && times.end_ns[i] < 0);
    times.start_ns[i] = entry.start_ns - begin;
    times.end_ns[i] = entry.end_ns - begin;
    ++found;
  }
  CHECK(found == count);
  return times;
}

StepTimelines PredictedTimelines(const Schedule& schedule, const SteadyState& steady) {
  StepTimelines timelines;
  const Timeline& timeline = steady.simulation.timeline;
  if (timeline.steps[steady.reported_step] != StepKind::kSteady) return timelines;
  timelines.predicted = TimesOf(schedule, timeline, steady.reported_step);
  timelines.awaited.resize(schedule.steady.operations.size());
  for (size_t i = 0; i < timeline.entries.size(); ++i) {
    const TimelineEntry& entry = timeline.entries[i];
    const int32_t awaited = steady.simulation.awaited[i];
    if (entry.step != steady.reported_step || awaited < 0) continue;
    const TimelineEntry& cause = timeline.entries[awaited];
    // The step before has the same numbers: two steps before the reported one are never `first`.
    timelines.awaited[static_cast<size_t>(entry.operation)] = {
        .operation = cause.operation, .previous_step = cause.step != entry.step};
  }
  return timelines;
}

Timeline TimelineOf(const Schedule& schedule, const OperationTimes& times) {
  Timeline timeline{.steps = {StepKind::kSteady}};
  const std::vector<Operation>& operations = schedule.steady.operations;
  CHECK(times.start_ns.size() == operations.size());
  for (size_t i = 0; i < operations.size(); ++i) {
    timeline.entries.push_back({.step = 0,
                                .operation = static_cast<OperationId>(i),
                                .lane = operations[i].lane,
                                .start_ns = times.start_ns[i],
                                .end_ns = times.end_ns[i],
                                .bytes = operations[i].bytes});
  }
  return timeline;
}

std::string WriteTimelines(const StepTimelines& timelines) {
  JsonWriter json(JsonWriter::Style::kOneLine);
  json.BeginObject().Key("operations").Integer(timelines.operations());
  json.Key("step").Integer(timelines.step);
  WriteTimes("predicted", timelines.predicted, json);
  json.Key("awaited").BeginArray();
  for (const AwaitedOperation& awaited : timelines.awaited) json.Integer(CodeOf(awaited));
  json.EndArray();
  WriteTimes("measured", timelines.measured, json);
  WriteNumbers("mean_ns", timelines.mean_ns, json);
  json.EndObject();
  return std::move(json).Finish() + "\n";
}

absl::StatusOr<StepTimelines> ReadTimelines(const std::string& file, std::string_view text) {
  ASSIGN_OR_RETURN(const Document document, ParseJson(file, text, kLimits));
  ObjectReader fields(document, document.root);
  StepTimelines timelines;
  int64_t operations = 0;
  fields.Required("operations", &operations);
  if (fields.ok() && (operations < 0 || operations > kMostTimelineOperations)) {
    fields.Fail("operations", StrCat("needs a count from 0 to ", kMostTimelineOperations));
  }
  fields.Required("step", &timelines.step);
  if (fields.ok() && timelines.step < 0) fields.Fail("step", "needs a step of zero or more");
  RETURN_IF_ERROR(ReadTimes(document, fields, "predicted", operations, timelines.predicted));
  std::vector<int64_t> codes;
  ReadNumbers(fields, "awaited", operations, -1 - operations, operations - 1, codes);
  const int64_t measured = timelines.step > 0 ? operations : 0;
  RETURN_IF_ERROR(ReadTimes(document, fields, "measured", measured, timelines.measured));
  // Earlier versions wrote medians.
  const std::string_view mean =
      document.root.Find("median_ns") != nullptr ? "median_ns" : "mean_ns";
  ReadNumbers(fields, mean, measured, 0, kMostNanoseconds, timelines.mean_ns);
  RETURN_IF_ERROR(fields.Finish());
  for (const int64_t code : codes) timelines.awaited.push_back(AwaitedOf(code));
  return timelines;
}

absl::StatusOr<StepTimelines> LoadTimelines(Io& io, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(io, path, kLimits.text));
  return ReadTimelines(path, text);
}

}  // namespace horizon

#include "report/run_outcome.h"

#include <cmath>
#include <limits>
#include <utility>

#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

std::optional<double> IfFinite(double value) {
  if (!std::isfinite(value)) return std::nullopt;
  return value;
}

void ReadCompared(ObjectReader& reader, ComparedFigure& figure) {
  // A number that was not finite is null: the loss of a run that broke, a rate of no steps.
  double measured = 0;
  double error = kNone;
  reader.Required("predicted", &figure.predicted);
  reader.OptionalOrNull("measured", &measured);
  reader.OptionalOrNull("error", &error);
  figure.measured = measured;
  figure.error = IfFinite(error);
}

absl::Status ReadFigure(const Document& document, ObjectReader& fields, std::string_view key,
                        ComparedFigure& figure) {
  const Value* value = fields.Take(key);
  if (value == nullptr) fields.Fail(key, "required and missing");
  if (!fields.ok()) return absl::OkStatus();
  ObjectReader reader(document, *value, std::string(key));
  ReadCompared(reader, figure);
  return reader.Finish();
}

// Both are missing in runs after whose steps the speed of the machine was not measured.
absl::Status ReadSpeed(const Document& document, ObjectReader& fields, RunOutcome& outcome) {
  if (const Value* value = fields.Take("speed_change"); value != nullptr) {
    ObjectReader reader(document, *value, "speed_change");
    SpeedChange& change = outcome.speed_change.emplace();
    for (const auto& [key, share] :
         {std::pair("products", &change.gemm), std::pair("memory", &change.memory)}) {
      reader.Required(key, share);
      if (reader.ok() && !(*share > 0 && std::isfinite(*share))) {
        reader.Fail(key, StrCat("needs a number above zero, found ", *share));
      }
    }
    RETURN_IF_ERROR(reader.Finish());
  }
  if (const Value* value = fields.Take("step_seconds_at_speed"); value != nullptr) {
    ObjectReader reader(document, *value, "step_seconds_at_speed");
    ReadCompared(reader, outcome.step_seconds_at_speed.emplace());
    RETURN_IF_ERROR(reader.Finish());
  }
  return absl::OkStatus();
}

absl::Status ReadWorks(const Document& document, ObjectReader& fields, std::string_view key,
                       std::string_view name, std::vector<ComparedWork>& works) {
  const Value* value = fields.Take(key);
  if (!fields.ok()) return absl::OkStatus();
  const auto* elements = value == nullptr ? nullptr : value->As<Value::Array>();
  if (elements == nullptr) {
    fields.Fail(key, "needs an array");
    return absl::OkStatus();
  }
  for (size_t i = 0; i < elements->size(); ++i) {
    ObjectReader reader(document, (*elements)[i], StrCat(key, "[", i, "]"));
    ComparedWork work;
    reader.Required(name, &work.name);
    reader.Required("lane", &work.lane);
    reader.Optional("operations", &work.operations);
    ReadCompared(reader, work.seconds);
    RETURN_IF_ERROR(reader.Finish());
    works.push_back(std::move(work));
  }
  return absl::OkStatus();
}

}  // namespace

ComparedFigure Compare(double predicted, double measured) {
  ComparedFigure figure{.predicted = predicted, .measured = measured};
  if (predicted > 0) figure.error = measured / predicted - 1;
  return figure;
}

absl::StatusOr<RunOutcome> ReadOutcome(const std::string& file, std::string_view text) {
  ASSIGN_OR_RETURN(const Document document, ParseJson(file, text));
  RunOutcome outcome;
  ObjectReader fields(document, document.root);
  fields.Required("steps", &outcome.steps);
  fields.Required("skipped", &outcome.skipped);
  fields.Required("interrupted", &outcome.interrupted);
  double first = kNone;
  double last = kNone;
  fields.OptionalOrNull("first_loss", &first);
  fields.OptionalOrNull("last_loss", &last);
  outcome.first_loss = IfFinite(first);
  outcome.last_loss = IfFinite(last);
  RETURN_IF_ERROR(ReadFigure(document, fields, "step_seconds", outcome.step_seconds));
  RETURN_IF_ERROR(ReadFigure(document, fields, "tokens_per_second", outcome.tokens_per_second));
  RETURN_IF_ERROR(ReadFigure(document, fields, "host_bytes", outcome.host_bytes));
  RETURN_IF_ERROR(ReadFigure(document, fields, "device_bytes", outcome.device_bytes));
  RETURN_IF_ERROR(ReadSpeed(document, fields, outcome));
  RETURN_IF_ERROR(ReadWorks(document, fields, "lanes", "lane", outcome.lanes));
  RETURN_IF_ERROR(ReadWorks(document, fields, "kinds", "kind", outcome.kinds));
  RETURN_IF_ERROR(ReadWorks(document, fields, "missed_most", "operation", outcome.missed_most));
  RETURN_IF_ERROR(fields.FinishIgnoringUnknown());
  return outcome;
}

absl::StatusOr<RunOutcome> LoadOutcome(Io& io, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(io, path, 1_MiB));
  return ReadOutcome(path, text);
}

}  // namespace horizon

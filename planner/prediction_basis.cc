#include "planner/prediction_basis.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_join.h"
#include "common/check.h"
#include "common/documents/record.h"
#include "common/status_macros.h"
#include "common/text/percent.h"
#include "common/text/str_cat.h"
#include "planner/prediction_errors_data.h"
#include "planner/profile/calibration.h"

namespace horizon {
namespace {

constexpr EnumWord<BasisKind> kKindWords[] = {{BasisKind::kMeasured, "measured"},
                                              {BasisKind::kFitted, "fitted"},
                                              {BasisKind::kDataSheet, "data_sheet"},
                                              {BasisKind::kPlannedOnly, "planned_only"},
                                              {BasisKind::kUnknown, "unknown"}};

// Every kind of errors once, for reading and writing.
template <typename Errors, typename Visit>
void ForEachKind(Errors& errors, Visit visit) {
  visit("measured", errors.measured);
  visit("fitted", errors.fitted);
  visit("data_sheet", errors.data_sheet);
}

template <typename Errors, typename Visitor>
void VisitErrors(Errors& errors, Visitor& visit) {
  const auto required = FieldPresence::kRequired;
  visit("runs", errors.runs, {.minimum = 1, .presence = required});
  visit("median_error", errors.median, {.minimum = 0, .presence = required});
  visit("worst_error", errors.worst, {.minimum = 0, .presence = required});
  visit("runs_of", errors.runs_of, {.presence = required});
  visit("classes", errors.classes, {});
}

bool HasFittedSpeeds(const HardwareProfile& profile, Strategy strategy) {
  const Calibration& calibration = BuiltInCalibration();
  return calibration.SoftwareOf(strategy, profile) != calibration.SoftwareOf(strategy);
}

std::string RestsOn(const PredictionBasis& basis) {
  switch (basis.kind) {
    case BasisKind::kMeasured:
      return "rests on a measured profile";
    case BasisKind::kFitted:
      return StrCat("rests on data sheets, the shares of class ", basis.device_class,
                    " and speeds fitted to published runs of this machine");
    case BasisKind::kDataSheet:
    case BasisKind::kPlannedOnly:
      return StrCat("rests on data sheets and the shares of class ", basis.device_class);
    case BasisKind::kUnknown:
      return "rests on a machine file that was not measured";
  }
  return "";
}

}  // namespace

std::span<const EnumWord<BasisKind>> WordsOf(BasisKind) { return kKindWords; }

absl::StatusOr<PredictionErrors> ReadPredictionErrors(const Document& document) {
  PredictionErrors errors;
  ObjectReader all(document, document.root);
  absl::Status status;
  ForEachKind(errors, [&](std::string_view name, PastErrors& kind) {
    const Value* value = all.Take(name);
    if (value == nullptr) return all.Fail(name, "required and missing");
    ObjectReader reader(document, *value, std::string(name));
    RecordReader read(reader);
    VisitErrors(kind, read);
    if (status.ok()) status = reader.Finish();
  });
  RETURN_IF_ERROR(status);
  RETURN_IF_ERROR(all.Finish());
  return errors;
}

std::string WritePredictionErrors(const PredictionErrors& errors) {
  JsonWriter json;
  json.BeginObject();
  ForEachKind(errors, [&](std::string_view name, const PastErrors& kind) {
    json.Key(name).BeginObject();
    RecordWriter write(json);
    VisitErrors(kind, write);
    json.EndObject();
  });
  json.EndObject();
  return std::move(json).Finish();
}

const PredictionErrors& BuiltInPredictionErrors() {
  static const PredictionErrors* const errors = [] {
    const absl::StatusOr<Document> document =
        ParseJson("prediction_errors.json", PredictionErrorsData());
    CHECK(document.ok());
    absl::StatusOr<PredictionErrors> read = ReadPredictionErrors(*document);
    CHECK(read.ok());
    return new PredictionErrors(*std::move(read));
  }();
  return *errors;
}

PredictionBasis BasisOf(const HardwareProfile& profile, Strategy strategy) {
  const PredictionErrors& past = BuiltInPredictionErrors();
  PredictionBasis basis{.device_class = profile.device_class.value_or(""),
                        .is_gpu = profile.device.kind != DeviceKind::kHost};
  if (profile.measured_on.has_value()) {
    basis.kind = BasisKind::kMeasured;
    // The runs that were compared were runs on device `host`.
    if (!basis.is_gpu) basis.errors = past.measured;
  } else if (!profile.device_class.has_value()) {
    basis.kind = BasisKind::kUnknown;
  } else if (profile.planned_only.has_value()) {
    basis.kind = BasisKind::kPlannedOnly;
  } else if (HasFittedSpeeds(profile, strategy)) {
    basis.kind = BasisKind::kFitted;
    basis.errors = past.fitted;
  } else {
    basis.kind = BasisKind::kDataSheet;
    if (basis.is_gpu) basis.errors = past.data_sheet;
  }
  return basis;
}

bool PredictionBasis::errors_are_of_class() const {
  if (!errors.has_value()) return false;
  const std::vector<std::string>& of = errors->classes;
  return of.empty() || std::find(of.begin(), of.end(), device_class) != of.end();
}

std::string BasisText(const PredictionBasis& basis) {
  std::string text = RestsOn(basis);
  if (basis.errors.has_value()) {
    const PastErrors& errors = *basis.errors;
    text += "; such predictions were ";
    if (!basis.errors_are_of_class()) {
      text += StrCat("compared with runs on class ", absl::StrJoin(errors.classes, ", "),
                     " only, nothing for class ", basis.device_class, ": ");
    }
    text += StrCat("off by ", Percent(errors.median), " (median of ", errors.runs, " ",
                   errors.runs_of, "), ", Percent(errors.worst), " at worst");
  } else if (basis.kind == BasisKind::kPlannedOnly) {
    text += "; horizon does not run on it, and no prediction for such a machine was ever checked";
  } else {
    text += "; no such prediction was ever compared with a run";
  }
  if (basis.is_gpu) text += "; nothing was measured on a GPU with this program";
  return text;
}

void WriteBasis(const PredictionBasis& basis, JsonWriter& writer) {
  writer.BeginObject().Key("kind").String(ToString(basis.kind));
  if (!basis.device_class.empty()) writer.Key("device_class").String(basis.device_class);
  if (basis.errors.has_value()) {
    RecordWriter write(writer);
    VisitErrors(*basis.errors, write);
    writer.Key("errors_are_of_class").Bool(basis.errors_are_of_class());
  }
  writer.Key("measured_on_gpu").Bool(false);
  writer.Key("text").String(BasisText(basis));
  writer.EndObject();
}

}  // namespace horizon

#include "planner/profile/calibration.h"

#include <functional>
#include <utility>

#include "common/check.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "planner/profile/calibration_data.h"

namespace horizon {
namespace {

absl::Status ReadRows(const Document& document, const Value& value, const std::string& path,
                      const std::function<absl::Status(const Value&, const std::string&)>& read) {
  const Value::Array* rows = value.As<Value::Array>();
  if (rows == nullptr) return ErrorAt(document, value, path, "needs an array");
  for (size_t i = 0; i < rows->size(); ++i) {
    RETURN_IF_ERROR(read((*rows)[i], StrCat(path, "[", i, "]")));
  }
  return absl::OkStatus();
}

void ReadPositive(ObjectReader& reader, std::string_view key, std::optional<double>& out) {
  double value = 0;
  if (reader.Take(key) == nullptr) return;
  reader.Required(key, &value);
  if (reader.ok() && !(value > 0)) reader.Fail(key, "needs a number above zero");
  out = value;
}

void ReadFittedOn(ObjectReader& reader, std::vector<std::string>& fitted_on) {
  reader.Required("fitted_on", &fitted_on);
  if (reader.ok() && fitted_on.empty()) {
    reader.Fail("fitted_on", "needs the rows these numbers were fitted on");
  }
}

absl::Status ReadSpeed(const Document& document, ObjectReader& machine, std::string_view key,
                       std::optional<FittedSpeed>& speed) {
  const Value* value = machine.Take(key);
  if (value == nullptr) return absl::OkStatus();
  ObjectReader reader(document, *value, machine.PathOf(key));
  std::optional<double> number;
  ReadPositive(reader, "value", number);
  if (reader.ok() && !number.has_value()) reader.Fail("value", "required and missing");
  speed = FittedSpeed{.value = number.value_or(1)};
  reader.Required("deviation", &speed->deviation);
  if (reader.ok() && !(speed->deviation >= 0)) {
    reader.Fail("deviation", "needs a number of zero or more");
  }
  return reader.Finish();
}

absl::Status ReadMachine(const Document& document, const Value& value, const std::string& path,
                         Calibration& calibration) {
  MachineCalibration& machine = calibration.machines.emplace_back();
  ObjectReader reader(document, value, path);
  reader.Required("machine", &machine.machine);
  RETURN_IF_ERROR(ReadSpeed(document, reader, "gemm_speed", machine.gemm));
  RETURN_IF_ERROR(ReadSpeed(document, reader, "pack_speed", machine.pack));
  RETURN_IF_ERROR(ReadSpeed(document, reader, "adam_speed", machine.adam));
  ReadFittedOn(reader, machine.fitted_on);
  return reader.Finish();
}

absl::Status ReadStrategy(const Document& document, const Value& value, const std::string& path,
                          Calibration& calibration) {
  StrategyCalibration& entry = calibration.strategies.emplace_back();
  ObjectReader reader(document, value, path);
  std::string word;
  reader.Required("strategy", &word);
  if (reader.ok()) {
    absl::StatusOr<Strategy> strategy = ParseWord<Strategy>(word);
    if (!strategy.ok()) reader.Fail("strategy", std::string(strategy.status().message()));
    entry.strategy = strategy.value_or(entry.strategy);
  }
  std::optional<double> share;
  ReadPositive(reader, "link_share", share);
  entry.software.link_share = share.value_or(1);
  share.reset();
  ReadPositive(reader, "adam_speed", share);
  entry.software.adam_speed = share.value_or(1);
  reader.Optional("process_bytes", &entry.software.process_bytes);
  share.reset();
  ReadPositive(reader, "batch_share", share);
  entry.batch_share = share.value_or(1);
  reader.Optional("batch_reserve_bytes", &entry.batch_reserve_bytes);
  reader.Optional("batch_logit_bytes", &entry.batch_logit_bytes);
  ReadFittedOn(reader, entry.fitted_on);
  return reader.Finish();
}

void WriteRows(JsonWriter& writer, const std::vector<std::string>& rows) {
  writer.Key("fitted_on").BeginArray();
  for (const std::string& row : rows) writer.String(row);
  writer.EndArray();
}

double ValueOf(const std::optional<FittedSpeed>& speed) {
  return speed.has_value() ? speed->value : 1;
}

}  // namespace

const MachineCalibration* Calibration::Find(std::string_view machine) const {
  for (const MachineCalibration& entry : machines) {
    if (entry.machine == machine) return &entry;
  }
  return nullptr;
}

const StrategyCalibration* Calibration::Find(Strategy strategy) const {
  for (const StrategyCalibration& entry : strategies) {
    if (entry.strategy == strategy) return &entry;
  }
  return nullptr;
}

Software Calibration::SoftwareOf(Strategy strategy) const {
  const StrategyCalibration* entry = Find(strategy);
  return entry == nullptr ? Software{} : entry->software;
}

Software Calibration::SoftwareOf(Strategy strategy, const HardwareProfile& profile) const {
  Software software = SoftwareOf(strategy);
  const bool is_published = strategy == Strategy::kReference || IsSimulatedOnly(strategy);
  const MachineCalibration* machine = Find(profile.name);
  if (!is_published || machine == nullptr || profile.measured_on.has_value()) return software;
  software.gemm_speed *= ValueOf(machine->gemm);
  software.pack_speed *= ValueOf(machine->pack);
  software.adam_speed *= ValueOf(machine->adam);
  return software;
}

const Calibration& BuiltInCalibration() {
  static const Calibration* const calibration = [] {
    absl::StatusOr<Document> document = ParseJson("calibration.json", CalibrationData());
    CHECK(document.ok());
    absl::StatusOr<Calibration> read = ReadCalibration(*document);
    CHECK(read.ok());
    return new Calibration(*std::move(read));
  }();
  return *calibration;
}

absl::StatusOr<Calibration> ReadCalibration(const Document& document) {
  Calibration calibration;
  ObjectReader reader(document, document.root);
  int64_t version = 0;
  reader.Required("version", &version);
  if (reader.ok() && version != 1) reader.Fail("version", StrCat("needs 1, found ", version));
  if (const Value* value = reader.Take("machines")) {
    RETURN_IF_ERROR(
        ReadRows(document, *value, "machines", [&](const Value& row, const std::string& path) {
          return ReadMachine(document, row, path, calibration);
        }));
  }
  if (const Value* value = reader.Take("strategies")) {
    RETURN_IF_ERROR(
        ReadRows(document, *value, "strategies", [&](const Value& row, const std::string& path) {
          return ReadStrategy(document, row, path, calibration);
        }));
  }
  RETURN_IF_ERROR(reader.Finish());
  return calibration;
}

std::string WriteCalibration(const Calibration& calibration) {
  JsonWriter writer;
  writer.BeginObject().Key("version").Integer(1).Key("machines").BeginArray();
  const auto write_speed = [&](std::string_view key, const std::optional<FittedSpeed>& speed) {
    if (!speed.has_value()) return;
    writer.Key(key).BeginObject().Key("value").Number(speed->value);
    writer.Key("deviation").Number(speed->deviation).EndObject();
  };
  for (const MachineCalibration& entry : calibration.machines) {
    writer.BeginObject().Key("machine").String(entry.machine);
    write_speed("gemm_speed", entry.gemm);
    write_speed("pack_speed", entry.pack);
    write_speed("adam_speed", entry.adam);
    WriteRows(writer, entry.fitted_on);
    writer.EndObject();
  }
  writer.EndArray().Key("strategies").BeginArray();
  for (const StrategyCalibration& entry : calibration.strategies) {
    writer.BeginObject().Key("strategy").String(ToString(entry.strategy));
    writer.Key("link_share").Number(entry.software.link_share);
    writer.Key("adam_speed").Number(entry.software.adam_speed);
    writer.Key("process_bytes").Unsigned(entry.software.process_bytes);
    writer.Key("batch_share").Number(entry.batch_share);
    writer.Key("batch_reserve_bytes").Number(entry.batch_reserve_bytes);
    writer.Key("batch_logit_bytes").Number(entry.batch_logit_bytes);
    WriteRows(writer, entry.fitted_on);
    writer.EndObject();
  }
  writer.EndArray().EndObject();
  return std::move(writer).Finish();
}

}  // namespace horizon

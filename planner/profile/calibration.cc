#include "planner/profile/calibration.h"

#include <algorithm>
#include <functional>
#include <utility>

#include "common/check.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "planner/machines/machine_catalog.h"
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

absl::Status ReadMachine(const Document& document, const Value& value, const std::string& path,
                         Calibration& calibration) {
  MachineCalibration& machine = calibration.machines.emplace_back();
  ObjectReader reader(document, value, path);
  reader.Required("machine", &machine.machine);
  ReadPositive(reader, "gemm_bf16_flops_per_second", machine.gemm_bf16_flops_per_second);
  ReadPositive(reader, "pack_bytes_per_second", machine.pack_bytes_per_second);
  ReadPositive(reader, "adam_parameters_per_second", machine.adam_parameters_per_second);
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

// Read and written for each parameter: weights and moments both ways, and a bf16 gradient.
double AdamBytes(StateFormat format) {
  const double weights = format == StateFormat::kBf16Weights ? 2 : 4;
  const double moments = static_cast<double>(MomentBytes(format, kMomentBlock)) / kMomentBlock;
  return 2 + 2 * (weights + moments);
}

Origin FittedOn(const std::vector<std::string>& rows) {
  std::string source = "fitted on ";
  for (size_t i = 0; i < rows.size(); ++i) source += StrCat(i == 0 ? "" : "; ", rows[i]);
  return {.kind = OriginKind::kFitted, .source = std::move(source)};
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
  const auto number = [&](std::string_view key, const std::optional<double>& value) {
    if (value.has_value()) writer.Key(key).Number(*value);
  };
  for (const MachineCalibration& entry : calibration.machines) {
    writer.BeginObject().Key("machine").String(entry.machine);
    number("gemm_bf16_flops_per_second", entry.gemm_bf16_flops_per_second);
    number("pack_bytes_per_second", entry.pack_bytes_per_second);
    number("adam_parameters_per_second", entry.adam_parameters_per_second);
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

HardwareProfile WithCalibration(HardwareProfile profile, const Calibration& calibration) {
  const MachineCalibration* entry = calibration.Find(profile.name);
  if (entry == nullptr) return profile;
  const Origin origin = FittedOn(entry->fitted_on);
  if (entry->gemm_bf16_flops_per_second.has_value()) {
    const double factor = *entry->gemm_bf16_flops_per_second / profile.device.gemm_bf16.Highest();
    for (Curve* curve : {&profile.device.gemm_bf16, &profile.device.attention}) {
      *curve = Scaled(std::move(*curve), factor);
      curve->origin = origin;
    }
  }
  if (entry->pack_bytes_per_second.has_value()) {
    profile.host.pack = {.points = {{1, *entry->pack_bytes_per_second}}, .origin = origin};
  }
  if (entry->adam_parameters_per_second.has_value()) {
    const Curve& published = profile.host.adam[static_cast<size_t>(StateFormat::kBf16Weights)];
    const double factor = *entry->adam_parameters_per_second / published.Highest();
    for (size_t f = 0; f < profile.host.adam.size(); ++f) {
      // The other formats scale alike, as far as DRAM can carry their bytes.
      const auto format = static_cast<StateFormat>(f);
      const double most = format == StateFormat::kBf16Weights
                              ? *entry->adam_parameters_per_second
                              : profile.host.dram.Highest() / AdamBytes(format);
      Curve& curve = profile.host.adam[f];
      curve = {.points = {{1, std::min(curve.Highest() * factor, most)}}, .origin = origin};
    }
  }
  return profile;
}

absl::StatusOr<HardwareProfile> LoadCalibratedMachine(Io& io, std::string_view name_or_file) {
  ASSIGN_OR_RETURN(const MachineEntry* const entry, FindTypedMachine(io, name_or_file));
  ASSIGN_OR_RETURN(HardwareProfile profile, LoadMachine(io, name_or_file));
  if (entry == nullptr) return profile;
  return WithCalibration(std::move(profile), BuiltInCalibration());
}

}  // namespace horizon

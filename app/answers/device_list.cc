#include "app/answers/device_list.h"

#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"
#include "common/units.h"
#include "simulator/machine_facts.h"

namespace horizon {
namespace {

// One device as CUDA, NVML or both know it.
struct Row {
  std::string id;  // "cuda:0", or "gpu 0" for one that only the driver knows
  std::string name;
  std::string bus_id;
  std::optional<Bytes> memory_bytes;
  std::optional<std::pair<int, int>> capability;
  absl::Status usable;
  bool has_bf16_tensor_cores = true;
  const NvmlDevice* nvml = nullptr;
};

const NvmlDevice* FindPlace(const DeviceList& list, const std::string& bus_id) {
  if (!list.nvml.ok()) return nullptr;
  for (const absl::StatusOr<NvmlDevice>& device : list.nvml->devices) {
    if (device.ok() && SameBusId(device->bus_id, bus_id)) return &*device;
  }
  return nullptr;
}

// CUDA's devices; where CUDA has none, those the driver tells of, with CUDA's reason.
std::vector<Row> Rows(const DeviceList& list) {
  std::vector<Row> rows;
  for (const CudaDeviceFacts& facts : list.cuda.devices) {
    rows.push_back({.id = StrCat("cuda:", facts.index),
                    .name = facts.name,
                    .bus_id = facts.bus_id,
                    .memory_bytes = facts.memory_bytes,
                    .capability = std::pair(facts.major, facts.minor),
                    .usable = facts.usable,
                    .has_bf16_tensor_cores = HasBf16TensorCores(facts),
                    .nvml = FindPlace(list, facts.bus_id)});
  }
  if (!rows.empty() || !list.nvml.ok()) return rows;
  for (size_t i = 0; i < list.nvml->devices.size(); ++i) {
    const absl::StatusOr<NvmlDevice>& device = list.nvml->devices[i];
    Row row{.id = StrCat("gpu ", i), .usable = list.cuda.usable};
    if (device.ok()) {
      row.name = device->name;
      row.bus_id = device->bus_id;
      row.memory_bytes = device->memory_bytes;
      row.nvml = &*device;
    } else {
      row.usable = device.status();
    }
    rows.push_back(std::move(row));
  }
  return rows;
}

std::string LinkText(const std::optional<PcieLink>& link) {
  return link ? PcieText(link->generation, link->width) : "?";
}

std::string SizeText(std::optional<Bytes> bytes) { return bytes ? ToString(*bytes) : "?"; }

// What is wrong with the link, or nothing.
std::string LinkNote(const Row& row) {
  if (row.nvml == nullptr || !row.nvml->link_now || !row.nvml->link_most) return "";
  const PcieLink& now = *row.nvml->link_now;
  const PcieLink& most = *row.nvml->link_most;
  const std::string problem = LinkProblem({.generation = now.generation,
                                           .width = now.width,
                                           .best_generation = most.generation,
                                           .best_width = most.width});
  return problem.empty() ? "" : StrCat(row.id, ": ", problem);
}

std::vector<std::string> Notes(const DeviceList& list, const std::vector<Row>& rows) {
  std::vector<std::string> notes;
  if (list.host.cores < list.host.hardware_threads) {
    notes.push_back(
        StrCat("host: ", list.host.cores, list.host.cores == 1 ? " core" : " cores",
               " can be used: ", CoresText(AllowanceOf(list.host), list.host.hardware_threads)));
  }
  if (list.host.memory_limit() && *list.host.memory_limit() < list.host.total_memory) {
    notes.push_back(StrCat("host: a limit of this process allows ",
                           ToString(*list.host.memory_limit()), " of memory"));
  }
  for (const Row& row : rows) {
    if (!row.usable.ok()) {
      notes.push_back(StrCat(row.id, ": not used: ", row.usable.message()));
    } else if (!row.has_bf16_tensor_cores) {
      notes.push_back(StrCat(row.id, ": ", kNoBf16TensorCores));
    }
    if (std::string note = LinkNote(row); !note.empty()) notes.push_back(std::move(note));
  }
  if (rows.empty()) notes.push_back(StrCat("cuda: not used: ", list.cuda.usable.message()));
  if (!list.nvml.ok()) notes.push_back(StrCat("NVML: ", list.nvml.status().message()));
  return notes;
}

std::string DriverText(const DeviceList& list) {
  std::string text;
  if (list.nvml.ok() && !list.nvml->driver_version.empty()) {
    text = StrCat("driver ", list.nvml->driver_version);
  }
  if (list.cuda.in_build) {
    text += StrCat(text.empty() ? "" : ", ", "built with CUDA ",
                   CudaVersionText(list.cuda.runtime_version));
    if (list.cuda.driver_version > 0) {
      text += StrCat(", the driver serves ", CudaVersionText(list.cuda.driver_version));
    }
  }
  return text.empty() ? "" : StrCat(text, "\n");
}

void WriteLink(JsonWriter& json, const std::optional<PcieLink>& link) {
  if (!link) {
    json.Null();
    return;
  }
  json.BeginObject();
  json.Key("generation").Unsigned(link->generation);
  json.Key("width").Unsigned(link->width);
  json.EndObject();
}

template <typename T>
void WriteNumber(JsonWriter& json, const char* key, const std::optional<T>& number) {
  json.Key(key);
  if (!number) {
    json.Null();
  } else if constexpr (std::is_integral_v<T> || std::is_same_v<T, Bytes>) {
    json.Unsigned(*number);
  } else {
    json.Number(*number);
  }
}

void WriteRow(JsonWriter& json, const Row& row) {
  static const NvmlDevice kUnknown;
  const NvmlDevice& nvml = row.nvml == nullptr ? kUnknown : *row.nvml;
  json.BeginObject();
  json.Key("device").String(row.id);
  json.Key("name").String(row.name);
  json.Key("bus_id").String(row.bus_id);
  json.Key("usable").Bool(row.usable.ok());
  json.Key("reason").String(std::string(row.usable.message()));
  WriteNumber(json, "memory_bytes", row.memory_bytes);
  WriteNumber(json, "free_bytes", nvml.free_bytes);
  json.Key("compute_capability");
  if (row.capability) {
    json.String(StrCat(row.capability->first, ".", row.capability->second));
  } else {
    json.Null();
  }
  json.Key("link_now");
  WriteLink(json, nvml.link_now);
  json.Key("link_most");
  WriteLink(json, nvml.link_most);
  WriteNumber(json, "to_device_bytes_per_second", nvml.to_device_bytes_per_second);
  WriteNumber(json, "to_host_bytes_per_second", nvml.to_host_bytes_per_second);
  WriteNumber(json, "clock_mhz", nvml.clock_mhz);
  WriteNumber(json, "clock_most_mhz", nvml.clock_most_mhz);
  WriteNumber(json, "power_watts", nvml.power_watts);
  WriteNumber(json, "temperature_celsius", nvml.temperature_celsius);
  WriteNumber(json, "processes", nvml.processes);
  json.EndObject();
}

}  // namespace

absl::StatusOr<NvmlSurvey> SurveyNvml(const std::string& library) {
  ASSIGN_OR_RETURN(const std::unique_ptr<Nvml> nvml, Nvml::Open(library));
  NvmlSurvey survey{.driver_version = nvml->driver_version()};
  ASSIGN_OR_RETURN(const int count, nvml->CountDevices());
  for (int i = 0; i < count; ++i) survey.devices.push_back(nvml->Read(i));
  return survey;
}

std::string DeviceListText(const DeviceList& list) {
  const std::vector<Row> rows = Rows(list);
  TextTable table({"device", "name", "memory", "link now", "link at most"});
  table.AddRow({"host",
                StrCat(list.host.processor.empty() ? "processor" : list.host.processor, ", ",
                       list.host.cores, list.host.cores == 1 ? " core" : " cores"),
                ToString(list.host.total_memory), "-", "-"});
  for (const Row& row : rows) {
    const std::optional<PcieLink> unknown;
    table.AddRow({row.id, row.name.empty() ? "?" : row.name, SizeText(row.memory_bytes),
                  LinkText(row.nvml == nullptr ? unknown : row.nvml->link_now),
                  LinkText(row.nvml == nullptr ? unknown : row.nvml->link_most)});
  }
  std::string text = StrCat(std::move(table).Finish(), "\n", DriverText(list));
  for (const std::string& note : Notes(list, rows)) text += StrCat(note, "\n");
  return text;
}

std::string DeviceListJson(const DeviceList& list) {
  const std::vector<Row> rows = Rows(list);
  JsonWriter json;
  json.BeginObject();
  json.Key("host").BeginObject();
  json.Key("name").String(list.host.processor);
  json.Key("memory_bytes").Unsigned(list.host.total_memory.value());
  json.Key("cores").Integer(list.host.cores);
  json.EndObject();
  json.Key("driver_version").String(list.nvml.ok() ? list.nvml->driver_version : "");
  json.Key("cuda_in_build").Bool(list.cuda.in_build);
  json.Key("cuda_version_of_build").Integer(list.cuda.runtime_version);
  json.Key("cuda_version_of_driver").Integer(list.cuda.driver_version);
  json.Key("devices").BeginArray();
  for (const Row& row : rows) WriteRow(json, row);
  json.EndArray();
  json.Key("notes").BeginArray();
  for (const std::string& note : Notes(list, rows)) json.String(note);
  json.EndArray().EndObject();
  return std::move(json).Finish();
}

}  // namespace horizon

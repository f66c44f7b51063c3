#include "report/run_prediction.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "common/documents/document.h"
#include "common/documents/json.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr Bytes kMostBytes = Bytes(uint64_t{1} << 60);

// A number that is finite and not negative.
void ReadAmount(ObjectReader& reader, std::string_view key, double& amount) {
  reader.Required(key, &amount);
  if (reader.ok() && (!std::isfinite(amount) || amount < 0)) {
    reader.Fail(key, "needs a number of zero or more");
  }
}

template <HasWords E>
void ReadWord(ObjectReader& reader, std::string_view key, E& value) {
  std::string word;
  reader.Required(key, &word);
  if (!reader.ok()) return;
  const absl::StatusOr<E> parsed = ParseWord<E>(word);
  if (!parsed.ok()) return reader.Fail(key, std::string(parsed.status().message()));
  value = *parsed;
}

absl::Status ReadLanes(const Document& document, ObjectReader& fields, Prediction& prediction) {
  const Value* value = fields.Take("lanes");
  if (value == nullptr) fields.Fail("lanes", "required and missing");
  if (!fields.ok()) return absl::OkStatus();
  ObjectReader lanes(document, *value, "lanes");
  for (const EnumWord<Lane>& lane : WordsOf(Lane{})) {
    ReadAmount(lanes, lane.word, prediction.busy_share[static_cast<size_t>(lane.value)]);
  }
  return lanes.Finish();
}

absl::Status ReadSoftware(const Document& document, ObjectReader& fields, Software& software) {
  const Value* value = fields.Take("software");
  if (value == nullptr) fields.Fail("software", "required and missing");
  if (!fields.ok()) return absl::OkStatus();
  ObjectReader reader(document, *value, "software");
  ReadAmount(reader, "link_share", software.link_share);
  // Older runs do not have these two.
  for (const auto& [key, speed] : {std::pair{"gemm_speed", &software.gemm_speed},
                                   std::pair{"pack_speed", &software.pack_speed}}) {
    if (value->Find(key) == nullptr) continue;
    ReadAmount(reader, key, *speed);
    if (reader.ok() && *speed == 0) reader.Fail(key, "needs a number above zero");
  }
  ReadAmount(reader, "adam_speed", software.adam_speed);
  reader.Required("process_bytes", &software.process_bytes);
  return reader.Finish();
}

// Calls `body` with a reader for each object of the array `key`.
template <typename Body>
absl::Status ForEach(const Document& document, ObjectReader& fields, std::string_view key,
                     Body body) {
  const Value* value = fields.Take(key);
  if (!fields.ok()) return absl::OkStatus();
  const auto* elements = value == nullptr ? nullptr : value->As<Value::Array>();
  if (elements == nullptr) {
    fields.Fail(key, "needs an array");
    return absl::OkStatus();
  }
  for (size_t i = 0; i < elements->size(); ++i) {
    ObjectReader one(document, (*elements)[i], StrCat(key, "[", i, "]"));
    body(one);
    RETURN_IF_ERROR(one.Finish());
  }
  return absl::OkStatus();
}

}  // namespace

RunPrediction MakeRunPrediction(const Prediction& prediction, const HardwareProfile& profile,
                                const Software& software, Bytes arena_bytes) {
  RunPrediction run{.prediction = prediction,
                    .arena_bytes = arena_bytes,
                    .usable_host_bytes = Available(profile, Limit::kHostMemory, 0),
                    .device_memory_bytes = Available(profile, Limit::kDeviceMemory, 0),
                    .software = software};
  run.prediction.stalls.resize(std::min(run.prediction.stalls.size(), kKeptStalls));
  for (const RunLimit& limit : prediction.limits) run.limits.push_back(ToString(limit));
  return run;
}

std::string WriteRunPrediction(const RunPrediction& run) {
  const Prediction& prediction = run.prediction;
  JsonWriter json;
  json.BeginObject();
  json.Key("step_seconds").Number(prediction.step_seconds);
  json.Key("tokens_per_second").Number(prediction.tokens_per_second);
  json.Key("model_tflops").Number(prediction.model_tflops);
  json.Key("operations").Integer(prediction.operations);
  json.Key("host_bytes").Unsigned(prediction.memory.host_bytes());
  json.Key("pinned_bytes").Unsigned(prediction.memory.pinned_bytes());
  json.Key("device_bytes").Unsigned(prediction.memory.device_bytes());
  json.Key("arena_bytes").Unsigned(run.arena_bytes);
  json.Key("usable_host_bytes").Unsigned(run.usable_host_bytes);
  json.Key("device_memory_bytes").Unsigned(run.device_memory_bytes);
  json.Key("limits").BeginArray();
  for (const std::string& limit : run.limits) json.String(limit);
  json.EndArray().Key("lanes").BeginObject();
  for (const EnumWord<Lane>& lane : WordsOf(Lane{})) {
    json.Key(lane.word).Number(prediction.busy_share[static_cast<size_t>(lane.value)]);
  }
  json.EndObject().Key("stalls").BeginArray();
  for (const Stall& stall : prediction.stalls) {
    json.BeginObject().Key("lane").String(ToString(stall.lane));
    json.Key("awaited").String(ToString(stall.awaited));
    json.Key("awaited_lane").String(ToString(stall.awaited_lane));
    json.Key("seconds").Number(static_cast<double>(stall.nanoseconds) * 1e-9).EndObject();
  }
  json.EndArray().Key("memory").BeginArray();
  for (const MemoryItem& item : prediction.memory.items) {
    json.BeginObject().Key("memory").String(ToString(item.memory));
    json.Key("what").String(item.name).Key("count").Integer(item.count);
    json.Key("bytes").Unsigned(item.bytes).EndObject();
  }
  json.EndArray().Key("software").BeginObject();
  json.Key("link_share").Number(run.software.link_share);
  json.Key("gemm_speed").Number(run.software.gemm_speed);
  json.Key("pack_speed").Number(run.software.pack_speed);
  json.Key("adam_speed").Number(run.software.adam_speed);
  json.Key("process_bytes").Unsigned(run.software.process_bytes).EndObject();
  json.EndObject();
  return std::move(json).Finish();
}

absl::StatusOr<RunPrediction> ReadRunPrediction(const std::string& file, std::string_view text) {
  ASSIGN_OR_RETURN(const Document document, ParseJson(file, text));
  RunPrediction run;
  Prediction& prediction = run.prediction;
  ObjectReader fields(document, document.root);
  ReadAmount(fields, "step_seconds", prediction.step_seconds);
  ReadAmount(fields, "tokens_per_second", prediction.tokens_per_second);
  ReadAmount(fields, "model_tflops", prediction.model_tflops);
  fields.Required("operations", &prediction.operations);
  if (fields.ok() && prediction.operations < 0) fields.Fail("operations", "is negative");
  fields.Required("arena_bytes", &run.arena_bytes);
  fields.Required("usable_host_bytes", &run.usable_host_bytes);
  fields.Required("device_memory_bytes", &run.device_memory_bytes);
  fields.Required("limits", &run.limits);
  // Sums of what `memory` lists.
  fields.Ignore({"host_bytes", "pinned_bytes", "device_bytes"});
  RETURN_IF_ERROR(ReadLanes(document, fields, prediction));
  RETURN_IF_ERROR(ForEach(document, fields, "stalls", [&](ObjectReader& one) {
    Stall stall;
    double seconds = 0;
    ReadWord(one, "lane", stall.lane);
    ReadWord(one, "awaited", stall.awaited);
    ReadWord(one, "awaited_lane", stall.awaited_lane);
    ReadAmount(one, "seconds", seconds);
    if (one.ok() && seconds > 1e9) one.Fail("seconds", "is longer than a step can be");
    if (one.ok()) stall.nanoseconds = std::llround(seconds * 1e9);
    prediction.stalls.push_back(stall);
  }));
  RETURN_IF_ERROR(ForEach(document, fields, "memory", [&](ObjectReader& one) {
    MemoryItem item;
    ReadWord(one, "memory", item.memory);
    one.Required("what", &item.name);
    one.Required("count", &item.count);
    one.Required("bytes", &item.bytes);
    Bytes& total = prediction.memory.totals[static_cast<size_t>(item.memory)];
    if (one.ok() && item.bytes > kMostBytes - total) one.Fail("bytes", "is beyond any machine");
    if (one.ok()) total += item.bytes;
    prediction.memory.items.push_back(std::move(item));
  }));
  RETURN_IF_ERROR(ReadSoftware(document, fields, run.software));
  RETURN_IF_ERROR(fields.Finish());
  return run;
}

absl::StatusOr<RunPrediction> LoadRunPrediction(Io& io, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(io, path, 1_MiB));
  return ReadRunPrediction(path, text);
}

}  // namespace horizon

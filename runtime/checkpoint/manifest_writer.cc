#include <string>
#include <utility>

#include "common/crc32c.h"
#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/manifest_text.h"

namespace horizon {
namespace {

template <typename Fill>
std::string OneLine(Fill fill) {
  JsonWriter json(JsonWriter::Style::kOneLine);
  fill(json);
  return std::move(json).Finish();
}

void WriteLoss(std::string_view key, const std::optional<double>& loss, JsonWriter& json) {
  json.Key(key);
  if (loss.has_value()) {
    json.Number(*loss);
  } else {
    json.Null();
  }
}

std::string DataLine(const CheckpointFacts& facts) {
  return OneLine([&](JsonWriter& json) {
    json.BeginObject().Key("fingerprint").String(facts.data_fingerprint);
    json.Key("epoch").Integer(facts.data_position.epoch);
    json.Key("index").Integer(facts.data_position.index).EndObject();
  });
}

std::string CountersLine(const RunCounters& counters) {
  return OneLine([&](JsonWriter& json) {
    json.BeginObject().Key("skipped_steps").Integer(counters.skipped_steps);
    json.Key("tokens").Integer(counters.tokens);
    if (counters.trained_tokens.has_value()) {
      json.Key("trained_tokens").Integer(*counters.trained_tokens);
    }
    WriteLoss("first_loss", counters.first_loss, json);
    WriteLoss("best_loss", counters.best_loss, json);
    WriteLoss("last_loss", counters.last_loss, json);
    json.EndObject();
  });
}

std::string FileLine(const FileRecord& file) {
  return OneLine([&](JsonWriter& json) {
    json.BeginArray().String(file.name).Unsigned(file.bytes).Unsigned(file.head_bytes);
    json.String(Crc32cText(file.crc32c)).EndArray();
  });
}

std::string TensorLine(const TensorRecord& tensor) {
  return OneLine([&](JsonWriter& json) {
    json.BeginArray().String(tensor.name).String(ToString(tensor.part));
    json.String(ToString(tensor.dtype)).BeginArray();
    for (const int64_t dimension : tensor.shape) json.Integer(dimension);
    json.EndArray().Unsigned(tensor.file).Unsigned(tensor.offset).Unsigned(tensor.bytes);
    json.String(Crc32cText(tensor.crc32c)).Integer(tensor.step).EndArray();
  });
}

std::string FrozenLine(const FrozenTensor& tensor) {
  return OneLine([&](JsonWriter& json) {
    json.BeginArray().String(tensor.name).String(Crc32cText(tensor.crc32c)).EndArray();
  });
}

// One row a line: a manifest can be read, searched and compared by people too.
template <typename Records, typename Line>
void AppendRows(std::string_view key, const Records& records, Line line, std::string& text) {
  text += StrCat("\"", key, "\": [");
  std::string_view separator = "\n";
  for (const auto& record : records) {
    text += StrCat(separator, line(record));
    separator = ",\n";
  }
  text += "],\n";
}

}  // namespace

std::string WriteManifest(const Manifest& manifest) {
  const CheckpointFacts& facts = manifest.facts;
  std::string text = StrCat("{\n\"version\": ", kManifestVersion, ",\n");
  text += StrCat("\"step\": ", manifest.step, ",\n");
  text += StrCat("\"mode\": \"", ToString(manifest.mode), "\",\n");
  text += StrCat("\"job\": ", OneLine([&](JsonWriter& json) { WriteJob(facts.job, json); }), ",\n");
  text +=
      StrCat("\"plan\": ", OneLine([&](JsonWriter& json) { WritePlan(facts.plan, json); }), ",\n");
  text += StrCat("\"model_fingerprint\": ",
                 OneLine([&](JsonWriter& json) { json.String(facts.model_fingerprint); }), ",\n");
  text += StrCat("\"data\": ", DataLine(facts), ",\n");
  text += StrCat("\"generator_key\": ", facts.generator_key, ",\n");
  text += StrCat("\"counters\": ", CountersLine(facts.counters), ",\n");
  text += StrCat("\"metrics_lines\": ", facts.metrics_lines, ",\n");
  AppendRows("frozen", facts.frozen, FrozenLine, text);
  AppendRows("files", manifest.files, FileLine, text);
  AppendRows("tensors", manifest.tensors, TensorLine, text);
  return StrCat(text, ManifestLastLine(text));
}

std::string ManifestLastLine(std::string_view lines_before) {
  return StrCat("\"crc32c\": \"", Crc32cText(Crc32c(std::as_bytes(std::span(lines_before)))),
                "\"}\n");
}

}  // namespace horizon

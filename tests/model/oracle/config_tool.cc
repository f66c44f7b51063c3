// What model/ makes of config.json files, for check_configs.py beside it to compare with.
//   config_tool SEQUENCE < CONFIGS    one config a line in, one JSON line for each out
// Rotary frequencies and query scales are those of a job with sequences of SEQUENCE tokens.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <string>
#include <utility>

#include "common/documents/json.h"
#include "model/read_config.h"
#include "model/rotary_frequencies.h"
#include "model/stages.h"

namespace horizon {
namespace {

void WriteLayer(const ModelSpec& spec, const LayerSpec& layer, int64_t sequence, JsonWriter& line) {
  line.BeginObject().Key("window").Integer(layer.sliding_window);
  line.Key("experts").Bool(layer.has_experts).Key("frequencies").BeginArray();
  float factor = 1.0F;
  float query_scale = 1.0F;
  if (layer.rope != kNoRotary) {
    const RopeSpec& rope = spec.ropes[static_cast<size_t>(layer.rope)];
    const RotaryFrequencies rotary = FrequenciesOf(rope, spec.RotaryDimOf(rope), sequence);
    for (const float frequency : rotary.frequencies) line.Number(frequency);
    factor = rotary.factor;
    query_scale = QueryScaleOf(rope, sequence - 1);
  }
  line.EndArray().Key("factor").Number(factor).Key("query_scale").Number(query_scale).EndObject();
}

std::string Answer(const std::string& text, int64_t sequence) {
  JsonWriter line(JsonWriter::Style::kOneLine);
  line.BeginObject();
  const absl::StatusOr<Document> document = ParseJson("config.json", text);
  const absl::StatusOr<ModelConfig> config =
      document.ok() ? ReadConfig(*document, "oracle") : document.status();
  if (!config.ok()) {
    line.Key("error").String(std::string(config.status().message())).EndObject();
    return std::move(line).Finish();
  }
  const ModelSpec& spec = config->spec;
  line.Key("family").String(spec.family).Key("wrapper").String(spec.wrapper);
  line.Key("tied").Bool(spec.tied).Key("norm_epsilon").Number(spec.norm_epsilon);
  line.Key("attention_scale").Number(spec.attention_scale).Key("head_dim").Integer(spec.head_dim);
  line.Key("embedding_multiplier").Number(spec.embedding_multiplier);
  line.Key("residual_multiplier").Number(spec.residual_multiplier);
  line.Key("logit_multiplier").Number(spec.logit_multiplier);
  line.Key("padding_token").Integer(spec.padding_token).Key("ignored").BeginArray();
  for (const std::string& key : config->ignored_keys) line.String(key);
  line.EndArray().Key("tensors").BeginObject();
  for (const Stage& stage : ListStages(spec)) {
    for (const TensorSpec& tensor : stage.tensors) {
      line.Key(tensor.name).BeginArray();
      for (const int64_t length : tensor.shape) line.Integer(length);
      line.EndArray();
    }
  }
  line.EndObject().Key("layers").BeginArray();
  for (const LayerSpec& layer : spec.layers) WriteLayer(spec, layer, sequence, line);
  line.EndArray().EndObject();
  return std::move(line).Finish();
}

}  // namespace
}  // namespace horizon

int main(int argc, char** argv) {
  if (argc != 2) return std::fputs("usage: config_tool SEQUENCE < CONFIGS\n", stderr), 2;
  std::string text;
  while (std::getline(std::cin, text)) {
    std::puts(horizon::Answer(text, std::atoll(argv[1])).c_str());
  }
  return 0;
}

#include "model/model_report.h"

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

#include "common/checked.h"
#include "common/documents/json.h"
#include "common/text/str_cat.h"
#include "common/text/text_table.h"
#include "common/units.h"
#include "model/stage_memory.h"
#include "model/stages.h"

namespace horizon {
namespace {

constexpr Bytes kBf16Bytes = 2_B;

// Everything the report says of one stage. A count that does not fit is all ones.
struct StageFigures {
  uint64_t parameters = 0;
  uint64_t active_parameters = 0;
  Bytes bytes;
  CheckedU64 forward_flops;
  CheckedU64 backward_flops;
  Bytes kept_bytes;
  Bytes recomputed_bytes;
  Bytes transient_bytes;
  friend bool operator==(const StageFigures&, const StageFigures&) = default;
};

StageFigures FiguresOf(const ModelSpec& spec, const Stage& stage, TokenBatch tokens) {
  const UnitRange all{0, stage.units};
  return {.parameters = stage.parameters,
          .active_parameters = stage.active_parameters,
          .bytes = kBf16Bytes * stage.parameters,
          .forward_flops = ForwardWork(spec, stage, all, tokens).flops,
          .backward_flops = BackwardWork(spec, stage, all, tokens).flops,
          .kept_bytes = KeptActivationBytes(spec, stage.kind, tokens, kBf16Bytes),
          .recomputed_bytes = KeptActivationBytes(spec, stage.kind, tokens, kBf16Bytes) -
                              InputBytes(spec, stage.kind, tokens, kBf16Bytes),
          .transient_bytes =
              WorkspaceBytes(spec, stage.kind, tokens, kBf16Bytes, PassesOver::kTraining)};
}

// Sums; of the scratch the largest, since one stage runs at a time.
void Add(StageFigures& total, const StageFigures& stage) {
  total.parameters += stage.parameters;
  total.active_parameters += stage.active_parameters;
  total.bytes += stage.bytes;
  total.forward_flops += stage.forward_flops;
  total.backward_flops += stage.backward_flops;
  total.kept_bytes += stage.kept_bytes;
  total.recomputed_bytes += stage.recomputed_bytes;
  total.transient_bytes = std::max(total.transient_bytes, stage.transient_bytes);
}

// Stages of one kind with equal figures.
struct StageGroup {
  StageKind kind;
  std::vector<int64_t> layers;  // empty outside the layers
  StageFigures figures;
};

std::vector<StageGroup> GroupsOf(const std::vector<Stage>& stages,
                                 const std::vector<StageFigures>& figures) {
  std::vector<StageGroup> groups;
  for (size_t i = 0; i < stages.size(); ++i) {
    const auto same = std::find_if(groups.begin(), groups.end(), [&](const StageGroup& group) {
      return group.kind == stages[i].kind && group.figures == figures[i];
    });
    StageGroup& group = same != groups.end()
                            ? *same
                            : groups.emplace_back(StageGroup{stages[i].kind, {}, figures[i]});
    if (stages[i].layer >= 0) group.layers.push_back(stages[i].layer);
  }
  return groups;
}

// "_3", "_0..27", "_0,2..34" (every second), "_0,5,6.." (no pattern, more follow), "" for no
// layers.
std::string LayersText(const std::vector<int64_t>& layers) {
  if (layers.empty()) return "";
  if (layers.size() == 1) return StrCat("_", layers[0]);
  const int64_t step = layers[1] - layers[0];
  for (size_t i = 2; i < layers.size(); ++i) {
    if (layers[i] - layers[i - 1] != step) {
      return StrCat("_", layers[0], ",", layers[1], ",", layers[2], layers.size() > 3 ? ".." : "");
    }
  }
  if (step == 1) return StrCat("_", layers[0], "..", layers.back());
  if (layers.size() == 2) return StrCat("_", layers[0], ",", layers[1]);
  return StrCat("_", layers[0], ",", layers[1], "..", layers.back());
}

std::vector<std::string> Row(std::string name, uint64_t count, const StageFigures& figures) {
  return {std::move(name),
          StrCat(count),
          WithCommas(figures.parameters),
          WithCommas(figures.active_parameters),
          ToString(figures.bytes),
          FlopsText(figures.forward_flops),
          FlopsText(figures.backward_flops),
          ToString(figures.kept_bytes),
          ToString(figures.recomputed_bytes),
          ToString(figures.transient_bytes)};
}

std::string ShapeText(const ModelSpec& spec) {
  std::string text =
      StrCat(spec.layer_count(), " layers, hidden ", spec.hidden, ", ", spec.heads, " heads of ",
             spec.head_dim, " (", spec.kv_heads, " for keys and values)");
  if (spec.intermediate > 0) text += StrCat(", intermediate ", spec.intermediate);
  if (spec.experts.experts > 0) {
    text += StrCat(", ", spec.experts.experts, " experts of ", spec.experts.intermediate, " (",
                   spec.experts.experts_per_token, " a token)");
  }
  return StrCat(text, ", vocabulary ", spec.vocab, spec.tied ? ", tied head" : "");
}

std::string WindowText(const ModelSpec& spec) {
  int64_t sliding = 0;
  int64_t window = 0;
  for (const LayerSpec& layer : spec.layers) {
    sliding += layer.sliding_window > 0 ? 1 : 0;
    window = std::max(window, layer.sliding_window);
  }
  if (sliding == 0) return "";
  return StrCat("sliding window of ", window, " tokens in ", sliding, " of ", spec.layer_count(),
                " layers\n");
}

// A number that does not fit is null.
void WriteCount(JsonWriter& json, std::string_view key, CheckedU64 count) {
  json.Key(key);
  if (count.ok()) {
    json.Unsigned(count.value());
  } else {
    json.Null();
  }
}

void WriteFigures(JsonWriter& json, const StageFigures& figures) {
  json.Key("parameters").Unsigned(figures.parameters);
  json.Key("active_parameters").Unsigned(figures.active_parameters);
  WriteCount(json, "bytes", figures.bytes.count());
  WriteCount(json, "forward_flops", figures.forward_flops);
  WriteCount(json, "backward_flops", figures.backward_flops);
  json.Key("activation_bytes").BeginObject();
  WriteCount(json, "kept", figures.kept_bytes.count());
  WriteCount(json, "recomputed", figures.recomputed_bytes.count());
  WriteCount(json, "transient", figures.transient_bytes.count());
  json.EndObject();
}

void WriteRope(JsonWriter& json, const ModelSpec& spec, const RopeSpec& rope) {
  json.Key("kind").String(ToString(rope.kind));
  json.Key("theta").Number(rope.theta);
  json.Key("factor").Number(rope.factor);
  json.Key("rotary_dim").Integer(spec.RotaryDimOf(rope));
}

void WriteShape(JsonWriter& json, const ModelSpec& spec) {
  json.Key("layers").Integer(spec.layer_count());
  json.Key("hidden").Integer(spec.hidden);
  json.Key("intermediate").Integer(spec.intermediate);
  json.Key("heads").Integer(spec.heads);
  json.Key("kv_heads").Integer(spec.kv_heads);
  json.Key("head_dim").Integer(spec.head_dim);
  json.Key("vocab").Integer(spec.vocab);
  json.Key("max_positions").Integer(spec.max_positions);
  json.Key("tied").Bool(spec.tied);
  json.Key("experts").Integer(spec.experts.experts);
  json.Key("experts_per_token").Integer(spec.experts.experts_per_token);
  json.Key("expert_intermediate").Integer(spec.experts.intermediate);
  json.Key("rope").BeginObject();
  WriteRope(json, spec, spec.ropes.front());
  json.EndObject();
  json.Key("ropes").BeginArray();
  for (const RopeSpec& rope : spec.ropes) {
    json.BeginObject();
    WriteRope(json, spec, rope);
    json.EndObject();
  }
  json.EndArray();
}

void WriteTensors(JsonWriter& json, const Stage& stage) {
  json.Key("tensors").BeginArray();
  for (const TensorSpec& tensor : stage.tensors) {
    json.BeginObject();
    json.Key("name").String(tensor.name);
    if (tensor.fused.has_value()) json.Key("part_of").String(tensor.fused->name);
    json.Key("shape").BeginArray();
    for (int64_t length : tensor.shape) json.Integer(length);
    json.EndArray();
    json.EndObject();
  }
  json.EndArray();
}

void WriteStage(JsonWriter& json, const ModelSpec& spec, const Stage& stage,
                const StageFigures& figures) {
  json.BeginObject();
  json.Key("name").String(stage.name);
  json.Key("kind").String(ToString(stage.kind));
  json.Key("layer");
  if (stage.layer >= 0) {
    json.Integer(stage.layer);
  } else {
    json.Null();
  }
  if (stage.kind == StageKind::kAttention) {
    const LayerSpec& layer = spec.layers[static_cast<size_t>(stage.layer)];
    json.Key("sliding_window").Integer(layer.sliding_window);
    json.Key("rope");
    if (layer.rope == kNoRotary) {
      json.Null();
    } else {
      json.Integer(layer.rope);
    }
  }
  WriteFigures(json, figures);
  json.Key("units").Integer(stage.units);
  json.Key("unit_tile").Integer(stage.unit_tile);
  WriteTensors(json, stage);
  json.EndObject();
}

}  // namespace

std::string ModelReportText(const ModelSpec& spec, TokenBatch tokens,
                            const Quantization& quantization) {
  const std::vector<Stage> stages = ListStages(spec);
  std::vector<StageFigures> figures;
  StageFigures total;
  for (const Stage& stage : stages) {
    figures.push_back(FiguresOf(spec, stage, tokens));
    Add(total, figures.back());
  }
  TextTable table({"stage", "count", "parameters", "active", "weights", "forward", "backward",
                   "kept", "recomputed", "transient"});
  for (const StageGroup& group : GroupsOf(stages, figures)) {
    table.AddRow(Row(StrCat(ToString(group.kind), LayersText(group.layers)),
                     std::max<size_t>(1, group.layers.size()), group.figures));
  }
  table.AddRule();
  table.AddRow(Row("all", stages.size(), total));
  const std::string of = spec.wrapper.empty() ? "" : StrCat(", the text part of ", spec.wrapper);
  const std::string on_disk = quantization.method == QuantMethod::kNone
                                  ? ""
                                  : StrCat(" (on disk ", ToString(quantization), ")");
  return StrCat(
      spec.name, " (", spec.family, of, "): ", WithCommas(total.parameters), " parameters, ",
      WithCommas(total.active_parameters), " active, ", ToString(total.bytes), " as bf16", on_disk,
      "\n", ShapeText(spec), "\n", WindowText(spec), "\n", std::move(table).Finish(),
      "\nEach row is one stage of `count` equal ones, for ", tokens.batch, " x ", tokens.sequence,
      " tokens; weights and activations as bf16. Transient: the largest.\n");
}

std::string ModelReportJson(const ModelSpec& spec, TokenBatch tokens,
                            const Quantization& quantization) {
  const std::vector<Stage> stages = ListStages(spec);
  std::vector<StageFigures> figures;
  StageFigures total;
  for (const Stage& stage : stages) {
    figures.push_back(FiguresOf(spec, stage, tokens));
    Add(total, figures.back());
  }
  JsonWriter json;
  json.BeginObject();
  json.Key("name").String(spec.name);
  json.Key("family").String(spec.family);
  if (!spec.wrapper.empty()) json.Key("wrapper").String(spec.wrapper);
  json.Key("quantization").String(ToString(quantization));
  WriteFigures(json, total);
  WriteShape(json, spec);
  json.Key("batch").Integer(tokens.batch);
  json.Key("sequence").Integer(tokens.sequence);
  json.Key("stages").BeginArray();
  for (size_t i = 0; i < stages.size(); ++i) WriteStage(json, spec, stages[i], figures[i]);
  json.EndArray();
  json.EndObject();
  return std::move(json).Finish();
}

}  // namespace horizon

#include "model/stages.h"

#include <utility>

#include "common/check.h"
#include "common/str_cat.h"
#include "model/families/family.h"

namespace horizon {
namespace {

constexpr int64_t kVocabularyTile = 512;

enum class Decay { kNo, kYes };
constexpr int kWhole = -1;
constexpr int kByUnits = 0;  // the first axis counts units

// Collects the tensors of one stage under a common prefix of names and adds up its counts.
class StageBuilder {
 public:
  StageBuilder(StageKind kind, int64_t layer) {
    stage_.kind = kind;
    stage_.layer = layer;
    stage_.name = std::string(ToString(kind));
    if (layer >= 0) {
      stage_.name = StrCat(stage_.name, "_", layer);
      prefix_ = StrCat("model.layers.", layer, ".");
    }
  }

  void Units(int64_t units, int64_t tile) {
    stage_.units = units;
    stage_.unit_tile = tile;
  }

  // A tensor of which every unit has a part.
  void Split(TensorRole role, std::string_view name, std::vector<int64_t> shape, Decay decay) {
    Add({.name = StrCat(prefix_, name),
         .role = role,
         .shape = std::move(shape),
         .split_axis = kByUnits,
         .decays = decay == Decay::kYes});
  }
  void Matrix(TensorRole role, int64_t unit, std::string_view name, int64_t rows, int64_t columns,
              int64_t expert = -1) {
    Add({.name = StrCat(prefix_, name),
         .role = role,
         .shape = {rows, columns},
         .split_axis = kWhole,
         .unit = unit,
         .expert = expert,
         .decays = true});
  }
  void Vector(TensorRole role, int64_t unit, std::string_view name, int64_t length) {
    Add({.name = StrCat(prefix_, name),
         .role = role,
         .shape = {length},
         .split_axis = kWhole,
         .unit = unit});
  }

  // `active_units`: how many of the units one token touches, where they are experts.
  Stage Finish(int64_t active_units) && {
    const auto units = static_cast<uint64_t>(stage_.units);
    CHECK(split_parameters_ % units == 0 && expert_parameters_ % units == 0);
    stage_.parameters_per_unit = split_parameters_ / units;
    stage_.active_parameters = stage_.parameters - expert_parameters_ +
                               expert_parameters_ / units * static_cast<uint64_t>(active_units);
    if (split_parameters_ < stage_.parameters) {
      stage_.whole_before.assign(units + 1, 0);
      for (const TensorSpec& tensor : stage_.tensors) {
        if (tensor.split_axis != kWhole) continue;
        stage_.whole_before[static_cast<size_t>(tensor.unit) + 1] += tensor.parameters;
      }
      for (size_t i = 0; i < units; ++i) stage_.whole_before[i + 1] += stage_.whole_before[i];
    }
    return std::move(stage_);
  }
  Stage Finish() && {
    const int64_t units = stage_.units;
    return std::move(*this).Finish(units);
  }

 private:
  void Add(TensorSpec tensor) {
    tensor.parameters = 1;
    for (const int64_t length : tensor.shape) tensor.parameters *= static_cast<uint64_t>(length);
    stage_.parameters += tensor.parameters;
    if (tensor.split_axis != kWhole) split_parameters_ += tensor.parameters;
    if (tensor.split_axis != kWhole || tensor.expert >= 0) expert_parameters_ += tensor.parameters;
    stage_.tensors.push_back(std::move(tensor));
  }

  Stage stage_;
  std::string prefix_;
  uint64_t split_parameters_ = 0;
  uint64_t expert_parameters_ = 0;  // of what a stage of experts has in every unit
};

// The name of a role of the family's tensors.
std::string_view NameOf(const ModelSpec& spec, StageKind stage, TensorRole role) {
  const Family* family = FindFamily(spec.family);
  CHECK(family != nullptr);
  return family->name(stage, role);
}

Stage AttentionStage(const ModelSpec& spec, int64_t layer) {
  const int64_t query = spec.heads * spec.head_dim;
  const int64_t key = spec.kv_heads * spec.head_dim;
  StageBuilder builder(StageKind::kAttention, layer);
  builder.Units(kAttentionUnits, 1);
  using Role = TensorRole;
  const auto name = [&](Role role) { return NameOf(spec, StageKind::kAttention, role); };
  if (spec.norm_before()) builder.Vector(Role::kNorm, kQueryUnit, name(Role::kNorm), spec.hidden);
  const bool wide = spec.qk_norm == QkNorm::kFullWidth;
  builder.Matrix(Role::kQuery, kQueryUnit, "self_attn.q_proj.weight", query, spec.hidden);
  if (spec.qkv_bias) builder.Vector(Role::kQueryBias, kQueryUnit, "self_attn.q_proj.bias", query);
  if (spec.qk_norm != QkNorm::kNone) {
    builder.Vector(Role::kQueryNorm, kQueryUnit, "self_attn.q_norm.weight",
                   wide ? query : spec.head_dim);
  }
  builder.Matrix(Role::kKey, kKeyUnit, "self_attn.k_proj.weight", key, spec.hidden);
  if (spec.qkv_bias) builder.Vector(Role::kKeyBias, kKeyUnit, "self_attn.k_proj.bias", key);
  if (spec.qk_norm != QkNorm::kNone) {
    builder.Vector(Role::kKeyNorm, kKeyUnit, "self_attn.k_norm.weight", wide ? key : spec.head_dim);
  }
  builder.Matrix(Role::kValue, kValueUnit, "self_attn.v_proj.weight", key, spec.hidden);
  if (spec.qkv_bias) builder.Vector(Role::kValueBias, kValueUnit, "self_attn.v_proj.bias", key);
  builder.Matrix(Role::kOutput, kOutputUnit, "self_attn.o_proj.weight", spec.hidden, query);
  if (spec.output_bias) {
    builder.Vector(Role::kOutputBias, kOutputUnit, "self_attn.o_proj.bias", spec.hidden);
  }
  if (spec.attention_sinks) {
    builder.Vector(Role::kSinks, kOutputUnit, "self_attn.sinks", spec.heads);
  }
  if (spec.norm_after()) {
    builder.Vector(Role::kNormAfter, kOutputUnit, name(Role::kNormAfter), spec.hidden);
  }
  return std::move(builder).Finish();
}

Stage FeedForwardStage(const ModelSpec& spec, int64_t layer) {
  StageBuilder builder(StageKind::kFeedForward, layer);
  builder.Units(kFeedForwardUnits, 1);
  using Role = TensorRole;
  const int64_t width = spec.intermediate;
  const auto name = [&](Role role) { return NameOf(spec, StageKind::kFeedForward, role); };
  if (spec.norm_before()) builder.Vector(Role::kNorm, kGateUnit, name(Role::kNorm), spec.hidden);
  builder.Matrix(Role::kGate, kGateUnit, "mlp.gate_proj.weight", width, spec.hidden);
  if (spec.mlp_bias) builder.Vector(Role::kGateBias, kGateUnit, "mlp.gate_proj.bias", width);
  builder.Matrix(Role::kUp, kUpUnit, "mlp.up_proj.weight", width, spec.hidden);
  if (spec.mlp_bias) builder.Vector(Role::kUpBias, kUpUnit, "mlp.up_proj.bias", width);
  builder.Matrix(Role::kDown, kDownUnit, "mlp.down_proj.weight", spec.hidden, width);
  if (spec.mlp_bias) builder.Vector(Role::kDownBias, kDownUnit, "mlp.down_proj.bias", spec.hidden);
  if (spec.norm_after()) {
    builder.Vector(Role::kNormAfter, kDownUnit, name(Role::kNormAfter), spec.hidden);
  }
  return std::move(builder).Finish();
}

// gpt_oss: the experts of a layer lie in one tensor each, stored input-major.
void AddFusedExperts(const ModelSpec& spec, StageBuilder& builder) {
  using Role = TensorRole;
  const int64_t experts = spec.experts.experts;
  const int64_t width = spec.experts.intermediate;
  builder.Matrix(Role::kRouter, 0, "mlp.router.weight", experts, spec.hidden);
  if (spec.expert_bias) builder.Vector(Role::kRouterBias, 0, "mlp.router.bias", experts);
  builder.Split(Role::kGateUp, "mlp.experts.gate_up_proj", {experts, spec.hidden, 2 * width},
                Decay::kYes);
  builder.Split(Role::kExpertsDown, "mlp.experts.down_proj", {experts, width, spec.hidden},
                Decay::kYes);
  if (spec.expert_bias) {
    builder.Split(Role::kGateUpBias, "mlp.experts.gate_up_proj_bias", {experts, 2 * width},
                  Decay::kNo);
    builder.Split(Role::kExpertsDownBias, "mlp.experts.down_proj_bias", {experts, spec.hidden},
                  Decay::kNo);
  }
}

struct ExpertNames {
  std::string_view block, gate, up, down;
};

void AddSeparateExperts(const ModelSpec& spec, StageBuilder& builder) {
  const ExpertNames names = spec.family == "mixtral"
                                ? ExpertNames{"block_sparse_moe", "w1", "w3", "w2"}
                                : ExpertNames{"mlp", "gate_proj", "up_proj", "down_proj"};
  const int64_t width = spec.experts.intermediate;
  builder.Matrix(TensorRole::kRouter, 0, StrCat(names.block, ".gate.weight"), spec.experts.experts,
                 spec.hidden);
  for (int64_t expert = 0; expert < spec.experts.experts; ++expert) {
    const std::string prefix = StrCat(names.block, ".experts.", expert, ".");
    const auto add = [&](TensorRole role, std::string_view name, int64_t rows, int64_t columns) {
      builder.Matrix(role, expert, StrCat(prefix, name, ".weight"), rows, columns, expert);
    };
    add(TensorRole::kGate, names.gate, width, spec.hidden);
    add(TensorRole::kUp, names.up, width, spec.hidden);
    add(TensorRole::kDown, names.down, spec.hidden, width);
  }
}

Stage ExpertsStage(const ModelSpec& spec, int64_t layer) {
  StageBuilder builder(StageKind::kExperts, layer);
  builder.Units(spec.experts.experts, 1);
  const auto name = [&](TensorRole role) { return NameOf(spec, StageKind::kExperts, role); };
  if (spec.norm_before()) {
    builder.Vector(TensorRole::kNorm, 0, name(TensorRole::kNorm), spec.hidden);
  }
  if (spec.experts.fused_tensors) {
    AddFusedExperts(spec, builder);
  } else {
    AddSeparateExperts(spec, builder);
  }
  if (spec.norm_after()) {
    builder.Vector(TensorRole::kNormAfter, spec.experts.experts - 1, name(TensorRole::kNormAfter),
                   spec.hidden);
  }
  return std::move(builder).Finish(spec.experts.experts_per_token);
}

Stage VocabularyStage(const ModelSpec& spec, StageKind kind) {
  StageBuilder builder(kind, -1);
  builder.Units(spec.vocab, kVocabularyTile);
  const std::vector<int64_t> shape = {spec.vocab, spec.hidden};
  if (kind == StageKind::kEmbedding) {
    builder.Split(TensorRole::kTable, "model.embed_tokens.weight", shape, Decay::kYes);
  } else if (!spec.tied) {
    builder.Split(TensorRole::kTable, "lm_head.weight", shape, Decay::kYes);
  }
  return std::move(builder).Finish();
}

Stage FinalNormStage(const ModelSpec& spec) {
  StageBuilder builder(StageKind::kFinalNorm, -1);
  builder.Vector(TensorRole::kNorm, 0, "model.norm.weight", spec.hidden);
  return std::move(builder).Finish();
}

}  // namespace

std::string_view ToString(StageKind kind) {
  switch (kind) {
    case StageKind::kEmbedding:
      return "embedding";
    case StageKind::kAttention:
      return "attention";
    case StageKind::kFeedForward:
      return "feed_forward";
    case StageKind::kExperts:
      return "experts";
    case StageKind::kFinalNorm:
      return "final_norm";
    case StageKind::kHead:
      return "head";
  }
  return "unknown";
}

std::vector<Stage> ListStages(const ModelSpec& spec) {
  std::vector<Stage> stages;
  stages.reserve(spec.layers.size() * 2 + 3);
  stages.push_back(VocabularyStage(spec, StageKind::kEmbedding));
  for (int64_t layer = 0; layer < spec.layer_count(); ++layer) {
    stages.push_back(AttentionStage(spec, layer));
    stages.push_back(spec.layers[layer].has_experts ? ExpertsStage(spec, layer)
                                                    : FeedForwardStage(spec, layer));
  }
  stages.push_back(FinalNormStage(spec));
  stages.push_back(VocabularyStage(spec, StageKind::kHead));
  return stages;
}

uint64_t ParametersInUnits(const Stage& stage, UnitRange range) {
  CHECK(0 <= range.begin && range.begin <= range.end && range.end <= stage.units);
  uint64_t parameters = stage.parameters_per_unit * static_cast<uint64_t>(range.end - range.begin);
  if (!stage.whole_before.empty()) {
    parameters += stage.whole_before[static_cast<size_t>(range.end)] -
                  stage.whole_before[static_cast<size_t>(range.begin)];
  }
  return parameters;
}

ParameterCounts CountParameters(const std::vector<Stage>& stages) {
  ParameterCounts counts;
  for (const Stage& stage : stages) {
    counts.total += stage.parameters;
    counts.active += stage.active_parameters;
  }
  return counts;
}

}  // namespace horizon

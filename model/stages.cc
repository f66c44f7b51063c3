#include "model/stages.h"

#include <utility>

#include "common/check.h"
#include "common/str_cat.h"

namespace horizon {
namespace {

constexpr int64_t kVocabularyTile = 512;
constexpr int64_t kIntermediateTile = 128;

enum class Decay { kNo, kYes };
constexpr int kWhole = -1;

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

  void Add(std::string_view name, std::vector<int64_t> shape, int split_axis, Decay decay,
           int64_t expert = -1) {
    TensorSpec tensor;
    tensor.name = StrCat(prefix_, name);
    tensor.shape = std::move(shape);
    tensor.split_axis = split_axis;
    tensor.expert = expert;
    tensor.decays = decay == Decay::kYes;
    tensor.parameters = 1;
    for (int64_t length : tensor.shape) tensor.parameters *= static_cast<uint64_t>(length);
    stage_.parameters += tensor.parameters;
    if (split_axis != kWhole || expert >= 0) cut_parameters_ += tensor.parameters;
    stage_.tensors.push_back(std::move(tensor));
  }

  void Matrix(std::string_view name, int64_t rows, int64_t columns, int split_axis) {
    Add(name, {rows, columns}, split_axis, Decay::kYes);
  }
  void Vector(std::string_view name, int64_t length, int split_axis) {
    Add(name, {length}, split_axis, Decay::kNo);
  }

  // `active_units`: how many of the units one token touches.
  Stage Finish(int64_t active_units) && {
    stage_.parameters_per_unit = cut_parameters_ / static_cast<uint64_t>(stage_.units);
    CHECK(stage_.parameters_per_unit * static_cast<uint64_t>(stage_.units) == cut_parameters_);
    stage_.active_parameters = stage_.parameters - cut_parameters_ +
                               stage_.parameters_per_unit * static_cast<uint64_t>(active_units);
    return std::move(stage_);
  }
  Stage Finish() && {
    const int64_t units = stage_.units;
    return std::move(*this).Finish(units);
  }

 private:
  Stage stage_;
  std::string prefix_;
  uint64_t cut_parameters_ = 0;
};

Stage AttentionStage(const ModelSpec& spec, int64_t layer) {
  const int64_t query = spec.heads * spec.head_dim;
  const int64_t key = spec.kv_heads * spec.head_dim;
  StageBuilder builder(StageKind::kAttention, layer);
  builder.Units(spec.kv_heads, 1);
  builder.Vector("input_layernorm.weight", spec.hidden, kWhole);
  builder.Matrix("self_attn.q_proj.weight", query, spec.hidden, 0);
  builder.Matrix("self_attn.k_proj.weight", key, spec.hidden, 0);
  builder.Matrix("self_attn.v_proj.weight", key, spec.hidden, 0);
  builder.Matrix("self_attn.o_proj.weight", spec.hidden, query, 1);
  if (spec.qkv_bias) {
    builder.Vector("self_attn.q_proj.bias", query, 0);
    builder.Vector("self_attn.k_proj.bias", key, 0);
    builder.Vector("self_attn.v_proj.bias", key, 0);
  }
  if (spec.output_bias) builder.Vector("self_attn.o_proj.bias", spec.hidden, kWhole);
  if (spec.qk_norm) {
    builder.Vector("self_attn.q_norm.weight", spec.head_dim, kWhole);
    builder.Vector("self_attn.k_norm.weight", spec.head_dim, kWhole);
  }
  if (spec.attention_sinks) builder.Vector("self_attn.sinks", spec.heads, 0);
  return std::move(builder).Finish();
}

Stage FeedForwardStage(const ModelSpec& spec, int64_t layer) {
  StageBuilder builder(StageKind::kFeedForward, layer);
  builder.Units(spec.intermediate, kIntermediateTile);
  builder.Vector("post_attention_layernorm.weight", spec.hidden, kWhole);
  builder.Matrix("mlp.gate_proj.weight", spec.intermediate, spec.hidden, 0);
  builder.Matrix("mlp.up_proj.weight", spec.intermediate, spec.hidden, 0);
  builder.Matrix("mlp.down_proj.weight", spec.hidden, spec.intermediate, 1);
  if (spec.mlp_bias) {
    builder.Vector("mlp.gate_proj.bias", spec.intermediate, 0);
    builder.Vector("mlp.up_proj.bias", spec.intermediate, 0);
    builder.Vector("mlp.down_proj.bias", spec.hidden, kWhole);
  }
  return std::move(builder).Finish();
}

// gpt_oss: the experts of a layer lie in one tensor each, stored input-major.
void AddFusedExperts(const ModelSpec& spec, StageBuilder& builder) {
  const int64_t experts = spec.experts.experts;
  const int64_t width = spec.experts.intermediate;
  builder.Matrix("mlp.router.weight", experts, spec.hidden, kWhole);
  if (spec.expert_bias) builder.Vector("mlp.router.bias", experts, kWhole);
  builder.Add("mlp.experts.gate_up_proj", {experts, spec.hidden, 2 * width}, 0, Decay::kYes);
  builder.Add("mlp.experts.down_proj", {experts, width, spec.hidden}, 0, Decay::kYes);
  if (spec.expert_bias) {
    builder.Add("mlp.experts.gate_up_proj_bias", {experts, 2 * width}, 0, Decay::kNo);
    builder.Add("mlp.experts.down_proj_bias", {experts, spec.hidden}, 0, Decay::kNo);
  }
}

struct ExpertNames {
  std::string_view block, gate, up, down;
};

void AddSeparateExperts(const ModelSpec& spec, StageBuilder& builder) {
  const ExpertNames names = spec.family == ModelFamily::kMixtral
                                ? ExpertNames{"block_sparse_moe", "w1", "w3", "w2"}
                                : ExpertNames{"mlp", "gate_proj", "up_proj", "down_proj"};
  const int64_t width = spec.experts.intermediate;
  builder.Matrix(StrCat(names.block, ".gate.weight"), spec.experts.experts, spec.hidden, kWhole);
  for (int64_t expert = 0; expert < spec.experts.experts; ++expert) {
    const std::string prefix = StrCat(names.block, ".experts.", expert, ".");
    const auto add = [&](std::string_view name, int64_t rows, int64_t columns) {
      builder.Add(StrCat(prefix, name, ".weight"), {rows, columns}, kWhole, Decay::kYes, expert);
    };
    add(names.gate, width, spec.hidden);
    add(names.up, width, spec.hidden);
    add(names.down, spec.hidden, width);
  }
}

Stage ExpertsStage(const ModelSpec& spec, int64_t layer) {
  StageBuilder builder(StageKind::kExperts, layer);
  builder.Units(spec.experts.experts, 1);
  builder.Vector("post_attention_layernorm.weight", spec.hidden, kWhole);
  if (spec.experts.fused_tensors) {
    AddFusedExperts(spec, builder);
  } else {
    AddSeparateExperts(spec, builder);
  }
  return std::move(builder).Finish(spec.experts.experts_per_token);
}

Stage VocabularyStage(const ModelSpec& spec, StageKind kind) {
  StageBuilder builder(kind, -1);
  builder.Units(spec.vocab, kVocabularyTile);
  if (kind == StageKind::kEmbedding) {
    builder.Matrix("model.embed_tokens.weight", spec.vocab, spec.hidden, 0);
  } else if (!spec.tied) {
    builder.Matrix("lm_head.weight", spec.vocab, spec.hidden, 0);
  }
  return std::move(builder).Finish();
}

Stage FinalNormStage(const ModelSpec& spec) {
  StageBuilder builder(StageKind::kFinalNorm, -1);
  builder.Vector("model.norm.weight", spec.hidden, kWhole);
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
  if (range.begin == range.end) return 0;
  const uint64_t cut = stage.parameters_per_unit * static_cast<uint64_t>(range.end - range.begin);
  if (range.begin != 0) return cut;
  return cut + stage.parameters - stage.parameters_per_unit * static_cast<uint64_t>(stage.units);
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

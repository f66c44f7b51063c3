#include "model/stages.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/text/str_cat.h"
#include "model/families/family.h"
#include "model/stages/describe.h"

namespace horizon {
namespace {

// A tensor's name on disk, as the family's namer gives it, with layer and expert filled in.
std::string FullName(std::string_view name, int64_t layer, int64_t expert) {
  std::string full = layer < 0 ? "" : StrCat("model.layers.", layer, ".");
  const size_t number = name.find('#');
  if (number == std::string_view::npos) return full.append(name);
  CHECK(expert >= 0);
  return full.append(name.substr(0, number)) + StrCat(expert).append(name.substr(number + 1));
}

// Gives the tensors of a stage their places in the tensors that hold them on disk.
void PlaceInFused(const FusedTensor& fused, Stage& stage) {
  FusedPlace whole{.name = FullName(fused.name, stage.layer, -1)};
  std::vector<TensorSpec*> parts;
  for (const TensorRole role : fused.roles) {
    const auto found = std::find_if(stage.tensors.begin(), stage.tensors.end(),
                                    [&](const TensorSpec& tensor) { return tensor.role == role; });
    if (found == stage.tensors.end()) return;  // the model has no such tensors (biases)
    parts.push_back(&*found);
  }
  whole.shape = parts.front()->shape;
  whole.shape[0] = 0;
  for (const TensorSpec* part : parts) whole.shape[0] += part->shape[0];
  for (TensorSpec* part : parts) {
    part->fused = whole;
    whole.first += part->parameters;
  }
}

// Parameters of the tensors that belong to one unit each, in the units before each unit.
template <typename Counts>
std::vector<uint64_t> WholeBefore(const Stage& stage, Counts counts) {
  const auto units = static_cast<size_t>(stage.units);
  std::vector<uint64_t> before(units + 1, 0);
  for (const TensorSpec& tensor : stage.tensors) {
    if (tensor.split_axis >= 0 || !counts(tensor)) continue;
    before[static_cast<size_t>(tensor.unit) + 1] += tensor.parameters;
  }
  for (size_t i = 0; i < units; ++i) before[i + 1] += before[i];
  return before;
}

uint64_t InUnits(UnitRange range, uint64_t per_unit, const std::vector<uint64_t>& whole_before) {
  uint64_t parameters = per_unit * static_cast<uint64_t>(range.end - range.begin);
  if (!whole_before.empty()) {
    parameters += whole_before[static_cast<size_t>(range.end)] -
                  whole_before[static_cast<size_t>(range.begin)];
  }
  return parameters;
}

// Adds up what a stage's tensors make of it.
void Count(int64_t active_units, Stage& stage) {
  const auto units = static_cast<uint64_t>(stage.units);
  uint64_t split = 0;    // of tensors that have a part in every unit
  uint64_t experts = 0;  // of all experts together
  for (const TensorSpec& tensor : stage.tensors) {
    stage.parameters += tensor.parameters;
    if (tensor.split_axis >= 0) split += tensor.parameters;
    if (tensor.split_axis >= 0 || tensor.expert >= 0) experts += tensor.parameters;
  }
  CHECK(split % units == 0 && experts % units == 0);
  stage.parameters_per_unit = split / units;
  stage.active_parameters =
      stage.parameters - experts + experts / units * static_cast<uint64_t>(active_units);
  if (split == stage.parameters) return;
  stage.whole_before = WholeBefore(stage, [](const TensorSpec&) { return true; });
}

Stage MakeStage(const ModelSpec& spec, const Family& family, StageKind kind, int64_t layer) {
  const StageUnits units = UnitsOf(spec, kind);
  Stage stage;
  stage.kind = kind;
  stage.layer = layer;
  stage.name = layer < 0 ? std::string(ToString(kind)) : StrCat(ToString(kind), "_", layer);
  stage.units = units.units;
  stage.unit_tile = units.tile;
  stage.tensors = TensorsOf(spec, kind);
  for (TensorSpec& tensor : stage.tensors) {
    const std::string_view name = family.name(kind, tensor.role);
    CHECK(!name.empty());
    tensor.name = FullName(name, layer, tensor.expert);
    tensor.parameters = 1;
    for (const int64_t length : tensor.shape) tensor.parameters *= static_cast<uint64_t>(length);
  }
  for (const FusedTensor& fused : family.fused) {
    if (fused.stage == kind) PlaceInFused(fused, stage);
  }
  Count(units.active, stage);
  CountTrained(stage);
  if (kind == StageKind::kHead && spec.tied) {
    stage.trained_roles.set(static_cast<size_t>(TensorRole::kTable));
  }
  stage.needs_input_gradient = kind != StageKind::kEmbedding;
  return stage;
}

}  // namespace

std::vector<Stage> ListStages(const ModelSpec& spec) {
  const Family* family = FindFamily(spec.family);
  CHECK(family != nullptr);
  std::vector<Stage> stages;
  stages.reserve(spec.layers.size() * 2 + 3);
  const auto add = [&](StageKind kind, int64_t layer) {
    stages.push_back(MakeStage(spec, *family, kind, layer));
  };
  add(StageKind::kEmbedding, -1);
  for (int64_t layer = 0; layer < spec.layer_count(); ++layer) {
    add(StageKind::kAttention, layer);
    add(spec.layers[static_cast<size_t>(layer)].has_experts ? StageKind::kExperts
                                                            : StageKind::kFeedForward,
        layer);
  }
  add(StageKind::kFinalNorm, -1);
  add(StageKind::kHead, -1);
  return stages;
}

uint64_t ParametersInUnits(const Stage& stage, UnitRange range) {
  CHECK(0 <= range.begin && range.begin <= range.end && range.end <= stage.units);
  return InUnits(range, stage.parameters_per_unit, stage.whole_before);
}

uint64_t TrainedInUnits(const Stage& stage, UnitRange range) {
  CHECK(0 <= range.begin && range.begin <= range.end && range.end <= stage.units);
  return InUnits(range, stage.trained_per_unit, stage.trained_whole_before);
}

void CountTrained(Stage& stage) {
  uint64_t split = 0;
  stage.trained_parameters = 0;
  stage.trained_roles.reset();
  for (const TensorSpec& tensor : stage.tensors) {
    if (!tensor.trained) continue;
    stage.trained_roles.set(static_cast<size_t>(tensor.role));
    stage.trained_parameters += tensor.parameters;
    if (tensor.split_axis >= 0) split += tensor.parameters;
  }
  stage.trained_per_unit = split / static_cast<uint64_t>(stage.units);
  stage.trained_whole_before.clear();
  if (split == stage.trained_parameters) return;
  stage.trained_whole_before =
      WholeBefore(stage, [](const TensorSpec& tensor) { return tensor.trained; });
}

BackwardDepth Stage::backward_depth() const {
  if (needs_input_gradient) return BackwardDepth::kInput;
  BackwardDepth deepest = BackwardDepth::kNone;
  for (size_t role = 0; role < trained_roles.size(); ++role) {
    if (!trained_roles.test(role)) continue;
    deepest = std::max(deepest, DepthOf(static_cast<TensorRole>(role)));
  }
  return deepest;
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

#include "model/model_spec.h"

namespace horizon {

std::string_view ToString(RopeKind kind) {
  switch (kind) {
    case RopeKind::kDefault:
      return "default";
    case RopeKind::kLinear:
      return "linear";
    case RopeKind::kLlama3:
      return "llama3";
    case RopeKind::kYarn:
      return "yarn";
    case RopeKind::kLongrope:
      return "longrope";
  }
  return "unknown";
}

std::vector<int64_t> LayersWithExperts(const ModelSpec& spec) {
  std::vector<int64_t> layers;
  for (int64_t layer = 0; layer < spec.layer_count(); ++layer) {
    if (spec.layers[static_cast<size_t>(layer)].has_experts) layers.push_back(layer);
  }
  return layers;
}

}  // namespace horizon

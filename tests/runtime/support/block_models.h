#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "model/model_spec.h"

namespace horizon {

// Tiny models (TinyShards' sizes) whose layers are made of other blocks than llama's: between them
// they have every option of ModelSpec that can be trained, alone and together, beyond what any
// family combines.
struct BlockModel {
  std::string name;
  ModelSpec spec;
  friend void PrintTo(const BlockModel& model, std::ostream* out) { *out << model.name; }
};
std::vector<BlockModel> BlockModels();
// One of llama's blocks, of the same sizes.
ModelSpec TinyPlain();

}  // namespace horizon

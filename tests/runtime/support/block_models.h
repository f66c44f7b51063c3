#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "model/model_spec.h"

namespace horizon {

// Tiny models (of TinyShards' sizes) whose transformer blocks differ from llama's. Together they
// have every option of ModelSpec that can be trained, alone and in combinations that no real family
// has.
struct BlockModel {
  std::string name;
  ModelSpec spec;
  friend void PrintTo(const BlockModel& model, std::ostream* out) { *out << model.name; }
};
std::vector<BlockModel> BlockModels();
// A model with llama's transformer blocks, of the same sizes.
ModelSpec TinyPlain();

}  // namespace horizon

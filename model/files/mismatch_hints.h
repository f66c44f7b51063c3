#pragma once

#include <string>
#include <vector>

#include "model/files/disk_tensors.h"
#include "model/files/model_files.h"
#include "model/model_spec.h"
#include "model/quantization.h"

namespace horizon {

// What may be the reason why the files of a model do not hold the tensors of its spec, as sentences
// to append to the list of differences: another number of experts than the config.json has, parts
// of mixtures of experts that we do not compute (shared experts), or quantised tensors without a
// quantization_config. Empty if nothing of this is found. `tensors` are
// what the files should hold, in their layout.
std::string MismatchHints(const ModelSpec& spec, const std::vector<DiskTensor>& tensors,
                          const Quantization& quantization, const ModelFiles& files);

}  // namespace horizon

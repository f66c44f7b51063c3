#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/documents/document.h"
#include "model/model_spec.h"
#include "model/quantization.h"

namespace horizon {

// The result of reading a Hugging Face config.json.
struct ModelConfig {
  ModelSpec spec;
  // How the weights beside the config.json are stored. Nothing but the reading of weights depends
  // on it: two folders of one model, one of them quantised, have equal specs.
  Quantization quantization;
  // Keys that horizon does not know and did not read, in file order. The caller may warn.
  std::vector<std::string> ignored_keys;
};

// Makes a ModelSpec from a parsed config.json of one of the families of model/families/, or of a
// multimodal model whose text part is one of them (wrappers.h). In the second case the family of
// the text part reads text_config: spec.family is the model_type of the text part, spec.wrapper the
// model_type of the file, and messages name text_config.KEY.
//
// A missing key takes the default of the family's class in transformers. Keys that cannot change
// the arithmetic of training (token ids, cache, data types on disk) are skipped. Returns
// InvalidArgument "FILE:LINE: KEY: ..." for an unknown model_type, a wrong type, a size out of
// range, and a setting that we do not implement: such a setting is refused by name, never ignored.
// The returned spec passes ValidateSpec. `name` becomes spec.name.
absl::StatusOr<ModelConfig> ReadConfig(const Document& document, std::string name);

}  // namespace horizon

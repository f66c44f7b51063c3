#pragma once

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/documents/document.h"
#include "model/model_spec.h"

namespace horizon {

// A ModelSpec from a Hugging Face config.json, for the families of model/families/ and for the text
// part of the multimodal models that wrap one of them (wrappers.h).
struct ModelConfig {
  ModelSpec spec;
  // Keys nobody here knows, in file order: they were not read. The caller may warn.
  std::vector<std::string> ignored_keys;
};

// Reads a parsed config.json. A wrapper's text_config is read by its own family: spec.family is the
// text part's, spec.wrapper the model_type of the file, and messages name text_config.KEY. Missing
// keys take the defaults of the family's class in transformers; keys that cannot change the
// arithmetic of training (token ids, cache, types on disk) are skipped. InvalidArgument "FILE:LINE:
// KEY: ..." for an unknown model_type, a wrong type, a size out of range, and a setting we do not
// honour: those are refused by name, never ignored. The spec is valid (ValidateSpec). `name`
// becomes spec.name.
absl::StatusOr<ModelConfig> ReadConfig(const Document& document, std::string name);

}  // namespace horizon

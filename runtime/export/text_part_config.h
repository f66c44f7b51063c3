#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "model/model_spec.h"

namespace horizon {

// Makes the config.json of the text part of a multimodal model as a model of its own. It consists
// of what `text_config` says in the whole model's config.json, the keys that `text_config` leaves
// to the whole (model_type, whether the head is tied, the tokens that begin and end a text), and
// the class with which transformers loads it. `spec` is the whole model's and has a wrapper;
// ReadConfig of the result gives the same spec without the wrapper. InvalidArgument when there is
// no such object.
absl::StatusOr<std::string> TextPartConfig(std::string_view config, const ModelSpec& spec);

}  // namespace horizon

#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "model/model_spec.h"

namespace horizon {

// The config.json of the text part of a multimodal model as a model of its own: what `text_config`
// says in the config.json of the whole, with what it leaves to the whole (model_type, whether the
// head is tied, where a text begins and ends) and the class that transformers loads it with.
// `spec` is the whole's: it has a wrapper. The spec that ReadConfig makes of the text is the same
// but for its wrapper. InvalidArgument when there is no such object.
absl::StatusOr<std::string> TextPartConfig(std::string_view config, const ModelSpec& spec);

}  // namespace horizon

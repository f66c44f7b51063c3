#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace horizon {

// Returns the text of a Hugging Face config.json for weights that are written in the number type
// `dtype` ("bfloat16", "float32"): with that type, without quantization_config, and with every
// other byte unchanged. The key is the one that the text uses, "torch_dtype" or "dtype" (both,
// where it has both); a text with neither gets a "torch_dtype" in front. Of nested objects only
// `text_config` is changed, if it has a type: it is the part of a multimodal model that was
// trained. InvalidArgument when the text is not a JSON object.
absl::StatusOr<std::string> WithDtype(std::string_view config, std::string_view dtype);

}  // namespace horizon

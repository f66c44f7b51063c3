#pragma once

#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace horizon {

// The text of a Hugging Face config.json with the type of its weights set to `dtype` ("bfloat16",
// "float32") and every other byte as it was. The key is the one the text uses, "torch_dtype" or
// "dtype" (both, where both stand there); a text with neither gets a "torch_dtype" in front. Of the
// objects inside only `text_config` is changed, if it says a type: it is the part of a multimodal
// model that was trained. InvalidArgument when the text is no JSON object.
absl::StatusOr<std::string> WithDtype(std::string_view config, std::string_view dtype);

}  // namespace horizon

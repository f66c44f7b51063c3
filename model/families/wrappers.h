#pragma once

#include <span>
#include <string_view>

namespace horizon {

// A multimodal model whose text part is one of our families. Its config.json has the keys of the
// text part in text_config, and beside it keys that only concern images.
struct Wrapper {
  std::string_view model_type;  // the model_type of its config.json
  // The model_types that text_config may have. The first is taken if text_config has none.
  std::span<const std::string_view> families;
};

// All known wrappers.
std::span<const Wrapper> AllWrappers();
// Returns nullptr if no wrapper has this model_type.
const Wrapper* FindWrapper(std::string_view model_type);

// Keys beside text_config that cannot change what the text part computes.
std::span<const std::string_view> VisionKeys();

}  // namespace horizon

#pragma once

#include <span>
#include <string_view>

namespace horizon {

// A multimodal model whose text part is one of our families: its config.json has the text part's
// keys in text_config, and beside it keys that concern images only.
struct Wrapper {
  std::string_view model_type;  // of config.json
  // What text_config may be; the first where it has no model_type.
  std::span<const std::string_view> families;
};

// All known wrappers.
std::span<const Wrapper> AllWrappers();
// nullptr: there is none of this model_type.
const Wrapper* FindWrapper(std::string_view model_type);

// Keys beside text_config that cannot change what the text part computes.
std::span<const std::string_view> VisionKeys();

}  // namespace horizon

#pragma once

#include <string>
#include <vector>

namespace horizon {

// The golden models by name, as tests/goldens/goldens.bzl lists them: those with experts, the dense
// ones, the text parts of multimodal models, and those of the dense ones that have frozen.json.
std::vector<std::string> ExpertGoldens();
std::vector<std::string> PlainGoldens();
std::vector<std::string> WrapperGoldens();
std::vector<std::string> FrozenGoldens();

}  // namespace horizon

#pragma once

#include <string>
#include <vector>

namespace horizon {

// The golden models by name, as tests/goldens/goldens.bzl lists them: those with experts, the dense
// ones, and the text parts of multimodal models.
std::vector<std::string> ExpertGoldens();
std::vector<std::string> PlainGoldens();
std::vector<std::string> WrapperGoldens();

}  // namespace horizon

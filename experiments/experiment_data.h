#pragma once

#include <span>
#include <string_view>

namespace horizon {

// The files of the simulated experiments (experiments/NAME/config.json and published.csv) as text.
// The build makes the .cc file.
struct ExperimentFiles {
  std::string_view name;
  std::string_view config;
  std::string_view published;
};
std::span<const ExperimentFiles> ExperimentData();

}  // namespace horizon

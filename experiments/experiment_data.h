#pragma once

#include <span>
#include <string_view>

namespace horizon {

struct ExperimentFiles {
  std::string_view name;
  std::string_view config;
  std::string_view published;
};
std::span<const ExperimentFiles> ExperimentData();

}  // namespace horizon

#pragma once

#include <span>
#include <string_view>

namespace horizon {

// The configs of the measured experiments (experiments/NAME/measured.json) as text. The build makes
// the .cc file.
struct MeasuredFile {
  std::string_view name;
  std::string_view config;
};
std::span<const MeasuredFile> MeasuredData();

}  // namespace horizon

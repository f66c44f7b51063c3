#pragma once

#include <span>
#include <string_view>

namespace horizon {

struct MeasuredFile {
  std::string_view name;
  std::string_view config;
};
std::span<const MeasuredFile> MeasuredData();

}  // namespace horizon

#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "common/text/str_cat.h"

namespace horizon {

// InvalidArgument "NAME:LINE: REASON".
inline absl::Status JinjaError(std::string_view name, int line, std::string_view reason) {
  return absl::InvalidArgumentError(StrCat(name, ":", line, ": ", reason));
}

}  // namespace horizon

#pragma once

#include <string_view>

#include "absl/status/status.h"
#include "common/text/str_cat.h"

namespace horizon {

// Returns InvalidArgument "NAME:LINE: REASON", where NAME is the name of the template.
inline absl::Status JinjaError(std::string_view name, int line, std::string_view reason) {
  return absl::InvalidArgumentError(StrCat(name, ":", line, ": ", reason));
}

}  // namespace horizon

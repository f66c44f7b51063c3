#pragma once

#include <string_view>

#include "model/chat/jinja/jinja_run.h"

namespace horizon {

// Whether a test of this name exists.
bool IsJinjaTest(std::string_view name);
// Applies a test: value is name(arguments).
bool ApplyTest(JinjaRun& run, std::string_view name, const JinjaValue& value,
               const JinjaArguments& arguments);

}  // namespace horizon

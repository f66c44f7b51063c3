#pragma once

#include <string_view>

#include "model/chat/jinja/jinja_run.h"

namespace horizon {

bool IsJinjaTest(std::string_view name);
// value is name(arguments).
bool ApplyTest(JinjaRun& run, std::string_view name, const JinjaValue& value,
               const JinjaArguments& arguments);

}  // namespace horizon

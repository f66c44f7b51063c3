#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/chat/jinja/jinja_run.h"

namespace horizon {

// value.name: Python's attribute (a method), else the item of that name, else undefined.
JinjaValue GetAttribute(JinjaRun& run, const JinjaValue& value, std::string_view name);
// value[key]: the item, else the attribute of that name, else undefined.
JinjaValue GetItem(JinjaRun& run, const JinjaValue& value, const JinjaValue& key);
// value[begin:end:step]; None where a part is missing.
JinjaValue GetSlice(JinjaRun& run, const JinjaValue& value, const JinjaValue& begin,
                    const JinjaValue& end, const JinjaValue& step);
// Python's attribute alone, as the filter attr has it.
std::optional<JinjaValue> FindAttribute(JinjaRun& run, const JinjaValue& value,
                                        std::string_view name);

// What a loop over the value goes through. An iterator is used up by it. Fails for what cannot be
// looped over.
std::vector<JinjaValue> TakeItems(JinjaRun& run, const JinjaValue& value);
// len(value), or nothing if it has none.
std::optional<int64_t> FindLength(const JinjaValue& value);

JinjaValue CallValue(JinjaRun& run, const JinjaValue& callee, const JinjaArguments& arguments);

// A method of a value, or any function that needs nothing else.
using JinjaMethod = JinjaValue (*)(JinjaRun& run, const JinjaValue& self,
                                   const JinjaArguments& arguments);
JinjaMethod FindStringMethod(std::string_view name);
JinjaMethod FindContainerMethod(JinjaValue::Kind kind, std::string_view name);
JinjaValue MakeMethod(JinjaMethod method, JinjaValue self, std::string_view name);

}  // namespace horizon

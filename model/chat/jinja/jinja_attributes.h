#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "model/chat/jinja/jinja_run.h"

namespace horizon {

// value.name in a template: the Python attribute (a method), or else the item of that name, or else
// undefined.
JinjaValue GetAttribute(JinjaRun& run, const JinjaValue& value, std::string_view name);
// value[key] in a template: the item, or else the attribute of that name, or else undefined.
JinjaValue GetItem(JinjaRun& run, const JinjaValue& value, const JinjaValue& key);
// value[begin:end:step]; pass None for a missing part.
JinjaValue GetSlice(JinjaRun& run, const JinjaValue& value, const JinjaValue& begin,
                    const JinjaValue& end, const JinjaValue& step);
// The Python attribute only, as the filter `attr` returns it.
std::optional<JinjaValue> FindAttribute(JinjaRun& run, const JinjaValue& value,
                                        std::string_view name);

// The items that a loop over the value visits. Exhausts an iterator. Fails for a value that cannot
// be iterated.
std::vector<JinjaValue> TakeItems(JinjaRun& run, const JinjaValue& value);
// len(value), or nothing if it has no length.
std::optional<int64_t> FindLength(const JinjaValue& value);

// callee(arguments); fails if the value is not callable.
JinjaValue CallValue(JinjaRun& run, const JinjaValue& callee, const JinjaArguments& arguments);

// A method of a value, or any function that needs nothing but its arguments. `self` is the value.
using JinjaMethod = JinjaValue (*)(JinjaRun& run, const JinjaValue& self,
                                   const JinjaArguments& arguments);
// The method of a Python str, or of a container of this kind; nullptr if there is none.
JinjaMethod FindStringMethod(std::string_view name);
JinjaMethod FindContainerMethod(JinjaValue::Kind kind, std::string_view name);
// A callable value: the method bound to `self`.
JinjaValue MakeMethod(JinjaMethod method, JinjaValue self, std::string_view name);

}  // namespace horizon

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "model/chat/jinja/jinja_attributes.h"
#include "model/chat/jinja/jinja_run.h"

namespace horizon {

bool IsJinjaFilter(std::string_view name);
// value|name(arguments).
JinjaValue ApplyFilter(JinjaRun& run, std::string_view name, const JinjaValue& value,
                       const JinjaArguments& arguments);

// Filters by subject, one file each; `self` of the functions is what is filtered.
using JinjaFilterTable = std::span<const std::pair<std::string_view, JinjaMethod>>;
JinjaFilterTable TextFilters();      // text_filters.cc
JinjaFilterTable LayoutFilters();    // layout_filters.cc
JinjaFilterTable NumberFilters();    // number_filters.cc
JinjaFilterTable SequenceFilters();  // sequence_filters.cc
JinjaFilterTable OrderFilters();     // order_filters.cc

// item["a"]["b"] for the attribute "a.b", or item[3] for 3; `otherwise` where that is undefined.
JinjaValue GetPath(JinjaRun& run, const JinjaValue& item, const JinjaValue& attribute,
                   const JinjaValue* otherwise);

}  // namespace horizon

#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "model/chat/jinja/jinja_attributes.h"
#include "model/chat/jinja/jinja_run.h"

namespace horizon {

// Whether a filter of this name exists.
bool IsJinjaFilter(std::string_view name);
// Applies a filter: value|name(arguments).
JinjaValue ApplyFilter(JinjaRun& run, std::string_view name, const JinjaValue& value,
                       const JinjaArguments& arguments);

// The filters by subject, one file each. `self` of a function is the filtered value.
using JinjaFilterTable = std::span<const std::pair<std::string_view, JinjaMethod>>;
JinjaFilterTable TextFilters();      // text_filters.cc
JinjaFilterTable LayoutFilters();    // layout_filters.cc
JinjaFilterTable NumberFilters();    // number_filters.cc
JinjaFilterTable SequenceFilters();  // sequence_filters.cc
JinjaFilterTable OrderFilters();     // order_filters.cc

// The attribute that filters such as map and sort take: item["a"]["b"] for "a.b", or item[3] for 3.
// Returns `otherwise` (if not null) when it is undefined.
JinjaValue GetPath(JinjaRun& run, const JinjaValue& item, const JinjaValue& attribute,
                   const JinjaValue* otherwise);

}  // namespace horizon

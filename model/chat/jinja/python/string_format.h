#pragma once

#include <string_view>

#include "model/chat/jinja/jinja_run.h"

namespace horizon {

// "text" % values.
JinjaValue FormatPercent(JinjaRun& run, const TracedText& format, const JinjaValue& values);

// "text".format(...) and .format_map(mapping); attributes and items in the fields as in the
// sandbox.
JinjaValue CallFormat(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments);
JinjaValue CallFormatMap(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments);

// How one value is written: fill, alignment, sign, "#", width, grouping, precision, type.
struct FormatSpec {
  TracedText fill = TracedText(" ", {});
  char align = '\0';  // '<', '>', '^', '='
  char sign = '-';
  bool alternate = false;
  bool zero = false;
  int64_t width = 0;
  char grouping = '\0';
  int64_t precision = -1;
  char type = '\0';
};

// format(value, spec); `what` says whose type does not fit.
TracedText FormatValue(JinjaRun& run, const JinjaValue& value, const FormatSpec& spec);
// Digits and sign of a number of type d, x, o, b, e, f, g, %, ...
std::string NumberDigits(JinjaRun& run, const JinjaValue& value, const FormatSpec& spec);

}  // namespace horizon

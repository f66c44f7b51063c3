#pragma once

#include <string_view>

#include "model/chat/jinja/jinja_run.h"

namespace horizon {

// "text" % values in Python.
JinjaValue FormatPercent(JinjaRun& run, const TracedText& format, const JinjaValue& values);

// "text".format(...) and "text".format_map(mapping). Attributes and items in the fields follow the
// rules of the sandbox.
JinjaValue CallFormat(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments);
JinjaValue CallFormatMap(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments);

// A parsed format specification: fill, alignment, sign, "#", width, grouping, precision, type.
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

// format(value, spec) in Python. Fails if the type does not fit the value.
TracedText FormatValue(JinjaRun& run, const JinjaValue& value, const FormatSpec& spec);
// The digits and sign of a number of type d, x, o, b, e, f, g, %, ...
std::string NumberDigits(JinjaRun& run, const JinjaValue& value, const FormatSpec& spec);

}  // namespace horizon

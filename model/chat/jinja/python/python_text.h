#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/chat/jinja/jinja_value.h"
#include "model/chat/jinja/traced_text.h"

namespace horizon {

class JinjaRun;
class JinjaTextBuilder;

// The Python name of a value's type: "str", "int", "NoneType", ...
std::string PythonTypeName(const JinjaValue& value);

// repr of a float: "1.0", "1e+16", "nan".
std::string PythonFloat(double value);

// str(value) and repr(value). Text of strings inside keeps its origin; the rest counts as the
// template's. Fails for a value that Python prints with its address.
TracedText PythonStr(JinjaRun& run, const JinjaValue& value);
TracedText PythonRepr(JinjaRun& run, const JinjaValue& value);
// repr of a text, for messages.
std::string PythonRepr(std::string_view text);

// Replaces & < > " and ' by their HTML entities.
TracedText EscapeHtml(JinjaRun& run, const TracedText& text);

// The options of json.dumps in Python.
struct PythonJsonOptions {
  bool ensure_ascii = false;
  bool sort_keys = false;
  bool has_indent = false;
  TracedText indent;  // indentation of one level
  TracedText item_separator;
  TracedText key_separator;
};
// json.dumps(value, ...) in Python.
TracedText PythonJson(JinjaRun& run, const JinjaValue& value, const PythonJsonOptions& options);

}  // namespace horizon

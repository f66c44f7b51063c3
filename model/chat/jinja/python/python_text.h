#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "model/chat/jinja/jinja_value.h"
#include "model/chat/jinja/traced_text.h"

namespace horizon {

class JinjaRun;
class JinjaTextBuilder;

// Python's name of a value's type: "str", "int", "NoneType", ...
std::string PythonTypeName(const JinjaValue& value);

// repr(float): "1.0", "1e+16", "nan".
std::string PythonFloat(double value);

// str(value) and repr(value). What belongs to strings inside keeps its origin, the rest is the
// template's. Fails for what Python prints with an address.
TracedText PythonStr(JinjaRun& run, const JinjaValue& value);
TracedText PythonRepr(JinjaRun& run, const JinjaValue& value);
// repr of a text on its own, for messages.
std::string PythonRepr(std::string_view text);

// The text with & < > " ' as HTML writes them.
TracedText EscapeHtml(JinjaRun& run, const TracedText& text);

// json.dumps(value, ...).
struct PythonJsonOptions {
  bool ensure_ascii = false;
  bool sort_keys = false;
  bool has_indent = false;
  TracedText indent;  // of one level
  TracedText item_separator;
  TracedText key_separator;
};
TracedText PythonJson(JinjaRun& run, const JinjaValue& value, const PythonJsonOptions& options);

}  // namespace horizon

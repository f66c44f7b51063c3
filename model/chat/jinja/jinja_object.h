#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "model/chat/jinja/jinja_value.h"

namespace horizon {

class JinjaRun;

// The evaluated arguments of a call: f(1, *more, name=2, **others).
struct JinjaArguments {
  std::vector<JinjaValue> positional;
  std::vector<std::pair<std::string, JinjaValue>> named;
};

// A value with an identity: a function, a macro, a namespace, the variable `loop`, ... Its methods
// report errors to the run (JinjaRun::Fail); what they return then does not matter.
class JinjaObject {
 public:
  virtual ~JinjaObject() = default;
  // The Python name of its type, for messages: "Namespace", "Macro", ...
  virtual std::string_view TypeName() const = 0;
  virtual bool callable() const { return false; }
  virtual JinjaValue Call(JinjaRun& run, const JinjaArguments& arguments);
  // Returns nothing if there is no such attribute.
  virtual std::optional<JinjaValue> Attribute(JinjaRun& run, std::string_view name);
  // The text that it prints as, if that is the same in every run of Python.
  virtual std::optional<TracedText> Repr(JinjaRun& run);
  // Drops its references at the end of a rendering, so that no reference cycle keeps itself alive.
  virtual void Release() {}
};

}  // namespace horizon

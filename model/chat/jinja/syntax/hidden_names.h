#pragma once

#include <string>
#include <vector>

#include "model/chat/jinja/syntax/jinja_nodes.h"

namespace horizon {

// Finds the names that a template sets at its top level, outside of loops and macros, before it
// reads them there. Jinja keeps such a name in a variable of its own from the start. So a loop or
// macro that reads the name earlier finds it undefined, even if the caller passed a variable of
// that name:
//
//   {% for i in [1] %}{{ x }}{% endfor %}{% set x = 5 %}
std::vector<std::string> FindHiddenNames(const JinjaStatements& statements);

}  // namespace horizon

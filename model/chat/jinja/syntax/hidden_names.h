#pragma once

#include <string>
#include <vector>

#include "model/chat/jinja/syntax/jinja_nodes.h"

namespace horizon {

// Names that a template sets, outside of loops and macros, before it reads them there. Jinja keeps
// them in variables of their own from the start, so that a loop or macro which reads one earlier
// finds it undefined, even if the caller gave a variable of that name:
//   {% for i in [1] %}{{ x }}{% endfor %}{% set x = 5 %}
std::vector<std::string> FindHiddenNames(const JinjaStatements& statements);

}  // namespace horizon

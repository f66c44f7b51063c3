#pragma once

#include "model/chat/jinja/jinja_run.h"
#include "model/chat/jinja/syntax/jinja_nodes.h"

namespace horizon {

// left + right and the other binary operators, for numbers, texts, lists and tuples as in Python.
// Integers have 64 bits; a result that does not fit fails.
JinjaValue ApplyBinary(JinjaRun& run, JinjaOperator operation, const JinjaValue& left,
                       const JinjaValue& right);
// -value or +value.
JinjaValue ApplyUnary(JinjaRun& run, JinjaOperator operation, const JinjaValue& value);
// One comparison of a chain such as a < b < c.
bool Compare(JinjaRun& run, JinjaOperator operation, const JinjaValue& left,
             const JinjaValue& right);

}  // namespace horizon

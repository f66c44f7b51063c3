#pragma once

#include "model/chat/jinja/jinja_run.h"
#include "model/chat/jinja/syntax/jinja_nodes.h"

namespace horizon {

// left + right and so on: numbers, texts, lists and tuples as in Python. Integers are 64 bits wide,
// and what does not fit fails.
JinjaValue ApplyBinary(JinjaRun& run, JinjaOperator operation, const JinjaValue& left,
                       const JinjaValue& right);
// -value or +value.
JinjaValue ApplyUnary(JinjaRun& run, JinjaOperator operation, const JinjaValue& value);
// One link of a chain of comparisons.
bool Compare(JinjaRun& run, JinjaOperator operation, const JinjaValue& left,
             const JinjaValue& right);

}  // namespace horizon

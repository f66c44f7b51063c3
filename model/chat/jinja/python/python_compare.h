#pragma once

#include "model/chat/jinja/jinja_value.h"
#include "model/chat/jinja/syntax/jinja_nodes.h"

namespace horizon {

class JinjaRun;

// Python's ==, which every two values have: 1 == 1.0 == True, lists and dicts by what they hold.
bool PythonEquals(const JinjaValue& left, const JinjaValue& right);

// Python's <, <=, > or >=; fails for values that have no order ("'<' not supported ...").
bool PythonOrder(JinjaRun& run, JinjaOperator operation, const JinjaValue& left,
                 const JinjaValue& right);

// Python's `item in container`.
bool PythonContains(JinjaRun& run, const JinjaValue& container, const JinjaValue& item);

// bool(value).
bool PythonTruth(JinjaRun& run, const JinjaValue& value);

}  // namespace horizon

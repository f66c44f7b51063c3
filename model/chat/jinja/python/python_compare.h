#pragma once

#include "model/chat/jinja/jinja_value.h"
#include "model/chat/jinja/syntax/jinja_nodes.h"

namespace horizon {

class JinjaRun;

// The operator == of Python, which any two values have: 1 == 1.0 == True; lists and dicts are
// compared by content.
bool PythonEquals(const JinjaValue& left, const JinjaValue& right);

// The operators <, <=, > and >= of Python. Fails for values that have no order ("'<' not supported
// ...").
bool PythonOrder(JinjaRun& run, JinjaOperator operation, const JinjaValue& left,
                 const JinjaValue& right);

// `item in container` in Python.
bool PythonContains(JinjaRun& run, const JinjaValue& container, const JinjaValue& item);

// bool(value) in Python.
bool PythonTruth(JinjaRun& run, const JinjaValue& value);

}  // namespace horizon

#pragma once

#include "common/documents/document.h"
#include "common/documents/json.h"

namespace horizon {

// Writes a parsed value as JSON again. The spelling of numbers and strings may differ from the
// source.
void WriteJson(const Value& value, JsonWriter& json);

}  // namespace horizon

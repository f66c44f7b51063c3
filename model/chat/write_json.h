#pragma once

#include "common/documents/document.h"
#include "common/documents/json.h"

namespace horizon {

// Writes a parsed value as it was, but for the spelling of numbers and texts.
void WriteJson(const Value& value, JsonWriter& json);

}  // namespace horizon

#pragma once

#include "common/documents/document.h"
#include "common/documents/json.h"

namespace horizon {

// Writes a parsed tree as JSON, for tests that read back what they wrote. Recurses as deep as the
// tree is, which its parser has bounded.
void WriteValue(const Value& value, JsonWriter& writer);

}  // namespace horizon

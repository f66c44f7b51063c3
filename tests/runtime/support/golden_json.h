#pragma once

#include <string>
#include <vector>

#include "common/documents/document.h"

namespace horizon {

// Readers of the JSON files of tests/goldens. These are our own files: what is missing or of
// another kind ends the test.

// `file` below tests/goldens, such as "llama/expected.json".
Document ReadGoldenJson(const std::string& file);

const Value& Member(const Value& object, const std::string& key);
double Number(const Value& value);
std::vector<double> Numbers(const Value& array);
std::vector<std::string> Words(const Value& array);

}  // namespace horizon

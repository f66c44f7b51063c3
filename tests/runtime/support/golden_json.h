#pragma once

#include <string>
#include <vector>

#include "common/documents/document.h"

namespace horizon {

// Read the JSON files of tests/goldens. They are our own files, so a missing or mistyped value is a
// CHECK that ends the test.

// Reads `file`, relative to tests/goldens, such as "llama/expected.json".
Document ReadGoldenJson(const std::string& file);

const Value& Member(const Value& object, const std::string& key);
double Number(const Value& value);
std::vector<double> Numbers(const Value& array);
std::vector<std::string> Words(const Value& array);

}  // namespace horizon

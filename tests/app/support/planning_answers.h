#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "common/documents/document.h"

namespace horizon {

// What the tests of the planning commands ask of the program.

// The command fails with code 2, says nothing on stdout and `message` on stderr.
void ExpectMisuse(const std::string& command, const std::string& message);

// No line is longer than a terminal of 100 columns.
void ExpectHundredColumns(const std::string& text);

// A model folder "tiny": four layers, 89 M parameters, 2048 positions.
void WriteTinyModel();

// The answer in JSON of a command that ends with this code.
Document Answer(const std::string& command, int exit_code = 0);

// A member of it; a failure and null (or 0) where there is none.
const Value& At(const Document& document, std::initializer_list<std::string_view> path);
double NumberAt(const Document& document, std::initializer_list<std::string_view> path);
std::string TextAt(const Document& document, std::initializer_list<std::string_view> path);

}  // namespace horizon

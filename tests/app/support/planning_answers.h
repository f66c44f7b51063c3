#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "common/documents/document.h"

namespace horizon {

// Helpers for the tests of the planning commands.

// Expects that the command fails with code 2, with nothing on stdout and `message` on stderr.
void ExpectMisuse(const std::string& command, const std::string& message);

// Expects that no line is longer than 100 columns, or 80.
void ExpectHundredColumns(const std::string& text);
void ExpectEightyColumns(const std::string& text);

// Writes a model folder "tiny": four layers, 89 M parameters, 2048 positions.
void WriteTinyModel();

// The JSON answer of a command that must end with this code.
Document Answer(const std::string& command, int exit_code = 0);

// A member of the answer. If there is none, the test fails and the result is null (0, "").
const Value& At(const Document& document, std::initializer_list<std::string_view> path);
double NumberAt(const Document& document, std::initializer_list<std::string_view> path);
std::string TextAt(const Document& document, std::initializer_list<std::string_view> path);

}  // namespace horizon

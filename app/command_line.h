#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "app/option.h"

namespace horizon {

// Reading and explaining the command line. command_line.cc is the only file that includes
// Boost.Program_options; its exceptions end there.

// Reads `arguments` into the targets of `options`. Options are `--name value` or `--name=value`, in
// any place; `--` ends them. InvalidArgument, naming the option and what would be right, for an
// unknown option (with the nearest known one), a value that does not parse or is out of bounds, an
// option given twice that may not be, an argument too many or one that is missing. Targets may have
// been written when an error is returned.
absl::Status ParseArguments(const OptionList& options, std::span<const std::string> arguments);

// How many leading `arguments` are options (with their values) of `options`: where the name of the
// command stands in `--log-level debug model x`.
size_t CountLeadingOptions(const OptionList& options, std::span<const std::string> arguments);

// "Usage: horizon model PATH_OR_NAME [--batch SEQUENCES] [--json]", wrapped at 100 columns.
std::string UsageOf(std::string_view command, const OptionList& options);

// The arguments and options one a line, with unit, default and help, wrapped at 100 columns.
std::string ExplainOptions(const OptionList& options);

}  // namespace horizon

#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/options/option.h"

namespace horizon {

// Reading and explaining the command line. command_line.cc is the only file that includes
// Boost.Program_options; its exceptions end there.

// Reads `arguments` into the targets of `options`. Options are `--name value` or `--name=value`, in
// any place; `--` ends them. InvalidArgument, naming the option and what would be right, for an
// unknown option (with the nearest known one), a value that does not parse or is out of bounds, an
// option given twice that may not be, an argument too many or one that is missing. Targets may have
// been written when an error is returned.
absl::Status ParseArguments(const OptionList& options, std::span<const std::string> arguments);

// Reads one word into the target of `option`, with the checks of the command line; a vector gets
// one entry more, a flag becomes true. InvalidArgument without the option's name in front, "'two'
// is not a whole number of steps", for the caller to say where it stood.
absl::Status ReadValue(const Option& option, const std::string& text);

// The word given for the option called `name`, which takes one, before anything is read into
// targets. Nothing when it is not given or not declared, or when an option that answers alone is
// given. The errors are those ParseArguments has before it looks at values.
absl::StatusOr<std::optional<std::string>> PeekOption(const OptionList& options,
                                                      const std::string& name,
                                                      std::span<const std::string> arguments);

// How many leading `arguments` are options (with their values) of `options`: where the name of the
// command stands in `--log-level debug model x`.
size_t CountLeadingOptions(const OptionList& options, std::span<const std::string> arguments);

// "Usage: horizon model PATH_OR_NAME [--batch SEQUENCES] [--json]", wrapped at 100 columns.
std::string UsageOf(std::string_view command, const OptionList& options);

// The arguments and options one a line, with unit, default and help, wrapped at 100 columns.
std::string ExplainOptions(const OptionList& options);

}  // namespace horizon

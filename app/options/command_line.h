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

// Parses the command line; explain_options.h has the help texts. command_line.cc is the only file
// that includes Boost.Program_options; its exceptions end there.

// Reads `arguments` into the targets of `options`. Options are `--name value` or `--name=value`,
// anywhere on the line, or a letter that an option declares (`-h`); `--` ends them.
// InvalidArgument, with the option and what would be right, for an unknown option (with the nearest
// known one), a value that does not parse or is out of bounds, an option given twice that may be
// given once, an argument too many or a missing one. Targets may have been written when an error is
// returned.
absl::Status ParseArguments(const OptionList& options, std::span<const std::string> arguments);

// Reads one word into the target of `option`, with the checks of the command line. A vector gets
// one more entry; a flag becomes true. The message of an InvalidArgument does not name the option
// ("'two' is not a whole number of steps"): the caller adds where the word was found.
absl::Status ReadValue(const Option& option, const std::string& text);

// Returns the word given for the option `name`, which takes one word, without writing any target.
// Returns nothing when the option is not given or not declared, or when an option that answers
// alone is given (--help). Errors are those that ParseArguments returns before it reads values.
absl::StatusOr<std::optional<std::string>> PeekOption(const OptionList& options,
                                                      const std::string& name,
                                                      std::span<const std::string> arguments);

// How many of the first `arguments` are options (with their values) of `options`. This is where the
// command is: in `--log-level debug model x` at 2.
size_t CountLeadingOptions(const OptionList& options, std::span<const std::string> arguments);

}  // namespace horizon

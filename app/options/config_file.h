#pragma once

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/options/option.h"
#include "common/files/io.h"

namespace horizon {

// `--config job.yaml` reads a command's options from a file. The keys are the names of the options:
//   model: ./qwen2.5-0.5b     # as --model ./qwen2.5-0.5b
//   device-memory: 1.5 GiB
//   log_gradient_norms: true  # a flag; false leaves it off. '_' and '-' are the same in YAML
// A command supports this by declaring a text option of this name. Options on the command line take
// precedence over the file. Paths in the file mean what they mean on the command line.
inline constexpr char kConfigOption[] = "config";

// Reads the file (JSON if it is named .json, else YAML) into the targets of `options`, with the
// checks of the command line. A vector takes a list or one word. An option that the file gives is
// no longer `required`. InvalidArgument "FILE:LINE: KEY: ..." for a value that the command line
// would refuse too, a text that is not a string (YAML would have read 1.10 as a number), a key
// without a value, nested keys, a key given under two names, and a key that is no option (with the
// nearest one). The config option itself and options that answer alone are not accepted as keys.
// Io's error when the file cannot be read. Targets may have been written when an error is returned.
absl::Status ReadConfigFile(Io& io, const std::string& path, std::span<Option> options);

// The text that the file gives for an option; empty if it gives none, or something other than text.
absl::StatusOr<std::string> ConfigFileValue(Io& io, const std::string& path,
                                            std::string_view option);

// The text of a file that gives the options their present values, except `config`, `resume`,
// `restart-schedule`, `json` and options that answer alone.
std::string ConfigFileText(std::span<const Option> options);

}  // namespace horizon

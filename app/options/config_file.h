#pragma once

#include <span>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "app/options/option.h"
#include "common/files/io.h"

namespace horizon {

// `--config job.yaml`: the options of a command out of a file, with the names they have as flags.
//   model: ./qwen2.5-0.5b     # as --model ./qwen2.5-0.5b
//   device-memory: 1.5 GiB
//   log_gradient_norms: true  # a flag; false leaves it off. '_' is as good as '-' in YAML
// A command has this when it declares an option of this name, a text; what is given on the command
// line then wins over the file. Paths in the file mean what they mean on the command line.
inline constexpr char kConfigOption[] = "config";

// Reads the file (JSON if it is named .json, else YAML) into the targets of `options`, with the
// checks of the command line; a vector takes a list, or one word. An option that was given is not
// `required` any more. InvalidArgument "FILE:LINE: KEY: ..." for a value that a flag would not take
// either, a text that is no string (YAML would have read 1.10 as a number), a key without a value,
// nested keys, and a key that is no option, with the nearest one; the config option itself and
// those that answer alone are none here. Io's error when the file cannot be read. Targets may have
// been written when an error is returned.
absl::Status ReadConfigFile(Io& io, const std::string& path, std::span<Option> options);

// The text that the file gives for an option; empty where it gives none, or something else.
absl::StatusOr<std::string> ConfigFileValue(Io& io, const std::string& path,
                                            std::string_view option);

// A file that gives the options the values they have, but for `config`, `resume`, `json` and those
// that answer alone.
std::string ConfigFileText(std::span<const Option> options);

}  // namespace horizon

#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "common/units.h"

namespace horizon {

// The variable that receives the value of an option. Its value at the declaration is the default,
// which the help shows; an empty optional has no default. A bool is a flag without a value. Bytes
// reads "1.5 GiB", BytesPerSecond "26GB/s". A vector receives the words of an option that may be
// given several times, in that order; they replace its default.
using OptionTarget =
    std::variant<bool*, int64_t*, double*, std::string*, Bytes*, std::optional<int64_t>*,
                 std::optional<double>*, std::optional<std::string>*, std::optional<Bytes>*,
                 std::optional<BytesPerSecond>*, std::vector<std::string>*>;

// What the words of an option or argument name, beside `choices`; a shell completes them by it.
enum class WordKind { kText, kFile, kFolder, kMachine, kModel, kCommand };

// Declares one `--name VALUE`. Parsing, checks and help all come from this declaration.
//   {.name = "batch", .value = &batch_, .unit = "sequences", .help = "...", .minimum = 1}
struct Option {
  std::string name;  // long words joined by '-', without the leading dashes
  OptionTarget value;
  // The unit of a number ("tokens"), or what the word is ("file"). Empty for flags only.
  std::string unit;
  // What it is, the unit and the default, without a full stop: "Sequence length in tokens (default
  // 1024, or the model's limit)". The help adds the choices and the default where that is the
  // target's value.
  std::string help;
  // If not empty, a text must be one of these. The help shows them with '-' between words; '_' is
  // accepted for it, and the target gets the spelling of this list.
  std::vector<std::string> choices;
  // Inclusive bounds of a number or of a count of bytes; an infinite bound is none.
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  // The text is the path of a file or folder; train.yaml holds its absolute path.
  bool is_path = false;
  bool required = false;
  // With this option, required ones may be missing, as with --help.
  bool answers_alone = false;
  // The name this option had before it was renamed, or empty. Command lines and configuration files
  // that still use it are read as if they had the new name. Help, suggestions, messages and written
  // files have the new name only. Giving both is an error.
  std::string former_name = {};
  // The name of another option that says the same in another way (steps, epochs), or empty. Given
  // on the command line, this one empties the other, which a configuration file may have set. The
  // other one's target is an optional.
  std::string instead_of = {};
  // The heading of the help that it is listed under ("Checkpoints"); empty for those that most
  // people need, which come first.
  std::string group = {};
  // Without it, a unit of "file" or "folder" says what the words are.
  WordKind words = WordKind::kText;
  // If not 0, a dash and this letter is the option too ("-h").
  char letter = 0;
};

// An argument without a name. Arguments are filled in the order of declaration. A std::string is
// required, a std::optional is not. A vector, which only the last may be, takes all remaining
// arguments, or none.
struct Positional {
  std::string name;  // "PATH_OR_NAME"
  std::variant<std::string*, std::optional<std::string>*, std::vector<std::string>*> value;
  std::string help;
  WordKind words = WordKind::kText;
};

// All options and arguments of a command. The targets outlive the parse.
struct OptionList {
  std::vector<Option> options;
  std::vector<Positional> positionals;
};

// Puts the options from number `first` on under one heading of the help.
inline void SetGroup(OptionList& list, size_t first, std::string_view group) {
  for (size_t i = first; i < list.options.size(); ++i) list.options[i].group = group;
}

}  // namespace horizon

#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "common/units.h"

namespace horizon {

// Where the value of an option goes. What the target holds when the option is declared is its
// default and is shown in the help; an empty optional has no default. A bool is a flag without a
// value; Bytes reads "1.5 GiB", BytesPerSecond "26GB/s". A vector takes the words of an option that
// may be given several times, in that order; they replace its default.
using OptionTarget =
    std::variant<bool*, int64_t*, double*, std::string*, Bytes*, std::optional<int64_t>*,
                 std::optional<double>*, std::optional<std::string>*, std::optional<Bytes>*,
                 std::optional<BytesPerSecond>*, std::vector<std::string>*>;

// One `--name VALUE`, declared once: parsing, checking and help all come from here.
//   {.name = "batch", .value = &batch_, .unit = "sequences", .help = "...", .minimum = 1}
struct Option {
  std::string name;  // long words joined by '-', without the leading dashes
  OptionTarget value;
  // What the number counts ("tokens"), or what the word stands for ("file"). Empty for flags only.
  std::string unit;
  std::string help;  // one sentence, no full stop
  // Where not empty, a text must be one of these. People see and type them with '-' between words;
  // '_' is taken for it, and the target gets the spelling that is declared.
  std::vector<std::string> choices;
  // Bounds of a number or of a count of bytes, both included; an infinite one is none.
  double minimum = -std::numeric_limits<double>::infinity();
  double maximum = std::numeric_limits<double>::infinity();
  // The text names a file or folder: train.yaml has it from the root.
  bool is_path = false;
  bool required = false;
  // Given, nothing else need be: --help works without what a command requires.
  bool answers_alone = false;
};

// An argument without a name, filled in the order of declaration. A std::string must be given, an
// optional one may be missing; a vector, which only the last may be, takes all that are left, or
// none.
struct Positional {
  std::string name;  // "PATH_OR_NAME"
  std::variant<std::string*, std::optional<std::string>*, std::vector<std::string>*> value;
  std::string help;
};

// All that a command takes. The targets outlive the parse.
struct OptionList {
  std::vector<Option> options;
  std::vector<Positional> positionals;
};

}  // namespace horizon

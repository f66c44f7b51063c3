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
                 std::optional<std::string>*, std::optional<Bytes>*, std::optional<BytesPerSecond>*,
                 std::vector<std::string>*>;

// One `--name VALUE`, declared once: parsing, checking and help all come from here.
//   {.name = "batch", .value = &batch_, .unit = "sequences", .help = "...", .minimum = 1}
struct Option {
  std::string name;  // long words joined by '-', without the leading dashes
  OptionTarget value;
  // What the number counts ("tokens"), or what the word stands for ("file"). Empty for flags only.
  std::string unit;
  std::string help;                  // one sentence, no full stop
  std::vector<std::string> choices;  // where not empty, a text must be one of these
  // Bounds of a number or of a count of bytes, both included.
  int64_t minimum = std::numeric_limits<int64_t>::min();
  int64_t maximum = std::numeric_limits<int64_t>::max();
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

#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "app/options/option.h"
#include "common/check.h"
#include "common/units.h"

namespace horizon {

// The targets of one option of every kind, with bounds, choices and a former name.
struct EveryOption {
  bool help = false;
  std::string config;
  bool flag = false;
  int64_t count = 3;
  double rate = 0.5;
  std::string text = "text";
  std::string choice = "one";
  Bytes size = 64_MiB;
  std::optional<int64_t> maybe_count;
  std::optional<std::string> maybe_text;
  std::optional<Bytes> maybe_size;
  std::optional<BytesPerSecond> maybe_speed;
  std::vector<std::string> words;
  std::string first;
  std::vector<std::string> rest;

  friend bool operator==(const EveryOption&, const EveryOption&) = default;
};

// Declares the options of `values`, which outlives the list. Only the first argument is required,
// so a default-constructed EveryOption is valid.
inline OptionList DeclareEveryOption(EveryOption& values) {
  OptionList list;
  list.options = {
      {.name = "help", .value = &values.help, .help = "answers alone", .answers_alone = true},
      {.name = "config", .value = &values.config, .unit = "file", .help = "a file"},
      {.name = "flag", .value = &values.flag, .help = "a flag"},
      {.name = "count",
       .value = &values.count,
       .unit = "things",
       .help = "a count",
       .minimum = 1,
       .maximum = 1000,
       .former_name = "number"},
      {.name = "rate",
       .value = &values.rate,
       .unit = "share",
       .help = "a share",
       .minimum = 0,
       .maximum = 1},
      {.name = "text", .value = &values.text, .unit = "words", .help = "a text"},
      {.name = "choice",
       .value = &values.choice,
       .unit = "word",
       .help = "a choice",
       .choices = {"one", "two", "true"}},
      {.name = "size",
       .value = &values.size,
       .unit = "bytes",
       .help = "a size",
       .minimum = 1,
       .maximum = int64_t{1} << 40},
      {.name = "maybe-count", .value = &values.maybe_count, .unit = "things", .help = "a count"},
      {.name = "maybe-text", .value = &values.maybe_text, .unit = "words", .help = "a text"},
      {.name = "maybe-size", .value = &values.maybe_size, .unit = "bytes", .help = "a size"},
      {.name = "maybe-speed", .value = &values.maybe_speed, .unit = "speed", .help = "a speed"},
      {.name = "words", .value = &values.words, .unit = "word", .help = "some words"},
  };
  list.positionals = {{.name = "FIRST", .value = &values.first, .help = "must be there"},
                      {.name = "REST", .value = &values.rest, .help = "may be there"}};
  return list;
}

// Checks that the values are within the declared bounds and choices.
inline void CheckBounds(const EveryOption& values) {
  CHECK(values.count >= 1 && values.count <= 1000);
  CHECK(values.rate >= 0 && values.rate <= 1);
  CHECK(values.choice == "one" || values.choice == "two" || values.choice == "true");
  CHECK(values.size.ok() && values.size >= 1_B && values.size <= 1024_GiB);
  CHECK(!values.maybe_size.has_value() || values.maybe_size->ok());
  CHECK(!values.maybe_speed.has_value() || values.maybe_speed->value > 0);
}

}  // namespace horizon

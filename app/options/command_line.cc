#include "app/options/command_line.h"

#include <algorithm>
#include <boost/program_options.hpp>
#include <cmath>
#include <string_view>
#include <type_traits>
#include <utility>

#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "app/options/option_text.h"
#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/nearest_word.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

namespace po = boost::program_options;

// Boost keeps positional arguments as options; nobody types this name by accident, and everything
// else with dashes in front stays an unknown option.
constexpr char kPositional[] = " argument";
// Whole names only: an abbreviation that is unique today is ambiguous with tomorrow's option.
constexpr int kStyle = po::command_line_style::allow_long |
                       po::command_line_style::long_allow_adjacent |
                       po::command_line_style::long_allow_next;

absl::Status BadValue(std::string_view text, std::string_view wanted) {
  return absl::InvalidArgumentError(StrCat("'", text, "' is not ", wanted));
}

// A bound as a person writes it; whole numbers have all their digits as far as they are exact.
std::string BoundText(double bound) {
  constexpr double kExact = 1e15;
  const bool whole = std::abs(bound) <= kExact && std::trunc(bound) == bound;
  return whole ? StrCat(static_cast<int64_t>(bound)) : StrCat(bound);
}

// " from 1 to 64", " of at least 1", " of at most 64", or nothing.
std::string RangeText(const Option& option) {
  const bool has_minimum = std::isfinite(option.minimum);
  const bool has_maximum = std::isfinite(option.maximum);
  if (has_minimum && has_maximum) {
    return StrCat(" from ", BoundText(option.minimum), " to ", BoundText(option.maximum));
  }
  if (has_minimum) return StrCat(" of at least ", BoundText(option.minimum));
  return has_maximum ? StrCat(" of at most ", BoundText(option.maximum)) : std::string();
}

bool InRange(const Option& option, double value) {
  return value >= option.minimum && value <= option.maximum;
}

absl::Status ReadInteger(const Option& option, const std::string& text, int64_t* out) {
  int64_t value = 0;
  if (!absl::SimpleAtoi(text, &value) || !InRange(option, static_cast<double>(value))) {
    const std::string counted = option.unit == "number" ? "" : StrCat(" of ", option.unit);
    return BadValue(text, StrCat("a whole number", counted, RangeText(option)));
  }
  *out = value;
  return absl::OkStatus();
}

absl::Status ReadNumber(const Option& option, const std::string& text, double* out) {
  double value = 0;
  // A NaN, which compares with nothing, is refused too.
  if (!absl::SimpleAtod(text, &value) || !std::isfinite(value) || !InRange(option, value)) {
    const std::string range = RangeText(option);
    return BadValue(text, range.empty() ? "a finite number" : StrCat("a number", range));
  }
  *out = value;
  return absl::OkStatus();
}

absl::Status ReadBytes(const Option& option, const std::string& text, Bytes* out) {
  const absl::StatusOr<Bytes> bytes = ParseBytes(text);
  if (!bytes.ok()) return bytes.status();
  if (!InRange(option, static_cast<double>(bytes->value()))) {
    return BadValue(text, StrCat("a size", RangeText(option), " bytes"));
  }
  *out = *bytes;
  return absl::OkStatus();
}

absl::Status ReadRate(const std::string& text, BytesPerSecond* out) {
  const absl::StatusOr<BytesPerSecond> rate = ParseBytesPerSecond(text);
  if (!rate.ok()) {
    return absl::InvalidArgumentError(StrCat(rate.status().message(), ", as in 26GB/s"));
  }
  *out = *rate;
  return absl::OkStatus();
}

absl::Status ReadText(const Option& option, const std::string& text, std::string* out) {
  if (option.choices.empty()) {
    *out = text;
    return absl::OkStatus();
  }
  for (const std::string& choice : option.choices) {
    if (Dashed(choice) != Dashed(text)) continue;
    *out = choice;
    return absl::OkStatus();
  }
  const std::vector<std::string> words = DashedChoices(option);
  return absl::InvalidArgumentError(StrCat("'", text, "' is none of ", absl::StrJoin(words, ", "),
                                           DidYouMean(Dashed(text), words)));
}

absl::Status ReadWord(const Option& option, const std::string& text) {
  absl::Status status = ReadValue(option, text);
  if (status.ok()) return status;
  return absl::Status(status.code(), StrCat("--", option.name, ": ", status.message()));
}

absl::Status ReadOption(const Option& option, const po::variable_value& given) {
  if (IsFlag(option)) return ReadWord(option, "");
  if (!IsRepeatable(option)) return ReadWord(option, given.as<std::string>());
  std::get<std::vector<std::string>*>(option.value)->clear();
  for (const std::string& text : given.as<std::vector<std::string>>()) {
    RETURN_IF_ERROR(ReadWord(option, text));
  }
  return absl::OkStatus();
}

// Flags and values as Boost sees them: plain words, since we read the values ourselves and can
// then say what was wrong with one.
po::options_description Describe(const OptionList& list) {
  po::options_description description;
  for (const Option& option : list.options) {
    po::value_semantic* semantic = nullptr;
    if (IsFlag(option)) {
      semantic = new po::untyped_value(/*zero_tokens=*/true);
    } else if (IsRepeatable(option)) {
      semantic = po::value<std::vector<std::string>>();
    } else {
      semantic = po::value<std::string>();
    }
    description.add_options()(option.name.c_str(), semantic);
  }
  return description;
}

absl::Status UnknownOption(const OptionList& list, const std::string& typed) {
  // Boost reports the token as it stands in some cases and the bare name in others.
  std::string_view name = typed;
  name.remove_prefix(std::min(name.find_first_not_of('-'), name.size()));
  name = name.substr(0, name.find('='));
  std::vector<std::string> known;
  for (const Option& option : list.options) known.push_back(option.name);
  std::string nearest = NearestWord(name, known);
  return absl::InvalidArgumentError(
      StrCat("unknown option '", typed, "'",
             nearest.empty() ? "" : StrCat("; did you mean '--", nearest, "'?")));
}

absl::Status TakePositionals(const OptionList& list, const std::vector<std::string>& given,
                             bool may_be_missing) {
  const auto& wanted = list.positionals;
  const bool takes_rest = !wanted.empty() && IsRepeatable(wanted.back());
  if (given.size() > wanted.size() && !takes_rest) {
    return absl::InvalidArgumentError(
        StrCat("one argument too many: '", given[wanted.size()], "'",
               wanted.empty() ? "; this command takes options only"
                              : StrCat("; only ", wanted.size(), " (",
                                       absl::StrJoin(wanted, ", ",
                                                     [](std::string* out, const Positional& one) {
                                                       out->append(one.name);
                                                     }),
                                       ") can be given")));
  }
  for (size_t i = 0; i < wanted.size(); ++i) {
    const auto rest = std::span(given).subspan(std::min(i, given.size()));
    if (auto* const* all = std::get_if<std::vector<std::string>*>(&wanted[i].value)) {
      CHECK(i + 1 == wanted.size());
      (*all)->assign(rest.begin(), rest.end());
    } else if (auto* const* maybe = std::get_if<std::optional<std::string>*>(&wanted[i].value)) {
      if (!rest.empty()) **maybe = rest.front();
    } else if (!rest.empty()) {
      *std::get<std::string*>(wanted[i].value) = rest.front();
    } else if (!may_be_missing) {
      return absl::InvalidArgumentError(StrCat(wanted[i].name, " is missing: ", wanted[i].help));
    }
  }
  return absl::OkStatus();
}

// `unread`: the words behind a "--", which are arguments whatever they look like.
absl::Status TakeValues(const OptionList& list, const po::variables_map& values,
                        std::span<const std::string> unread) {
  std::vector<std::string> positionals;
  if (values.count(kPositional) != 0) {
    positionals = values[kPositional].as<std::vector<std::string>>();
  }
  for (const std::string& word : positionals) {
    // Boost takes "-x" for an argument when short options are off. A lone "-" is one.
    if (word.size() > 1 && word[0] == '-') return UnknownOption(list, word);
  }
  positionals.insert(positionals.end(), unread.begin(), unread.end());
  bool answers_alone = false;
  for (const Option& option : list.options) {
    if (values.count(option.name) == 0) continue;
    answers_alone |= option.answers_alone;
    RETURN_IF_ERROR(ReadOption(option, values[option.name]));
  }
  for (const Option& option : list.options) {
    const bool given = values.count(option.name) != 0;
    if (option.required && !given && !answers_alone) {
      return absl::InvalidArgumentError(
          StrCat("--", option.name, " ", ValueName(option), " is missing: ", option.help));
    }
  }
  return TakePositionals(list, positionals, answers_alone);
}

// The words in which options are looked for.
std::span<const std::string> BeforeDashes(std::span<const std::string> arguments) {
  const auto dashes = std::find(arguments.begin(), arguments.end(), "--");
  return arguments.first(static_cast<size_t>(dashes - arguments.begin()));
}

// A word of the command line in which an option's letter or former name is replaced by its name.
std::string WithCurrentName(const OptionList& list, const std::string& word) {
  for (const Option& option : list.options) {
    if (option.letter != 0 && word == std::string{'-', option.letter}) {
      return StrCat("--", option.name);
    }
    const std::string former = StrCat("--", option.former_name);
    if (option.former_name.empty() || !word.starts_with(former)) continue;
    const std::string rest = word.substr(former.size());
    if (rest.empty() || rest[0] == '=') return StrCat("--", option.name, rest);
  }
  return word;
}

// Which word belongs to which option.
absl::StatusOr<po::variables_map> SplitWords(const OptionList& options,
                                             std::span<const std::string> words) {
  try {
    po::options_description all = Describe(options);
    all.add_options()(kPositional, po::value<std::vector<std::string>>());
    po::positional_options_description positionals;
    positionals.add(kPositional, -1);
    po::variables_map values;
    std::vector<std::string> read;
    for (const std::string& word : words) read.push_back(WithCurrentName(options, word));
    po::store(
        po::command_line_parser(read).options(all).positional(positionals).style(kStyle).run(),
        values);
    return values;
  } catch (const po::unknown_option& error) {
    return UnknownOption(options, error.get_option_name());
  } catch (const po::multiple_occurrences& error) {
    return absl::InvalidArgumentError(StrCat(error.get_option_name(), " is given more than once"));
  } catch (const po::error& error) {
    return absl::InvalidArgumentError(error.what());
  } catch (const std::exception& error) {
    return absl::InternalError(StrCat("reading the command line: ", error.what()));
  }
}

}  // namespace

absl::Status ReadValue(const Option& option, const std::string& text) {
  return std::visit(
      [&](auto* target) -> absl::Status {
        using T = std::remove_pointer_t<decltype(target)>;
        if constexpr (std::is_same_v<T, bool>) {
          *target = true;
          return absl::OkStatus();
        } else if constexpr (std::is_same_v<T, int64_t>) {
          return ReadInteger(option, text, target);
        } else if constexpr (std::is_same_v<T, double>) {
          return ReadNumber(option, text, target);
        } else if constexpr (std::is_same_v<T, std::string>) {
          return ReadText(option, text, target);
        } else if constexpr (std::is_same_v<T, Bytes>) {
          return ReadBytes(option, text, target);
        } else if constexpr (std::is_same_v<T, std::optional<int64_t>>) {
          return ReadInteger(option, text, &target->emplace());
        } else if constexpr (std::is_same_v<T, std::optional<double>>) {
          return ReadNumber(option, text, &target->emplace());
        } else if constexpr (std::is_same_v<T, std::optional<std::string>>) {
          return ReadText(option, text, &target->emplace());
        } else if constexpr (std::is_same_v<T, std::optional<Bytes>>) {
          return ReadBytes(option, text, &target->emplace());
        } else if constexpr (std::is_same_v<T, std::optional<BytesPerSecond>>) {
          return ReadRate(text, &target->emplace());
        } else {
          static_assert(std::is_same_v<T, std::vector<std::string>>);
          return ReadText(option, text, &target->emplace_back());
        }
      },
      option.value);
}

absl::Status ParseArguments(const OptionList& options, std::span<const std::string> arguments) {
  const std::span<const std::string> words = BeforeDashes(arguments);
  ASSIGN_OR_RETURN(const po::variables_map values, SplitWords(options, words));
  return TakeValues(options, values,
                    arguments.subspan(std::min(words.size() + 1, arguments.size())));
}

absl::StatusOr<std::optional<std::string>> PeekOption(const OptionList& options,
                                                      const std::string& name,
                                                      std::span<const std::string> arguments) {
  ASSIGN_OR_RETURN(const po::variables_map values, SplitWords(options, BeforeDashes(arguments)));
  const auto given = [&](const std::string& one) { return values.count(one) != 0; };
  for (const Option& option : options.options) {
    if (option.answers_alone && given(option.name)) return std::nullopt;
  }
  if (!given(name)) return std::nullopt;
  return values[name].as<std::string>();
}

size_t CountLeadingOptions(const OptionList& options, std::span<const std::string> arguments) {
  size_t i = 0;
  while (i < arguments.size() && arguments[i].size() > 1 && arguments[i][0] == '-') {
    const std::string word = WithCurrentName(options, arguments[i++]);
    const bool takes_next = std::any_of(
        options.options.begin(), options.options.end(),
        [&](const Option& option) { return !IsFlag(option) && word == StrCat("--", option.name); });
    if (takes_next && i < arguments.size()) ++i;
  }
  return i;
}

}  // namespace horizon

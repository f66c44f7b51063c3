#include "app/options/explain_options.h"

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

#include "app/options/option_text.h"
#include "common/text/str_cat.h"
#include "common/text/wrap.h"

namespace horizon {
namespace {

struct Row {
  std::string left;   // "--batch SEQUENCES"
  std::string right;  // its help
};

// "a", "a or b", "a, b or c".
std::string Alternatives(const std::vector<std::string>& words) {
  std::string text;
  for (size_t i = 0; i < words.size(); ++i) {
    if (i > 0) text += i + 1 == words.size() ? " or " : ", ";
    text += words[i];
  }
  return text;
}

std::string LeftOf(const Option& option) {
  const std::string letter =
      option.letter == 0 ? "" : StrCat("-", std::string(1, option.letter), ", ");
  return StrCat(letter, "--", option.name, IsFlag(option) ? "" : StrCat(" ", ValueName(option)));
}

// The help of an option with its choices and its default behind it in parentheses: "What to show
// (debug, info or warning; default info)".
std::string RightOf(const Option& option) {
  // A default that depends on something else is in the text already, in parentheses at its end.
  constexpr std::string_view kDefault = " (default ";
  const size_t told = std::min(option.help.find(kDefault), option.help.size());
  std::string text = option.help.substr(0, told);
  if (IsRepeatable(option)) text += "; may be repeated";
  std::string value = DefaultText(option);
  if (told < option.help.size()) {
    value = option.help.substr(told + kDefault.size());
    value.pop_back();  // ')'
  } else if (option.required) {
    value.clear();
  }
  std::string behind;
  const bool listed = option.unit.find('|') != std::string::npos;
  if (!option.choices.empty() && !listed) behind = Alternatives(DashedChoices(option));
  if (!value.empty()) behind += StrCat(behind.empty() ? "" : "; ", "default ", value);
  return behind.empty() ? text : StrCat(text, " (", behind, ")");
}

std::string NameOf(const Positional& one) {
  return StrCat(one.name, IsRepeatable(one) ? "..." : "");
}

// Where the help begins: behind the longest left side, but at most at a third of the line. Longer
// left sides have a line of their own.
size_t ColumnFor(const std::vector<Row>& rows, size_t width) {
  const size_t most = width / 3 + 2;
  size_t column = 0;
  for (const Row& row : rows) {
    const size_t needed = 2 + row.left.size() + 2;
    if (needed <= most) column = std::max(column, needed);
  }
  return std::max<size_t>(column, 8);
}

std::string Listed(const Row& row, size_t column, size_t width) {
  std::string text = StrCat("  ", row.left);
  if (text.size() + 2 > column) {
    text += StrCat("\n", std::string(column, ' '));
  } else {
    text.resize(column, ' ');
  }
  return StrCat(text, WrapText(row.right, {.width = width, .column = column, .hang = column}),
                "\n");
}

}  // namespace

std::string UsageOf(std::string_view command, const OptionList& options, size_t width) {
  const std::string begin = StrCat("Usage: horizon ", command);
  std::vector<std::string> needed;
  std::vector<std::string> optional;
  for (const Option& option : options.options) {
    const std::string value = IsFlag(option) ? "" : StrCat(" ", ValueName(option));
    const std::string more = IsRepeatable(option) ? "..." : "";
    const std::string text = StrCat("--", option.name, value);
    if (option.required) {
      needed.push_back(text + more);
    } else {
      optional.push_back(StrCat("[", text, "]", more));
    }
  }
  std::vector<std::string> arguments;
  for (const Positional& one : options.positionals) {
    const bool must = std::holds_alternative<std::string*>(one.value);
    arguments.push_back(must ? one.name : StrCat("[", NameOf(one), "]"));
  }
  const auto usage = [&](const std::vector<std::string>& rest) {
    std::vector<std::string> parts = arguments;
    parts.insert(parts.end(), needed.begin(), needed.end());
    parts.insert(parts.end(), rest.begin(), rest.end());
    const size_t hang = begin.size() + 1;
    return parts.empty() ? begin
                         : StrCat(begin, " ",
                                  WrapParts(parts, {.width = width, .column = hang, .hang = hang}));
  };
  const std::string all = usage(optional);
  return std::count(all.begin(), all.end(), '\n') < 2 ? all : usage({"[OPTION...]"});
}

std::string ExplainOptions(const OptionList& options, size_t width) {
  struct Group {
    std::string heading;
    std::vector<Row> rows;
  };
  std::vector<Group> groups;
  const auto group = [&](const std::string& heading) -> std::vector<Row>& {
    for (Group& one : groups) {
      if (one.heading == heading) return one.rows;
    }
    return groups.emplace_back(Group{.heading = heading}).rows;
  };
  for (const Positional& one : options.positionals) {
    group("Arguments").push_back({.left = NameOf(one), .right = one.help});
  }
  for (const Option& option : options.options) {
    if (option.group.empty()) group("Options").push_back({LeftOf(option), RightOf(option)});
  }
  for (const Option& option : options.options) {
    if (!option.group.empty()) group(option.group).push_back({LeftOf(option), RightOf(option)});
  }
  std::vector<Row> rows;
  for (const Group& one : groups) rows.insert(rows.end(), one.rows.begin(), one.rows.end());
  const size_t column = ColumnFor(rows, width);
  std::string text;
  for (const Group& one : groups) {
    text += StrCat(text.empty() ? "" : "\n", one.heading, ":\n");
    for (const Row& row : one.rows) text += Listed(row, column, width);
  }
  return text;
}

}  // namespace horizon

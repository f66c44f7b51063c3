#include "app/options/option_text.h"

#include <algorithm>
#include <type_traits>
#include <variant>

#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "common/text/str_cat.h"

namespace horizon {

bool IsFlag(const Option& option) { return std::holds_alternative<bool*>(option.value); }

bool IsRepeatable(const Option& option) {
  return std::holds_alternative<std::vector<std::string>*>(option.value);
}

bool IsRepeatable(const Positional& positional) {
  return std::holds_alternative<std::vector<std::string>*>(positional.value);
}

std::string ValueName(const Option& option) {
  if (option.unit.find('|') != std::string::npos) return option.unit;
  std::string name = absl::AsciiStrToUpper(option.unit);
  std::replace(name.begin(), name.end(), ' ', '_');
  return name;
}

std::string Dashed(std::string word) {
  std::replace(word.begin(), word.end(), '_', '-');
  return word;
}

std::vector<std::string> DashedChoices(const Option& option) {
  std::vector<std::string> words;
  for (const std::string& choice : option.choices) words.push_back(Dashed(choice));
  return words;
}

std::string DefaultText(const Option& option) {
  return std::visit(
      [&](auto* target) -> std::string {
        using T = std::remove_pointer_t<decltype(target)>;
        if constexpr (std::is_same_v<T, std::string>) {
          return option.choices.empty() ? *target : Dashed(*target);
        } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
          return absl::StrJoin(*target, ", ");
        } else if constexpr (std::is_same_v<T, Bytes>) {
          return ToString(*target);
        } else if constexpr (std::is_same_v<T, int64_t> || std::is_same_v<T, double>) {
          return StrCat(*target);
        } else {
          return "";  // a flag is off, an optional value is not there
        }
      },
      option.value);
}

WordKind WordKindOf(const Option& option) {
  if (option.words != WordKind::kText) return option.words;
  if (option.unit == "file" || option.unit == "auto|plan.json") return WordKind::kFile;
  if (option.unit == "folder" || option.unit == "auto|folder") return WordKind::kFolder;
  return WordKind::kText;
}

}  // namespace horizon

#include "app/completion.h"

#include <algorithm>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/strings/str_join.h"
#include "app/help.h"
#include "app/options/option_text.h"
#include "app/options/planning_options.h"
#include "common/text/str_cat.h"
#include "model/catalog.h"
#include "planner/machines/machine_catalog.h"

namespace horizon {
namespace {

// What is offered for one word.
struct Offer {
  std::vector<std::string> words;
  bool files = false;
  bool folders = false;
  bool operator==(const Offer&) const = default;
};

struct CompletedOption {
  std::string name;  // without dashes
  std::string help;
  bool flag = false;
  char letter = 0;
  Offer value;
};

struct CompletedCommand {
  std::string name;
  std::string summary;
  std::vector<CompletedOption> options;
  Offer argument;  // for each argument alike
};

Offer OfferOf(WordKind kind, const CommandList& commands) {
  Offer offer;
  switch (kind) {
    case WordKind::kText:
      break;
    case WordKind::kFile:
      offer.files = true;
      break;
    case WordKind::kFolder:
      offer.folders = true;
      break;
    case WordKind::kMachine:
      offer.words = MachineNames();
      offer.words.emplace_back(kThisMachine);
      offer.files = true;
      break;
    case WordKind::kModel:
      offer.words = CatalogNames();
      offer.files = true;
      break;
    case WordKind::kCommand:
      for (const auto& command : commands) offer.words.emplace_back(command->name());
      break;
  }
  return offer;
}

std::vector<CompletedOption> Complete(const std::vector<Option>& options,
                                      const CommandList& commands) {
  std::vector<CompletedOption> completed;
  for (const Option& option : options) {
    CompletedOption& one = completed.emplace_back(CompletedOption{
        .name = option.name, .help = option.help, .flag = IsFlag(option), .letter = option.letter});
    one.value = OfferOf(WordKindOf(option), commands);
    for (const std::string& word : DashedChoices(option)) one.value.words.push_back(word);
    if (option.unit.starts_with("auto|")) one.value.words.emplace_back("auto");
  }
  return completed;
}

std::vector<CompletedCommand> CompleteAll(const CommandList& commands) {
  std::vector<CompletedCommand> all;
  for (const auto& command : commands) {
    GlobalOptions global;
    OptionList list = command->Options();
    const OptionList common = global.AfterCommand();
    list.options.insert(list.options.end(), common.options.begin(), common.options.end());
    CompletedCommand& one =
        all.emplace_back(CompletedCommand{.name = std::string(command->name()),
                                          .summary = std::string(command->summary()),
                                          .options = Complete(list.options, commands)});
    for (const Positional& argument : list.positionals) {
      const Offer offer = OfferOf(argument.words, commands);
      one.argument.words.insert(one.argument.words.end(), offer.words.begin(), offer.words.end());
      one.argument.files |= offer.files;
      one.argument.folders |= offer.folders;
    }
  }
  return all;
}

std::vector<CompletedOption> BeforeCommand(const CommandList& commands) {
  GlobalOptions global;
  return Complete(global.BeforeCommand().options, commands);
}

// In single quotes as bash, zsh and, with a backslash for each quote, fish read them.
std::string Quoted(std::string_view text, Shell shell) {
  std::string quoted = "'";
  for (const char letter : text) {
    if (letter == '\'') {
      quoted += shell == Shell::kFish ? "\\'" : "'\\''";
    } else if (letter == '\\' && shell == Shell::kFish) {
      quoted += "\\\\";
    } else {
      quoted += letter;
    }
  }
  return quoted + "'";
}

std::string OptionWords(const std::vector<CompletedOption>& options) {
  std::string words;
  for (const CompletedOption& option : options) {
    words += StrCat(words.empty() ? "" : " ", "--", option.name);
    if (option.letter != 0) words += StrCat(" -", std::string(1, option.letter));
  }
  return words;
}

// ---- bash and zsh share the tables, as shell functions that set `offered`, `files` and `folders`.

std::string Assignments(const Offer& offer) {
  return StrCat("offered=", Quoted(absl::StrJoin(offer.words, " "), Shell::kBash),
                offer.files ? " files=1" : "", offer.folders ? " folders=1" : "");
}

// The function that says what follows an option, or "flag" if nothing does.
std::string ValueFunction(const std::vector<CompletedCommand>& commands,
                          const std::vector<CompletedOption>& before) {
  std::string text =
      "# Sets offered, files and folders to what option $2 of command $1 takes; fails for a flag.\n"
      "_horizon_value() {\n  case \"$1 $2\" in\n";
  const auto add = [&](const std::string& command, const CompletedOption& option) {
    if (option.flag) return;
    text += StrCat("    '", command, " --", option.name, "') ", Assignments(option.value), " ;;\n");
  };
  for (const CompletedOption& option : before) add("", option);
  for (const CompletedCommand& command : commands) {
    for (const CompletedOption& option : command.options) add(command.name, option);
  }
  return text + "    *) return 1 ;;\n  esac\n}\n";
}

std::string CommandFunction(const std::vector<CompletedCommand>& commands,
                            const std::vector<CompletedOption>& before) {
  std::string text =
      "# Sets known to the options of command $1, and offered, files and folders to what its "
      "arguments are.\n"
      "_horizon_command() {\n  case \"$1\" in\n";
  std::vector<std::string> names;
  for (const CompletedCommand& command : commands) {
    names.push_back(command.name);
    text +=
        StrCat("    ", command.name, ") known=", Quoted(OptionWords(command.options), Shell::kBash),
               " ", Assignments(command.argument), " ;;\n");
  }
  return StrCat(text, "    '') known=", Quoted(OptionWords(before), Shell::kBash),
                " offered=", Quoted(absl::StrJoin(names, " "), Shell::kBash),
                " ;;\n    *) return 1 ;;\n  esac\n}\n");
}

// The walk over the words before the cursor, which both shells understand: sets `command` to the
// command, `option` to the option whose value comes next, and `dashes` to 1 behind a "--".
constexpr std::string_view kWalk = R"(
_horizon_walk() {
  command='' option='' dashes=''
  local word offered files folders
  for word in "$@"; do
    if [ -n "$option" ]; then option=''; continue; fi
    if [ -n "$dashes" ]; then continue; fi
    case "$word" in
      --) dashes=1 ;;
      --*=*) ;;
      --*) if _horizon_value "$command" "$word"; then option=$word; fi ;;
      -*) ;;
      *) if [ -z "$command" ]; then command=$word; fi ;;
    esac
  done
}
)";

constexpr std::string_view kBash = R"(
_horizon() {
  local current=${COMP_LINE:0:COMP_POINT} command option dashes known='' offered='' files='' folders=''
  local -a typed=()
  local i prefix=''
  # Bash cuts words at '=' and ':'; options are put together again as they were typed.
  for ((i = 1; i <= COMP_CWORD; i++)); do
    if [[ ${COMP_WORDS[i]} == = && ${#typed[@]} -gt 0 && ${typed[-1]} == --* && ${typed[-1]} != *=* ]]; then
      typed[-1]+='='
    elif [[ ${#typed[@]} -gt 0 && ${typed[-1]} == --*= && ${COMP_WORDS[i]} != --* ]]; then
      typed[-1]+=${COMP_WORDS[i]}
    else
      typed+=("${COMP_WORDS[i]}")
    fi
  done
  current=${typed[-1]}
  unset 'typed[-1]'
  _horizon_walk "${typed[@]}"
  COMPREPLY=()
  if [[ -z $option && -z $dashes && $current == --*=* ]]; then
    option=${current%%=*}
    current=${current#*=}
    _horizon_value "$command" "$option" || return 0
  elif [[ -n $option ]]; then
    _horizon_value "$command" "$option" || return 0
  else
    _horizon_command "$command" || return 0
    if [[ -z $dashes && $current == -* ]]; then
      COMPREPLY=($(compgen -W "$known" -- "$current"))
      return 0
    fi
  fi
  COMPREPLY=($(compgen -W "$offered" -- "$current"))
  if [[ -n $files || -n $folders ]]; then
    compopt -o filenames 2>/dev/null
    local kind=f name
    [[ -z $files ]] && kind=d
    while IFS= read -r name; do COMPREPLY+=("$name"); done < <(compgen -"$kind" -- "$current")
  fi
}
complete -F _horizon horizon ./horizon
)";

constexpr std::string_view kZsh = R"(
_horizon() {
  emulate -L zsh
  local current=$PREFIX command option dashes known='' offered='' files='' folders=''
  _horizon_walk "${(@)_horizon_typed}"
  if [[ -z $option && -z $dashes && $current == --*=* ]]; then
    option=${current%%=*}
    compset -P '*='
    _horizon_value "$command" "$option" || return 1
  elif [[ -n $option ]]; then
    _horizon_value "$command" "$option" || return 1
  else
    _horizon_command "$command" || return 1
    if [[ -z $dashes && $current == -* ]]; then
      compadd -- ${=known}
      return
    fi
  fi
  local -i found=1
  [[ -n $offered ]] && compadd -- ${=offered} && found=0
  if [[ -n $files ]]; then _files && found=0; elif [[ -n $folders ]]; then _files -/ && found=0; fi
  return found
}
_horizon_start() {
  local -a _horizon_typed=("${(@)words[2,CURRENT-1]}")
  _horizon
}
if (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -u; }; then
  compdef _horizon_start horizon
fi
)";

std::string FishOffer(const Offer& offer) {
  std::string text;
  if (!offer.words.empty()) {
    text += StrCat(" -a ", Quoted(absl::StrJoin(offer.words, " "), Shell::kFish));
  }
  if (offer.folders && !offer.files) text += " -a '(__fish_complete_directories)'";
  return text;
}

std::string FishOption(const CompletedOption& option, const std::string& condition) {
  std::string text = StrCat("complete -c horizon -n ", Quoted(condition, Shell::kFish));
  if (option.letter != 0) text += StrCat(" -s ", std::string(1, option.letter));
  text += StrCat(" -l ", option.name);
  // -x: a value and no files; -r: a value, with files.
  if (!option.flag) text += option.value.files ? " -r -F" : " -x";
  return StrCat(text, FishOffer(option.value), " -d ", Quoted(option.help, Shell::kFish), "\n");
}

std::string FishScript(const std::vector<CompletedCommand>& commands,
                       const std::vector<CompletedOption>& before) {
  std::string text = "complete -c horizon -f\n";
  for (const CompletedOption& option : before) text += FishOption(option, "__fish_use_subcommand");
  for (const CompletedCommand& command : commands) {
    text += StrCat("complete -c horizon -n __fish_use_subcommand -a ", command.name, " -d ",
                   Quoted(command.summary, Shell::kFish), "\n");
  }
  for (const CompletedCommand& command : commands) {
    const std::string condition = StrCat("__fish_seen_subcommand_from ", command.name);
    const std::string argument = FishOffer(command.argument);
    if (command.argument.files || !argument.empty()) {
      text += StrCat("complete -c horizon -n ", Quoted(condition, Shell::kFish),
                     command.argument.files ? " -F" : "", argument, "\n");
    }
    for (const CompletedOption& option : command.options) text += FishOption(option, condition);
  }
  return text;
}

}  // namespace

std::string CompletionScript(Shell shell, const CommandList& commands) {
  const std::vector<CompletedCommand> all = CompleteAll(commands);
  const std::vector<CompletedOption> before = BeforeCommand(commands);
  if (shell == Shell::kFish) {
    return StrCat("# Completion of horizon for fish: horizon completion fish | source\n",
                  FishScript(all, before));
  }
  const bool bash = shell == Shell::kBash;
  return StrCat("# Completion of horizon: source <(horizon completion ", bash ? "bash" : "zsh",
                ")\n", ValueFunction(all, before), CommandFunction(all, before), kWalk,
                bash ? kBash : kZsh);
}

}  // namespace horizon

#pragma once

#include <string>
#include <vector>

#include "app/options/option.h"

namespace horizon {

// The words in which the declaration of an option is shown: in messages, help and completion.

bool IsFlag(const Option& option);  // takes no value
// Whether it may be given several times.
bool IsRepeatable(const Option& option);
bool IsRepeatable(const Positional& positional);

// The name of its value: "NAME_OR_PATH"; alternatives stay as they are typed: "auto|host|cuda[:N]".
std::string ValueName(const Option& option);

// A word as it stands on the command line, with dashes between its parts.
std::string Dashed(std::string word);
std::vector<std::string> DashedChoices(const Option& option);

// The default as a person would type it, which is the present value of the target; empty if there
// is none.
std::string DefaultText(const Option& option);

// What its words are: as declared, else by the unit.
WordKind WordKindOf(const Option& option);

}  // namespace horizon

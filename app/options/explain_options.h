#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "app/options/option.h"

namespace horizon {

// The help texts that follow from the declaration of options. `width` is that of the lines, in
// columns.

// "Usage: horizon model PATH_OR_NAME [--batch SEQUENCES] [--json]". Where that takes more than two
// lines, the options that may be left out are "[OPTION...]".
std::string UsageOf(std::string_view command, const OptionList& options, size_t width);

// The arguments and options with their help, which is wrapped behind them:
//   Options:
//     --sequence TOKENS   Sequence length in tokens (default 1024, or the model's
//                         limit)
// Options without a group come first; the groups follow in the order of their first options.
std::string ExplainOptions(const OptionList& options, size_t width);

}  // namespace horizon

#pragma once

#include <cstdio>

namespace horizon {

// The present width in columns of the terminal that `stream` writes to; 0 if it is not a terminal
// or its width is not known.
int TerminalColumns(std::FILE* stream);

}  // namespace horizon

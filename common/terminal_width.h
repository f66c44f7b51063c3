#pragma once

#include <cstdio>

namespace horizon {

// The columns of the terminal that `stream` writes to, as its window is now; 0 where it is no
// terminal, or one that does not say.
int TerminalColumns(std::FILE* stream);

}  // namespace horizon

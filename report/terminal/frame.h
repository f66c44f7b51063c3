#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/run_view.h"
#include "report/terminal/styled_line.h"

namespace horizon {

// Draws a run on one screen of a terminal (`horizon top`).

// The size of the screen.
struct FrameSize {
  int columns = 80;  // at least 1; longer lines are cut
  int rows = 0;      // largest number of lines, which the curves fill; 0: no limit
};

// Returns the lines of the screen, without newlines: model, step, loss, throughput against the
// prediction and time left; how evenly experts are chosen, if the model has some; each lane over a
// steady step, predicted and measured; memory against prediction and limit; curves of loss and
// throughput; the last evaluation. Pure. `problem` says why the folder could not be read again, and
// `view` is then what was read before; "" if it could.
std::vector<std::string> DrawFrame(const RunView& view, std::string_view problem,
                                   const FrameSize& size, const FrameStyle& style);

}  // namespace horizon

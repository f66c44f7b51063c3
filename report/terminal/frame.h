#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "report/run_view.h"
#include "report/terminal/styled_line.h"

namespace horizon {

struct FrameSize {
  int columns = 80;  // at least 1; lines are cut there
  int rows = 0;      // at most so many lines, the curves as high as they leave room for; 0: any
};

// A run on one screen: model, step, loss, throughput against the prediction and time left; each
// lane over a steady step, predicted and measured; memory against prediction and limit; curves of
// loss and throughput; the last evaluation. Lines have no newline. Pure. `problem` is why the
// folder could not be read again, "" where it could; `view` is then what was read before.
std::vector<std::string> DrawFrame(const RunView& view, std::string_view problem,
                                   const FrameSize& size, const FrameStyle& style);

}  // namespace horizon

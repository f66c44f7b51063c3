#pragma once

#include <string>

#include "tests/browser/browser.h"

namespace horizon {

// What every page of ours must be on every screen, checked in a real browser. Each answer is empty
// when all is well and else says what is wrong.

// Gives the tab a size in pixels and the reader's wish for "light" or "dark".
std::string Emulate(Browser& browser, int width, int height, const std::string& scheme);

// The page is wider than its window, so that it scrolls sideways as a whole.
std::string SidewaysProblem(Browser& browser);

// Texts of visible charts that are smaller than 12 pixels, lie on each other or leave their chart.
std::string ChartTextProblem(Browser& browser);

}  // namespace horizon

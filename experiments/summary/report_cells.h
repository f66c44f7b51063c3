#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "presentation/html.h"

namespace horizon {

// How the report's tables write their cells.

HtmlCell TextCell(std::string text);
HtmlCell NumberCell(std::string text, CellTone tone = CellTone::kPlain);

// Names of text columns, then of number columns.
std::vector<HtmlCell> Header(std::initializer_list<std::string_view> texts,
                             std::initializer_list<std::string_view> numbers);

// A figure with as many decimals as its size wants: "1792", "128.0", "3.56".
std::string FigureText(double value);

// Good, bearable or bad: up to 10 % (what the project set itself for the mean), up to 20 % (for the
// worst sound row), above. `error` is a share of either sign.
CellTone ToneOf(double error);

}  // namespace horizon

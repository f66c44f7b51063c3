#pragma once

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "experiments/agreement.h"
#include "presentation/html.h"

namespace horizon {

// Makes the cells of the report's tables.

HtmlCell TextCell(std::string text);
HtmlCell NumberCell(std::string text, CellTone tone = CellTone::kPlain);

// The header of a table that has text columns first, then number columns.
std::vector<HtmlCell> Header(std::initializer_list<std::string_view> texts,
                             std::initializer_list<std::string_view> numbers);

// A figure as text, with as many decimals as suit its size: "1792", "128.0", "3.56".
std::string FigureText(double value);

// The tone of a figure: good if it holds, a warning if it is close, bad if it misses. An error is a
// fraction.
CellTone ToneOf(Agreement agreement);
CellTone ToneOf(double error);

}  // namespace horizon

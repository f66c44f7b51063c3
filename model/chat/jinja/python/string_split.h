#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/chat/jinja/jinja_run.h"

namespace horizon {

// Splits, strips, replaces and pads texts like the methods of Python's str. Every part keeps its
// origin.

// The methods str.split, str.rsplit and str.splitlines.
JinjaValue CallSplit(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments);
JinjaValue CallRsplit(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments);
JinjaValue CallSplitlines(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments);

// Splits a text at the line ends of str.splitlines. The lines include their ends if `keep_ends`.
std::vector<TracedText> SplitLines(const TracedText& text, bool keep_ends);

// Strips white space, or the characters in `stripped` if it is not null, from the chosen sides.
TracedText StripText(const TracedText& text, bool left, bool right,
                     const std::string_view* stripped);
// Replaces the first `count` occurrences; all of them if `count` is negative.
TracedText ReplaceText(JinjaRun& run, const TracedText& text, const TracedText& from,
                       const TracedText& to, int64_t count);
// Adds `fill` on the right ('<'), on the left ('>') or on both sides, up to `width` characters. An
// odd number is divided like str.center ('^') or like format ('=').
TracedText PadText(JinjaRun& run, const TracedText& text, int64_t width, char side,
                   const TracedText& fill);

}  // namespace horizon

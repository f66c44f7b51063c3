#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "model/chat/jinja/jinja_run.h"

namespace horizon {

// Texts taken apart and put together, as Python's str does it. Every part keeps its origin.

JinjaValue CallSplit(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments);
JinjaValue CallRsplit(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments);
JinjaValue CallSplitlines(JinjaRun& run, const JinjaValue& self, const JinjaArguments& arguments);

// Lines at what str.splitlines takes for their end, which they keep if `keep_ends`.
std::vector<TracedText> SplitLines(const TracedText& text, bool keep_ends);

// Without white space, or characters of `stripped`, on those sides.
TracedText StripText(const TracedText& text, bool left, bool right,
                     const std::string_view* stripped);
// The first `count` times; all if it is negative.
TracedText ReplaceText(JinjaRun& run, const TracedText& text, const TracedText& from,
                       const TracedText& to, int64_t count);
// `fill` on the right ('<'), on the left ('>') or on both sides up to `width` characters; what
// cannot be halved as str.center ('^') or as format ('=') does it.
TracedText PadText(JinjaRun& run, const TracedText& text, int64_t width, char side,
                   const TracedText& fill);

}  // namespace horizon

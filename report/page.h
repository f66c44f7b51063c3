#pragma once

#include <string>
#include <string_view>

namespace horizon {

// The page of a run: one self-contained HTML document with its style, its script and the data
// `view_json` (ViewJson).
std::string RunPage(std::string_view title, std::string_view view_json);
// The same page without data. The server adds a script that calls render(view) of the page.
std::string LivePage(std::string_view title);

}  // namespace horizon

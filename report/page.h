#pragma once

#include <string>
#include <string_view>

namespace horizon {

// The page of a run: one HTML document with its style, its script and `view_json` (ViewJson) in it,
// which refers to nothing outside itself.
std::string RunPage(std::string_view title, std::string_view view_json);
// The same page without data: whoever serves it adds a script that calls render(view) of the page.
std::string LivePage(std::string_view title);

}  // namespace horizon

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace horizon {

// What is wrong with `text` as XML (one root, tags nested, attributes quoted, no bare & or <), or
// "" if nothing is. A leading <!DOCTYPE html> is allowed; comments and CDATA are not.
std::string XmlProblem(std::string_view text);

// The content of every <tag ...>content</tag> without an element inside, in order, still escaped.
std::vector<std::string> ElementTexts(std::string_view text, std::string_view tag);

// The values of every attribute `name`, in order, still escaped.
std::vector<std::string> AttributeValues(std::string_view text, std::string_view name);

int CountOf(std::string_view text, std::string_view part);

}  // namespace horizon

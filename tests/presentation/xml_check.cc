#include "tests/presentation/xml_check.h"

#include <algorithm>
#include <cstddef>
#include <regex>

#include "common/text/str_cat.h"

namespace horizon {
namespace {

std::string Matches(const std::regex& pattern, std::string_view text) {
  return std::regex_match(text.begin(), text.end(), pattern) ? "" : std::string(text);
}

std::string ContentProblem(std::string_view content) {
  for (size_t at = content.find('&'); at != std::string_view::npos;
       at = content.find('&', at + 1)) {
    const std::string_view entity = content.substr(at, content.find(';', at) - at + 1);
    static const std::regex kEntity("&(amp|lt|gt|quot|#[0-9]+);");
    if (!Matches(kEntity, entity).empty()) return StrCat("bare & at ", content.substr(at, 20));
  }
  const bool has_control = std::any_of(content.begin(), content.end(), [](char c) {
    return static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t' && c != '\r';
  });
  return has_control ? "control character" : "";
}

// One tag without its < and >; pushes and pops the names of open elements.
std::string TakeTag(std::string_view tag, std::vector<std::string>& open) {
  static const std::regex kTag(R"re(/?[a-z][a-z0-9]*( [a-zA-Z-]+="[^"<]*")*/?)re");
  if (!Matches(kTag, tag).empty()) return StrCat("bad tag <", tag, ">");
  if (tag.starts_with('/')) {
    if (open.empty() || open.back() != tag.substr(1)) {
      return StrCat("<", tag, "> closes ", open.empty() ? "nothing" : open.back());
    }
    open.pop_back();
  } else if (!tag.ends_with('/')) {
    open.emplace_back(tag.substr(0, tag.find(' ')));
  }
  return ContentProblem(tag);
}

}  // namespace

std::string XmlProblem(std::string_view text) {
  constexpr std::string_view kDoctype = "<!DOCTYPE html>\n";
  if (text.starts_with(kDoctype)) text.remove_prefix(kDoctype.size());
  if (!text.starts_with('<')) return "does not begin with an element";
  std::vector<std::string> open;
  while (!text.empty()) {
    if (text.front() == '<') {
      const size_t end = text.find('>');
      if (end == std::string_view::npos) return "a tag is not closed";
      if (std::string problem = TakeTag(text.substr(1, end - 1), open); !problem.empty()) {
        return problem;
      }
      text.remove_prefix(end + 1);
      if (open.empty()) return text == "\n" ? "" : StrCat("text behind the root: ", text);
    } else {
      const std::string_view content = text.substr(0, text.find('<'));
      if (std::string problem = ContentProblem(content); !problem.empty()) return problem;
      text.remove_prefix(content.size());
    }
  }
  return StrCat("<", open.back(), "> is never closed");
}

std::vector<std::string> ElementTexts(std::string_view text, std::string_view tag) {
  std::vector<std::string> found;
  const std::regex pattern(StrCat("<", tag, "( [^>]*)?>([^<]*)</", tag, ">"));
  const std::string owned(text);
  for (std::sregex_iterator at(owned.begin(), owned.end(), pattern), end; at != end; ++at) {
    found.push_back((*at)[2]);
  }
  return found;
}

std::vector<std::string> AttributeValues(std::string_view text, std::string_view name) {
  std::vector<std::string> found;
  const std::string opening = StrCat(" ", name, "=\"");
  for (size_t at = text.find(opening); at != std::string_view::npos;
       at = text.find(opening, at + 1)) {
    const size_t begin = at + opening.size();
    found.emplace_back(text.substr(begin, text.find('"', begin) - begin));
  }
  return found;
}

int CountOf(std::string_view text, std::string_view part) {
  int count = 0;
  for (size_t at = text.find(part); at != std::string_view::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace horizon

#include "report/page.h"

#include "absl/strings/str_replace.h"
#include "presentation/escape_xml.h"
#include "report/page_data.h"

namespace horizon {
namespace {

// Inside a <script> only "<" could end it; in JSON it stands in strings only.
std::string InScript(std::string_view json) {
  return absl::StrReplaceAll(std::string(json), {{"<", "\\u003c"}});
}

std::string Page(std::string_view title, const std::string& data) {
  const std::string script = std::string(kDrawJs) + kTimelineJs + kExpertsJs + kPageJs;
  return absl::StrReplaceAll(kPageHtml, {{"{{title}}", EscapeXml(title)},
                                         {"{{style}}", kPageCss},
                                         {"{{script}}", script},
                                         {"{{data}}", data}});
}

}  // namespace

std::string RunPage(std::string_view title, std::string_view view_json) {
  return Page(title, InScript(view_json));
}

std::string LivePage(std::string_view title) { return Page(title, "null"); }

}  // namespace horizon

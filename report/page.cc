#include "report/page.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "common/check.h"
#include "presentation/escape_xml.h"
#include "report/page_data.h"

namespace horizon {
namespace {

// Inside a <script> only "<" could end it; in JSON it stands in strings only.
std::string InScript(std::string_view json) {
  return absl::StrReplaceAll(json, {{"<", "\\u003c"}});
}

std::string Page(std::string_view title, std::string_view data) {
  return absl::StrReplaceAll(kPageHtml,
                             {{"{{title}}", EscapeXml(title)},
                              {"{{style}}", kPageCss},
                              {"{{script}}", absl::StrCat(kDrawJs, kTimelineJs, kPageJs)},
                              {"{{data}}", data}});
}

}  // namespace

std::string RunPage(std::string_view title, std::string_view view_json) {
  return Page(title, InScript(view_json));
}

std::string LivePage(std::string_view title) { return Page(title, "null"); }

}  // namespace horizon

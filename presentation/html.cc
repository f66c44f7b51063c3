#include "presentation/html.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/text/str_cat.h"
#include "presentation/escape_xml.h"
#include "presentation/html_style.h"

namespace horizon {
namespace {

std::string_view ToneClass(CellTone tone) {
  switch (tone) {
    case CellTone::kPlain:
      return "";
    case CellTone::kGood:
      return "good";
    case CellTone::kWarn:
      return "warn";
    case CellTone::kBad:
      return "bad";
    case CellTone::kMuted:
      return "muted";
  }
  return "";
}

std::string RenderCell(std::string_view tag, const HtmlCell& cell) {
  const std::string_view number = cell.align == CellAlign::kNumber ? "number" : "";
  const std::string_view tone = ToneClass(cell.tone);
  std::string attributes;
  if (!number.empty() || !tone.empty()) {
    attributes = StrCat(" class=\"", number, number.empty() || tone.empty() ? "" : " ", tone, "\"");
  }
  if (!cell.tooltip.empty()) attributes += StrCat(" title=\"", EscapeXml(cell.tooltip), "\"");
  const std::string_view scope = tag == "th" ? " scope=\"col\"" : "";
  return StrCat("<", tag, scope, attributes, ">", EscapeXml(cell.text), "</", tag, ">");
}

std::string RenderRow(std::string_view tag, const std::vector<HtmlCell>& cells) {
  std::string row = "<tr>";
  for (const HtmlCell& cell : cells) row += RenderCell(tag, cell);
  return row + "</tr>\n";
}

std::string Element(std::string_view open, std::string_view text, std::string_view close) {
  return StrCat(open, EscapeXml(text), close, "\n");
}

bool IsIdLetter(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

// "Depth scaling (GH200)" -> "depth-scaling-gh200"; "section" if no letter is left.
std::string Slug(std::string_view heading) {
  std::string slug;
  for (const char c : heading) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    if (IsIdLetter(lower)) {
      slug.push_back(lower);
    } else if (!slug.empty() && slug.back() != '-') {
      slug.push_back('-');
    }
  }
  if (slug.ends_with('-')) slug.pop_back();
  return slug.empty() ? "section" : slug;
}

}  // namespace

HtmlPage::HtmlPage(std::string title) : title_(std::move(title)) {}

std::string HtmlPage::UniqueId(std::string_view heading) const {
  const std::string slug = Slug(heading);
  std::string id = slug;
  const auto is_taken = [&](const Section& section) { return section.id == id; };
  for (int copy = 2; std::any_of(sections_.begin(), sections_.end(), is_taken); ++copy) {
    id = StrCat(slug, "-", copy);
  }
  return id;
}

std::string& HtmlPage::body() { return sections_.empty() ? introduction_ : sections_.back().body; }

void HtmlPage::AddSection(std::string_view heading) {
  sections_.push_back({.heading = std::string(heading), .id = UniqueId(heading)});
}

void HtmlPage::AddSubheading(std::string_view heading) {
  body() += Element("<h3>", heading, "</h3>");
}

void HtmlPage::AddParagraph(std::string_view text) { body() += Element("<p>", text, "</p>"); }

void HtmlPage::AddNote(std::string_view text) {
  body() += Element("<p class=\"note\">", text, "</p>");
}

void HtmlPage::AddPreformatted(std::string_view text) {
  body() += Element("<pre>", text, "</pre>");
}

void HtmlPage::AddTable(const HtmlTable& table) {
  // The box takes the keyboard's focus so that it can be scrolled without a mouse.
  std::string html = "<div class=\"table\" tabindex=\"0\"><table>\n";
  if (!table.caption.empty()) html += Element("<caption>", table.caption, "</caption>");
  html += StrCat("<thead>", RenderRow("th", table.header), "</thead>\n<tbody>\n");
  for (const std::vector<HtmlCell>& row : table.rows) {
    CHECK(row.size() == table.header.size());
    html += RenderRow("td", row);
  }
  body() += StrCat(html, "</tbody></table></div>\n");
}

void HtmlPage::AddContents() { sections_before_contents_ = sections_.size(); }

void HtmlPage::AddFigure(std::string_view svg, std::string_view caption) {
  body() += StrCat("<figure>\n<div class=\"drawing\" tabindex=\"0\">", svg, "</div>",
                   caption.empty() ? "" : Element("<figcaption>", caption, "</figcaption>"),
                   "</figure>\n");
}

void HtmlPage::AddFigure(std::string_view svg, std::string_view narrow_svg,
                         std::string_view caption) {
  body() += StrCat(
      "<figure>\n<div class=\"wide\">", svg, "</div><div class=\"narrow\">", narrow_svg, "</div>",
      caption.empty() ? "" : Element("<figcaption>", caption, "</figcaption>"), "</figure>\n");
}

std::string HtmlPage::Contents() const {
  std::string html = "<nav><strong>Contents</strong>\n<ol>\n";
  for (const Section& section : sections_) {
    html += StrCat("<li><a href=\"#", section.id, "\">", EscapeXml(section.heading), "</a></li>\n");
  }
  return html + "</ol></nav>\n";
}

std::string HtmlPage::Render() const {
  const std::string title = EscapeXml(title_);
  std::string html = StrCat(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\"/>\n",
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n",
      "<meta name=\"generator\" content=\"horizon report\"/>\n<title>", title, "</title>\n<style>",
      kHtmlStyle, "</style>\n</head>\n<body>\n<main>\n<h1>", title, "</h1>\n", introduction_);
  for (size_t i = 0; i < sections_.size(); ++i) {
    if (i == sections_before_contents_) html += Contents();
    html += StrCat("<section>\n<h2 id=\"", sections_[i].id, "\">", EscapeXml(sections_[i].heading),
                   "</h2>\n", sections_[i].body, "</section>\n");
  }
  if (!sections_.empty() && sections_before_contents_ == sections_.size()) html += Contents();
  return html + "</main>\n</body>\n</html>\n";
}

}  // namespace horizon

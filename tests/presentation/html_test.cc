#include "presentation/html.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "presentation/bar_chart.h"
#include "presentation/plot.h"
#include "tests/presentation/xml_check.h"

namespace horizon {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

HtmlPage Sample() {
  HtmlPage page("Experiments");
  page.AddParagraph("Nothing was run.");
  page.AddSection("Depth");
  page.AddSubheading("GH200");
  page.AddTable({.caption = "Published and simulated",
                 .header = {{"model"}, {"error %", CellAlign::kNumber}},
                 .rows = {{{"7b"}, {"3.1", CellAlign::kNumber, CellTone::kGood, "bound: 10"}},
                          {{"14b", CellAlign::kText, CellTone::kMuted},
                           {"25", CellAlign::kNumber, CellTone::kBad}}}});
  page.AddNote("One row is missed.");
  page.AddSection("Width");
  page.AddPreformatted("./horizon experiments\n  --output out");
  page.AddFigure(DrawSvg(Plot{.title = "p", .series = {{.name = "s", .points = {{1, 1}}}}}), "One");
  page.AddFigure(DrawSvg(BarChart{.categories = {"a"}, .series = {{.bars = {{1}}}}}), "");
  return page;
}

TEST(HtmlPage, IsWellFormed) {
  EXPECT_EQ(XmlProblem(Sample().Render()), "");
  EXPECT_EQ(XmlProblem(HtmlPage("").Render()), "");
}

TEST(HtmlPage, NeedsNothingFromOutside) {
  const std::string html = Sample().Render();
  EXPECT_THAT(html, StartsWith("<!DOCTYPE html>\n<html lang=\"en\">"));
  for (const char* part :
       {"<script", "<link", "<img", "<iframe", "@import", "url(", "javascript:"}) {
    EXPECT_THAT(html, Not(HasSubstr(part)));
  }
  EXPECT_THAT(AttributeValues(html, "src"), ElementsAre());
  EXPECT_THAT(AttributeValues(html, "href"), ElementsAre("#depth", "#width"));
  // The name of the SVG language is an address nobody opens.
  EXPECT_EQ(CountOf(html, "http"), CountOf(html, "xmlns=\"http://www.w3.org/2000/svg\""));
}

TEST(HtmlPage, HasDarkAndPrintRules) {
  const std::string html = Sample().Render();
  EXPECT_THAT(html, HasSubstr("prefers-color-scheme: dark"));
  EXPECT_THAT(html, HasSubstr("@media print"));
  EXPECT_THAT(html, HasSubstr("position: sticky"));
  EXPECT_THAT(html, HasSubstr("tabular-nums"));
}

TEST(HtmlPage, KeepsTheOrderInWhichItWasBuilt) {
  const std::string html = Sample().Render();
  size_t last = 0;
  for (const char* part :
       {"<h1>Experiments</h1>", "<p>Nothing was run.</p>", "<nav>", "<h2 id=\"depth\">Depth</h2>",
        "<h3>GH200</h3>", "<caption>Published and simulated</caption>",
        "<p class=\"note\">One row is missed.</p>", "<h2 id=\"width\">Width</h2>",
        "<pre>./horizon experiments\n  --output out</pre>", "<svg ",
        "<figcaption>One</figcaption>"}) {
    const size_t at = html.find(part);
    ASSERT_NE(at, std::string::npos) << part;
    EXPECT_GT(at, last) << part;
    last = at;
  }
  EXPECT_EQ(CountOf(html, "<figcaption>"), 1);
}

TEST(HtmlPage, CellsCarryAlignmentToneAndTooltip) {
  const std::string html = Sample().Render();
  EXPECT_THAT(html, HasSubstr("<th scope=\"col\">model</th><th scope=\"col\" class=\"number\">"));
  EXPECT_THAT(html,
              HasSubstr("<tr><td>7b</td><td class=\"number good\" title=\"bound: 10\">3.1</td>"));
  EXPECT_THAT(html, HasSubstr("<tr><td class=\"muted\">14b</td><td class=\"number bad\">25</td>"));
  HtmlPage page("t");
  page.AddTable({.header = {{"a"}}, .rows = {{{"b", CellAlign::kText, CellTone::kWarn}}}});
  EXPECT_THAT(page.Render(), HasSubstr("<td class=\"warn\">b</td>"));
  EXPECT_THAT(page.Render(), Not(HasSubstr("<caption>")));
}

TEST(HtmlPage, ATableWithoutRowsKeepsItsHeader) {
  HtmlPage page("t");
  page.AddTable({.header = {{"a"}}});
  EXPECT_EQ(XmlProblem(page.Render()), "");
  EXPECT_EQ(CountOf(page.Render(), "<td"), 0);
  EXPECT_EQ(CountOf(page.Render(), ">a</th>"), 1);
}

TEST(HtmlPage, SectionsHaveDifferentIdsWhateverTheirHeadings) {
  HtmlPage page("t");
  const std::vector<std::string> headings = {"A b",   "A b", "a  (B)!", "a b 2",
                                             "a b 2", "é",   "",        "-"};
  for (const std::string& heading : headings) page.AddSection(heading);
  const std::vector<std::string> ids = AttributeValues(page.Render(), "id");
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), headings.size());
  EXPECT_EQ(ids[0], "a-b");
  const std::vector<std::string> links = AttributeValues(page.Render(), "href");
  ASSERT_EQ(links.size(), ids.size());
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(links[i], "#" + ids[i]);
}

TEST(HtmlPage, WithoutSectionsThereAreNoContents) {
  EXPECT_EQ(CountOf(HtmlPage("t").Render(), "<nav>"), 0);
  HtmlPage page("t");
  page.AddContents();
  EXPECT_EQ(CountOf(page.Render(), "<nav>"), 0);
}

TEST(HtmlPage, TheContentsStandWhereTheyAreAskedForAndListAllSections) {
  HtmlPage page("t");
  page.AddSection("First");
  page.AddContents();
  page.AddSection("Second");
  const std::string html = page.Render();
  EXPECT_EQ(CountOf(html, "<nav>"), 1);
  EXPECT_LT(html.find("First</h2>"), html.find("<nav>"));
  EXPECT_LT(html.find("<nav>"), html.find("Second</h2>"));
  EXPECT_THAT(AttributeValues(html, "href"), ElementsAre("#first", "#second"));
  page.AddContents();
  const std::string at_the_end = page.Render();
  EXPECT_LT(at_the_end.find("Second</h2>"), at_the_end.find("<nav>"));
  EXPECT_EQ(CountOf(at_the_end, "<nav>"), 1);
  EXPECT_EQ(XmlProblem(at_the_end), "");
}

TEST(HtmlPage, AFigureMayHaveADrawingForNarrowScreens) {
  HtmlPage page("t");
  page.AddFigure("<svg class=\"a\"/>", "<svg class=\"b\"/>", "Both");
  const std::string html = page.Render();
  EXPECT_EQ(XmlProblem(html), "");
  EXPECT_THAT(html, HasSubstr("<div class=\"wide\"><svg class=\"a\"/></div>"
                              "<div class=\"narrow\"><svg class=\"b\"/></div>"
                              "<figcaption>Both</figcaption>"));
  EXPECT_THAT(html, HasSubstr(".narrow { display: none; }"));
}

TEST(HtmlPage, EveryTextIsEscaped) {
  const std::string evil = "</p><script src=\"http://x\">&'\x02\xC0";
  HtmlPage page(evil);
  page.AddParagraph(evil);
  page.AddSection(evil);
  page.AddSubheading(evil);
  page.AddNote(evil);
  page.AddPreformatted(evil);
  page.AddTable({.caption = evil,
                 .header = {{evil, CellAlign::kText, CellTone::kPlain, evil}},
                 .rows = {{{evil, CellAlign::kNumber, CellTone::kPlain, evil}}}});
  page.AddFigure("", evil);
  const std::string html = page.Render();
  EXPECT_EQ(XmlProblem(html), "");
  EXPECT_EQ(CountOf(html, "<script"), 0);
  EXPECT_EQ(CountOf(html, "&lt;script src=&quot;http://x&quot;&gt;&amp;&#39;\uFFFD\uFFFD"), 14);
}

TEST(XmlProblem, FindsWhatIsWrong) {
  EXPECT_EQ(XmlProblem("<a><b x=\"1\"/>t&amp;</a>\n"), "");
  for (const char* bad : {"", "text", "<a>", "<a></b>", "<a><b></a></b>", "<a x=1></a>", "<a>&</a>",
                          "<a>\x01</a>", "<a></a><b></b>", "<a x=\"&\"></a>", "<a", "</a>"}) {
    EXPECT_NE(XmlProblem(bad), "") << bad;
  }
}

}  // namespace
}  // namespace horizon

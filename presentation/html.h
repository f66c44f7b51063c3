#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace horizon {

// The alignment of a cell. Numbers are aligned to the right, with digits of equal width.
enum class CellAlign { kText, kNumber };

// The emphasis of a cell, shown by color and weight.
enum class CellTone { kPlain, kGood, kWarn, kBad, kMuted };

// One cell of a table.
struct HtmlCell {
  std::string text;
  CellAlign align = CellAlign::kText;
  CellTone tone = CellTone::kPlain;
  std::string tooltip;  // none if ""
};

// Every row has as many cells as the header.
struct HtmlTable {
  std::string caption;  // none if ""
  std::vector<HtmlCell> header;
  std::vector<std::vector<HtmlCell>> rows;
};

// Builds one self-contained HTML page in reading order: a title, an introduction, sections and a
// table of contents. The page has no script and no external reference, follows the reader's light
// or dark theme and can be printed. All text is escaped; only figures are inserted unchanged.
//   HtmlPage page("Results");
//   page.AddSection("Throughput");
//   page.AddTable(table);
//   std::string html = page.Render();
class HtmlPage {
 public:
  explicit HtmlPage(std::string title);

  // Begins a section, which gets an entry in the table of contents. Everything added before the
  // first section is the introduction.
  void AddSection(std::string_view heading);
  // A smaller heading inside the section, without an entry in the table of contents.
  void AddSubheading(std::string_view heading);
  void AddParagraph(std::string_view text);
  // A highlighted paragraph, such as a limit of the figures or a reason why a row is off.
  void AddNote(std::string_view text);
  // Text that keeps its spaces and line ends, such as a command.
  void AddPreformatted(std::string_view text);
  void AddTable(const HtmlTable& table);
  // Places the table of contents here. It lists all sections, also those above. Without a call it
  // stands between the introduction and the first section.
  void AddContents();
  // `svg` comes from our own DrawSvg and is inserted unchanged. The second form also takes a
  // drawing of the same for narrow screens such as phones, which is shown there instead.
  void AddFigure(std::string_view svg, std::string_view caption);
  void AddFigure(std::string_view svg, std::string_view narrow_svg, std::string_view caption);

  // The whole page so far. Deterministic: the same calls give the same bytes.
  std::string Render() const;

 private:
  struct Section {
    std::string heading;
    std::string id;
    std::string body;
  };

  std::string UniqueId(std::string_view heading) const;
  std::string& body();
  std::string Contents() const;

  std::string title_;
  std::string introduction_;
  std::vector<Section> sections_;
  size_t sections_before_contents_ = 0;
};

}  // namespace horizon

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace horizon {

// Numbers are set flush right with digits of equal width.
enum class CellAlign { kText, kNumber };

// What a cell wants to say beyond its text; shown by color and weight.
enum class CellTone { kPlain, kGood, kWarn, kBad, kMuted };

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

// One self-contained page: a title, an introduction, a table of contents and sections, each built
// in reading order. No script and no reference to anything outside; light and dark as the reader
// prefers; printable. All text is escaped; only figures are taken as they are.
class HtmlPage {
 public:
  explicit HtmlPage(std::string title);

  // Begins a section, which gets an entry in the table of contents. What is added before the first
  // is the introduction.
  void AddSection(std::string_view heading);
  // A smaller heading inside the section, without an entry.
  void AddSubheading(std::string_view heading);
  void AddParagraph(std::string_view text);
  // A paragraph set apart: a limit of the figures, a reason why a row is missed.
  void AddNote(std::string_view text);
  // Text in which spaces and line ends count, such as a command.
  void AddPreformatted(std::string_view text);
  void AddTable(const HtmlTable& table);
  // `svg` is a drawing of ours (DrawSvg) and is put in as it is.
  void AddFigure(std::string_view svg, std::string_view caption);

  // The whole page so far. Pure: the same calls give the same bytes.
  std::string Render() const;

 private:
  struct Section {
    std::string heading;
    std::string id;
    std::string body;
  };

  std::string UniqueId(std::string_view heading) const;
  std::string& body();

  std::string title_;
  std::string introduction_;
  std::vector<Section> sections_;
};

}  // namespace horizon

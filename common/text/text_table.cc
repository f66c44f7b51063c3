#include "common/text/text_table.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/text/wrap.h"

namespace horizon {
namespace {

// What follows in the first column stands below its first line, a little to the right.
size_t HangOf(size_t column) { return column == 0 ? 2 : 0; }

// The lines of a cell; a cell that fits stays as it is.
std::vector<std::string> LinesOf(const std::string& cell, size_t width, size_t hang) {
  if (cell.size() <= width) return {cell};
  const std::string wrapped = WrapText(cell, {.width = width, .hang = hang});
  std::vector<std::string> lines;
  for (size_t begin = 0; begin <= wrapped.size();) {
    const size_t end = std::min(wrapped.find('\n', begin), wrapped.size());
    lines.push_back(wrapped.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

}  // namespace

TextTable::TextTable(std::vector<std::string> header) : widths_(header.size(), 0) {
  AddRow(std::move(header));
  AddRule();
}

void TextTable::AddRow(std::vector<std::string> cells) {
  CHECK(!cells.empty() && cells.size() == widths_.size());
  for (size_t i = 0; i < cells.size(); ++i) widths_[i] = std::max(widths_[i], cells[i].size());
  rows_.push_back(std::move(cells));
}

void TextTable::AddRule() { rows_.emplace_back(); }

std::string TextTable::Finish() && { return std::move(*this).Finish(kAnyWidth); }

size_t TextTable::TableWidth() const {
  size_t width = 2 * (widths_.size() - 1);
  for (const size_t column : widths_) width += column;
  return width;
}

void TextTable::Narrow(size_t columns) {
  if (TableWidth() <= columns) return;
  std::vector<size_t> narrowest(widths_.size(), 1);
  for (const std::vector<std::string>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) {
      const size_t hang = HangOf(i);
      for (const std::string& line : LinesOf(row[i], 1, hang)) {
        narrowest[i] = std::max(narrowest[i], line.size());
      }
    }
  }
  for (size_t width = TableWidth(); width > columns; --width) {
    size_t widest = widths_.size();
    for (size_t i = 0; i < widths_.size(); ++i) {
      if (widths_[i] <= narrowest[i]) continue;
      if (widest == widths_.size() || widths_[i] > widths_[widest]) widest = i;
    }
    if (widest == widths_.size()) return;
    --widths_[widest];
  }
}

std::string TextTable::Finish(size_t columns) && {
  Narrow(columns);
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    if (row.empty()) {
      text += std::string(TableWidth(), '-') + "\n";
      continue;
    }
    std::vector<std::vector<std::string>> cells;
    size_t lines = 1;
    for (size_t i = 0; i < row.size(); ++i) {
      lines = std::max(lines, cells.emplace_back(LinesOf(row[i], widths_[i], HangOf(i))).size());
    }
    for (size_t at = 0; at < lines; ++at) {
      std::string line;
      for (size_t i = 0; i < cells.size(); ++i) {
        const std::string cell = at < cells[i].size() ? cells[i][at] : "";
        const std::string space(widths_[i] - cell.size(), ' ');
        if (i > 0) line.append("  ").append(space);
        line += cell;
        if (i == 0) line += space;
      }
      line.erase(line.find_last_not_of(' ') + 1);
      text += line + "\n";
    }
  }
  return text;
}

}  // namespace horizon

#include "common/text/text_table.h"

#include <algorithm>
#include <utility>

#include "common/check.h"

namespace horizon {

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

std::string TextTable::Finish() && {
  size_t width = 2 * (widths_.size() - 1);
  for (size_t column : widths_) width += column;
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    if (row.empty()) {
      text += std::string(width, '-') + "\n";
      continue;
    }
    std::string line = row[0] + std::string(widths_[0] - row[0].size(), ' ');
    for (size_t i = 1; i < row.size(); ++i) {
      line += std::string(2 + widths_[i] - row[i].size(), ' ') + row[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  }
  return text;
}

}  // namespace horizon

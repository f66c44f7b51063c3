#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "common/text/wrap.h"

namespace horizon {

// Formats a table for a terminal. Each column is as wide as its widest cell; the first column is
// left-aligned, the others are right-aligned, and two spaces separate them.
//   TextTable table({"stage", "bytes"});
//   table.AddRow({"embedding", "1.01 GiB"});
//   std::string text = std::move(table).Finish();
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header);
  // Adds a row, which must have one cell for each column (CHECK). The width of a cell is its length
  // in bytes.
  void AddRow(std::vector<std::string> cells);
  // Adds a line of dashes.
  void AddRule();
  // Returns the text. Every line ends with a newline and has no trailing spaces.
  std::string Finish() &&;
  // The same in at most `columns` columns, if that is possible without breaking a word: cells of
  // the widest columns are wrapped into several lines. What is no terminal has kAnyWidth.
  std::string Finish(size_t columns) &&;

 private:
  // Makes columns narrower, the widest one first, until the table has so many columns.
  void Narrow(size_t columns);
  size_t TableWidth() const;

  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> rows_;  // an empty row is a rule
};

}  // namespace horizon

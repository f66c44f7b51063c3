#pragma once

#include <string>
#include <string_view>
#include <vector>

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

 private:
  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> rows_;  // an empty row is a rule
};

}  // namespace horizon

#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace horizon {

// A table for a terminal: columns as wide as their widest cell, the first one left-aligned, the
// others right-aligned, two spaces between.
//   TextTable table({"stage", "bytes"});
//   table.AddRow({"embedding", "1.01 GiB"});
//   std::string text = std::move(table).Finish();
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header);
  // One cell for each column (CHECK). A cell counts one column of the terminal for each byte.
  void AddRow(std::vector<std::string> cells);
  // A line of dashes.
  void AddRule();
  // Every line ends with a newline and without spaces before it.
  std::string Finish() &&;

 private:
  std::vector<size_t> widths_;
  std::vector<std::vector<std::string>> rows_;  // an empty row is a rule
};

}  // namespace horizon

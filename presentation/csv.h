#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"

namespace horizon {

// A CSV file as text cells. Every row has as many cells as the header. `file` and `lines` (the line
// on which each row begins, counted from 1) are for messages; both may be empty in a table built in
// memory.
struct CsvTable {
  std::vector<std::string> header;
  std::vector<std::vector<std::string>> rows;
  std::vector<int> lines;
  std::string file;
};

// Reads RFC 4180 text: commas, cells in quotes with "" for a quote, LF or CRLF, an optional UTF-8
// byte order mark; the first line is the header. InvalidArgument with FILE:LINE for a row with the
// wrong number of cells, an empty line, a quote out of place or never closed, a lone carriage
// return, and a header name that is empty or used twice. `file` is used in messages only.
absl::StatusOr<CsvTable> ParseCsv(std::string_view file, std::string_view text);

// The index of the column `name`. NotFound, with the nearest name and all names, if there is none.
absl::StatusOr<int> Column(const CsvTable& table, std::string_view name);

// One cell. `row` and `column` must exist. CellText returns the text as it is. The others return
// nullopt for an empty cell, and InvalidArgument with FILE:LINE and the column's name for anything
// but one finite decimal number ("12x", " 1", "nan", "1.5" for an integer).
std::string CellText(const CsvTable& table, size_t row, int column);
absl::StatusOr<std::optional<double>> CellDouble(const CsvTable& table, size_t row, int column);
absl::StatusOr<std::optional<int64_t>> CellInteger(const CsvTable& table, size_t row, int column);

// The table as text, which ParseCsv reads back to the same header and rows: LF line ends, quotes
// only where needed. Every row must have as many cells as the header, and the header at least one.
std::string WriteCsv(const CsvTable& table);

}  // namespace horizon

#include "presentation/csv.h"

#include <charconv>
#include <cmath>
#include <system_error>
#include <unordered_map>
#include <utility>

#include "absl/status/status.h"
#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/nearest_word.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";

// Reads one record after another and counts lines, those inside quotes too.
class CsvReader {
 public:
  CsvReader(std::string_view file, std::string_view text) : file_(file), text_(text) {
    if (text_.starts_with(kByteOrderMark)) text_.remove_prefix(kByteOrderMark.size());
  }

  bool AtEnd() const { return at_ == text_.size(); }
  int line() const { return line_; }

  absl::StatusOr<std::vector<std::string>> ReadRecord() {
    if (AtLineEnd()) {
      return Error(line_, "the line is empty; remove it, or write \"\" for a single empty cell");
    }
    std::vector<std::string> cells;
    while (true) {
      ASSIGN_OR_RETURN(std::string cell, Peek() == '"' ? ReadQuoted() : ReadPlain());
      cells.push_back(std::move(cell));
      if (Peek() != ',') break;
      ++at_;
    }
    SkipLineEnd();
    return cells;
  }

  absl::Status Error(int line, std::string_view what) const {
    return absl::InvalidArgumentError(StrCat(file_, ":", line, ": ", what));
  }

 private:
  char Peek() const { return AtEnd() ? '\0' : text_[at_]; }

  bool AtLineEnd() const {
    return AtEnd() || text_[at_] == '\n' || text_.substr(at_).starts_with("\r\n");
  }

  void SkipLineEnd() {
    if (AtEnd()) return;
    at_ += text_[at_] == '\r' ? 2 : 1;
    ++line_;
  }

  absl::StatusOr<std::string> ReadPlain() {
    const size_t begin = at_;
    while (!AtLineEnd() && text_[at_] != ',') {
      if (text_[at_] == '"') {
        return Error(line_, StrCat("a quote in the middle of the cell that begins with ",
                                   Quoted(text_.substr(begin, at_ - begin)),
                                   "; put the whole cell in quotes and double each one inside"));
      }
      if (text_[at_] == '\r') {
        return Error(line_, "a carriage return without a line feed; end lines with LF or CRLF");
      }
      ++at_;
    }
    return std::string(text_.substr(begin, at_ - begin));
  }

  absl::StatusOr<std::string> ReadQuoted() {
    const int begin_line = line_;
    std::string cell;
    for (++at_; !AtEnd(); ++at_) {
      if (text_[at_] == '"') {
        if (!text_.substr(at_ + 1).starts_with('"')) break;
        ++at_;
      }
      if (text_[at_] == '\n') ++line_;
      cell.push_back(text_[at_]);
    }
    if (AtEnd()) {
      return Error(begin_line, StrCat("the quote that opens here is never closed; the cell begins ",
                                      Quoted(cell)));
    }
    ++at_;
    if (!AtLineEnd() && text_[at_] != ',') {
      return Error(line_, StrCat("text after the closing quote of ", Quoted(cell),
                                 "; a comma or the end of the line must follow"));
    }
    return cell;
  }

  std::string_view file_;
  std::string_view text_;
  size_t at_ = 0;
  int line_ = 1;
};

absl::Status CheckHeader(const CsvReader& reader, const std::vector<std::string>& header) {
  std::unordered_map<std::string_view, size_t> seen;
  for (size_t column = 0; column < header.size(); ++column) {
    if (header[column].empty()) {
      return reader.Error(1, StrCat("column ", column + 1, " has no name in the header"));
    }
    const auto [first, is_new] = seen.emplace(header[column], column);
    if (!is_new) {
      return reader.Error(1, StrCat("columns ", first->second + 1, " and ", column + 1,
                                    " are both named ", Quoted(header[column])));
    }
  }
  return absl::OkStatus();
}

std::string Place(const CsvTable& table, size_t row) {
  if (row < table.lines.size()) return StrCat(table.file, ":", table.lines[row]);
  return StrCat(table.file.empty() ? "table" : table.file, " row ", row + 1);
}

const std::string& Cell(const CsvTable& table, size_t row, int column) {
  CHECK(row < table.rows.size());
  CHECK(column >= 0 && static_cast<size_t>(column) < table.rows[row].size());
  return table.rows[row][static_cast<size_t>(column)];
}

template <typename Number>
absl::StatusOr<std::optional<Number>> CellNumber(const CsvTable& table, size_t row, int column,
                                                 std::string_view kind) {
  const std::string& cell = Cell(table, row, column);
  if (cell.empty()) return std::optional<Number>();
  Number number = 0;
  const char* const end = cell.data() + cell.size();
  const std::from_chars_result read = std::from_chars(cell.data(), end, number);
  if (read.ec != std::errc() || read.ptr != end || !std::isfinite(static_cast<double>(number))) {
    return absl::InvalidArgumentError(StrCat(
        Place(table, row), ": column ", Quoted(table.header[static_cast<size_t>(column)]), ": ",
        Quoted(cell), read.ec == std::errc::result_out_of_range ? " does not fit in " : " is not ",
        kind, "; leave the cell empty if there is no value"));
  }
  return std::optional<Number>(number);
}

bool NeedsQuotes(std::string_view cell) {
  return cell.find_first_of(",\"\r\n") != std::string_view::npos ||
         cell.starts_with(kByteOrderMark);
}

void AppendRecord(std::string& text, const std::vector<std::string>& cells) {
  for (size_t i = 0; i < cells.size(); ++i) {
    if (i > 0) text.push_back(',');
    // A record that is one empty cell would be an empty line.
    if (!NeedsQuotes(cells[i]) && !(cells.size() == 1 && cells[i].empty())) {
      text.append(cells[i]);
      continue;
    }
    text.push_back('"');
    for (const char c : cells[i]) text.append(c == '"' ? 2 : 1, c);
    text.push_back('"');
  }
  text.push_back('\n');
}

}  // namespace

absl::StatusOr<CsvTable> ParseCsv(std::string_view file, std::string_view text) {
  CsvReader reader(file, text);
  if (reader.AtEnd()) return reader.Error(1, "the file is empty; its first line names the columns");
  CsvTable table{.file = std::string(file)};
  ASSIGN_OR_RETURN(table.header, reader.ReadRecord());
  RETURN_IF_ERROR(CheckHeader(reader, table.header));
  while (!reader.AtEnd()) {
    const int line = reader.line();
    ASSIGN_OR_RETURN(std::vector<std::string> cells, reader.ReadRecord());
    if (cells.size() != table.header.size()) {
      return reader.Error(
          line, StrCat("the row has ", cells.size(), " cells and the header names ",
                       table.header.size(), " columns; a cell with a comma inside needs quotes"));
    }
    table.rows.push_back(std::move(cells));
    table.lines.push_back(line);
  }
  return table;
}

absl::StatusOr<int> Column(const CsvTable& table, std::string_view name) {
  for (size_t column = 0; column < table.header.size(); ++column) {
    if (table.header[column] == name) return static_cast<int>(column);
  }
  std::string names;
  for (const std::string& known : table.header) {
    names += StrCat(names.empty() ? "" : ", ", known);
  }
  return absl::NotFoundError(StrCat(table.file.empty() ? "table" : table.file,
                                    ":1: there is no column ", Quoted(name),
                                    DidYouMean(name, table.header), " (columns: ", names, ")"));
}

std::string CellText(const CsvTable& table, size_t row, int column) {
  return Cell(table, row, column);
}

absl::StatusOr<std::optional<double>> CellDouble(const CsvTable& table, size_t row, int column) {
  return CellNumber<double>(table, row, column, "a finite number");
}

absl::StatusOr<std::optional<int64_t>> CellInteger(const CsvTable& table, size_t row, int column) {
  return CellNumber<int64_t>(table, row, column, "a whole number of 64 bits");
}

std::string WriteCsv(const CsvTable& table) {
  CHECK(!table.header.empty());
  std::string text;
  AppendRecord(text, table.header);
  for (const std::vector<std::string>& row : table.rows) {
    CHECK(row.size() == table.header.size());
    AppendRecord(text, row);
  }
  return text;
}

}  // namespace horizon

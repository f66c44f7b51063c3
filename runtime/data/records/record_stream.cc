#include "runtime/data/records/record_stream.h"

#include <algorithm>
#include <utility>

#include "common/check.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "model/tokenizer/text/unicode_text.h"
#include "runtime/data/text_piece.h"

namespace horizon {
namespace {

constexpr size_t kHeadBytes = 4096;
constexpr std::string_view kMark = "\xef\xbb\xbf";
constexpr int kEnd = -1;

bool IsSpace(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool IsBlank(std::string_view text) { return std::all_of(text.begin(), text.end(), IsSpace); }

// Finds the end of an element: the comma or bracket behind it, outside of strings and of brackets
// of its own. What stands between is for the JSON parser to judge.
class ElementScanner {
 public:
  enum class Result { kGoesOn, kEnds, kUnopened };

  // Scans `part`, and says in `length` how much of it belongs to the element.
  Result Scan(std::string_view part, size_t& length) {
    for (length = 0; length < part.size(); ++length) {
      const char c = part[length];
      if (in_string_) {
        if (escaped_) {
          escaped_ = false;
        } else if (c == '\\') {
          escaped_ = true;
        } else if (c == '"') {
          in_string_ = false;
        }
        continue;
      }
      if (c == '"') {
        in_string_ = true;
      } else if (c == '{' || c == '[') {
        ++depth_;
      } else if (depth_ == 0 && (c == ',' || c == ']')) {
        return Result::kEnds;
      } else if (c == '}' || c == ']') {
        if (depth_ == 0) return Result::kUnopened;
        --depth_;
      }
    }
    return Result::kGoesOn;
  }

 private:
  bool in_string_ = false;
  bool escaped_ = false;
  int64_t depth_ = 0;
};

// JSON is UTF-8: what is not counts as U+FFFD, as it does in plain text.
void Repair(DataRecord& record) {
  std::string repaired;
  WithValidUtf8(record.text, repaired);
  if (!repaired.empty()) record.text.swap(repaired);
}

}  // namespace

absl::StatusOr<RecordStream> RecordStream::Open(Io& io, const std::string& path) {
  return Open(io, path, Options());
}

absl::StatusOr<RecordStream> RecordStream::Open(Io& io, const std::string& path,
                                                const Options& options) {
  CHECK(options.piece_bytes >= 4_B);
  ASSIGN_OR_RETURN(SequentialReader reader, SequentialReader::Open(io, path, options.read_bytes));
  RecordStream stream(std::move(reader), options);
  ASSIGN_OR_RETURN(std::string_view head, stream.reader_.Peek(kHeadBytes));
  if (head.substr(0, kMark.size()) == kMark) {
    stream.reader_.Skip(kMark.size());
    head.remove_prefix(kMark.size());
  }
  ASSIGN_OR_RETURN(stream.layout_, RecogniseLayout(path, head.substr(0, kHeadBytes)));
  return stream;
}

absl::StatusOr<bool> RecordStream::Next(DataRecord& record) {
  record.text.clear();
  record.problem.clear();
  record.element = 0;
  record.continues = false;
  too_long_ = false;
  switch (layout_) {
    case DataLayout::kLines: {
      ASSIGN_OR_RETURN(const bool found, NextLine(record));
      Repair(record);
      return found;
    }
    case DataLayout::kArray: {
      ASSIGN_OR_RETURN(const bool found, NextElement(record));
      Repair(record);
      return found;
    }
    case DataLayout::kText:
      return NextPiece(record);  // the tokenizer does the same
  }
  return false;
}

std::string RecordStream::Where(const DataRecord& record) const {
  std::string where = StrCat(path(), ":", record.line);
  if (record.element > 0) where += StrCat(" (element ", record.element, ")");
  return where;
}

// Keeps a part of the record, unless it has become too long: then the rest is gone past.
void RecordStream::Take(std::string_view part, DataRecord& record) {
  too_long_ = too_long_ || record.text.size() + part.size() > options_.longest.value();
  if (too_long_) {
    std::string().swap(record.text);  // gives the memory back
  } else {
    record.text.append(part);
  }
}

absl::StatusOr<bool> RecordStream::NextLine(DataRecord& record) {
  while (true) {
    ASSIGN_OR_RETURN(std::string_view rest, reader_.Peek(1));
    if (rest.empty()) return false;
    record.line = line_;
    bool ended = false;
    while (!ended && !rest.empty()) {
      const size_t end = rest.find('\n');
      ended = end != std::string_view::npos;
      const size_t length = ended ? end : rest.size();
      Take(rest.substr(0, length), record);
      reader_.Skip(length + (ended ? 1 : 0));
      if (ended) break;
      ASSIGN_OR_RETURN(rest, reader_.Peek(1));
    }
    ++line_;
    if (too_long_) {
      record.problem = StrCat("the line is longer than ", ToString(options_.longest));
      return true;
    }
    if (!IsBlank(record.text)) return true;
    record.text.clear();
  }
}

absl::Status RecordStream::ErrorHere(std::string_view message) const {
  return absl::InvalidArgumentError(StrCat(path(), ":", line_, ": ", message));
}

// The next character that is no space, or kEnd; it is not gone past.
absl::StatusOr<int> RecordStream::NextCharacter() {
  while (true) {
    ASSIGN_OR_RETURN(const std::string_view rest, reader_.Peek(1));
    if (rest.empty()) return kEnd;
    size_t spaces = 0;
    while (spaces < rest.size() && IsSpace(rest[spaces])) {
      if (rest[spaces] == '\n') ++line_;
      ++spaces;
    }
    const int next = spaces < rest.size() ? static_cast<unsigned char>(rest[spaces]) : kEnd;
    reader_.Skip(spaces);
    if (next != kEnd) return next;
  }
}

absl::StatusOr<bool> RecordStream::NextElement(DataRecord& record) {
  if (place_ == Place::kAfter) return false;
  ASSIGN_OR_RETURN(int next, NextCharacter());
  if (place_ == Place::kBefore) {
    if (next == kEnd) return false;
    if (next != '[') return ErrorHere("a .json file is an array of objects, '[{...}, ...]'");
    reader_.Skip(1);
    place_ = Place::kInside;
    ASSIGN_OR_RETURN(next, NextCharacter());
  }
  if (next == ']' && !owes_element_) {
    RETURN_IF_ERROR(EndArray());
    return false;
  }
  record.line = line_;
  record.element = ++elements_;
  RETURN_IF_ERROR(TakeElement(record));
  return true;
}

absl::Status RecordStream::TakeElement(DataRecord& record) {
  ElementScanner scanner;
  bool empty = true;
  while (true) {
    ASSIGN_OR_RETURN(const std::string_view rest, reader_.Peek(1));
    if (rest.empty()) {
      return ErrorHere(
          StrCat("the file ends inside the array, in element ", elements_, "; is it cut off?"));
    }
    size_t length = 0;
    const ElementScanner::Result result = scanner.Scan(rest, length);
    const std::string_view part = rest.substr(0, length);
    Take(part, record);
    empty = empty && part.empty();
    line_ += std::count(part.begin(), part.end(), '\n');
    reader_.Skip(length);
    if (result == ElementScanner::Result::kGoesOn) continue;
    if (result == ElementScanner::Result::kUnopened) {
      return ErrorHere("a bracket is closed that was not opened");
    }
    break;
  }
  if (empty) return ErrorHere("the array has a comma where a value is missing");
  ASSIGN_OR_RETURN(const int sign, NextCharacter());
  owes_element_ = sign == ',';
  if (too_long_) {
    record.problem = StrCat("the element is longer than ", ToString(options_.longest));
  }
  if (!owes_element_) return EndArray();
  reader_.Skip(1);
  return absl::OkStatus();
}

// Goes past the closing bracket and what follows, which is nothing.
absl::Status RecordStream::EndArray() {
  reader_.Skip(1);
  place_ = Place::kAfter;
  ASSIGN_OR_RETURN(const int next, NextCharacter());
  return next == kEnd ? absl::OkStatus() : ErrorHere("text follows the end of the array");
}

absl::StatusOr<bool> RecordStream::NextPiece(DataRecord& record) {
  record.continues = elements_ > 0;
  record.line = line_;
  ASSIGN_OR_RETURN(const std::string_view rest, reader_.Peek(options_.piece_bytes.value() + 1));
  if (rest.empty()) return false;
  const size_t length = PieceLength(rest, options_.piece_bytes.value());
  record.text.assign(rest.substr(0, length));
  line_ += std::count(record.text.begin(), record.text.end(), '\n');
  reader_.Skip(length);
  ++elements_;
  return true;
}

}  // namespace horizon

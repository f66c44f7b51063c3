#include "common/documents/json.h"

#include <algorithm>
#include <boost/json/basic_parser_impl.hpp>
#include <cstddef>
#include <utility>

#include "common/check.h"
#include "common/documents/document_builder.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {
namespace {

namespace bj = boost::json;

constexpr std::string_view kSpaces = " \t\r\n";

// Boost's handler interface (its names are Boost's) in front of ours. Pieces of strings, keys and
// numbers are put together here; `status` keeps the error of the JsonHandler that stopped the
// parse.
class BoostHandler {
 public:
  static constexpr std::size_t max_object_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_array_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_key_size = static_cast<std::size_t>(-1);
  static constexpr std::size_t max_string_size = static_cast<std::size_t>(-1);

  explicit BoostHandler(JsonHandler& handler) : handler_(handler) {}

  const absl::Status& status() const { return status_; }

  bool on_document_begin(bj::error_code& ec) { return true; }
  bool on_document_end(bj::error_code& ec) { return true; }
  bool on_object_begin(bj::error_code& ec) { return Keep(handler_.OnBeginObject(), ec); }
  bool on_object_end(std::size_t n, bj::error_code& ec) { return Keep(handler_.OnEndObject(), ec); }
  bool on_array_begin(bj::error_code& ec) { return Keep(handler_.OnBeginArray(), ec); }
  bool on_array_end(std::size_t n, bj::error_code& ec) { return Keep(handler_.OnEndArray(), ec); }
  bool on_key_part(bj::string_view s, std::size_t n, bj::error_code& ec) { return Append(s); }
  bool on_key(bj::string_view s, std::size_t n, bj::error_code& ec) {
    Append(s);
    const bool going_on = Keep(handler_.OnKey(piece_), ec);
    piece_.clear();
    return going_on;
  }
  bool on_string_part(bj::string_view s, std::size_t n, bj::error_code& ec) { return Append(s); }
  bool on_string(bj::string_view s, std::size_t n, bj::error_code& ec) {
    Append(s);
    const bool going_on = Keep(handler_.OnString(piece_), ec);
    piece_.clear();
    return going_on;
  }
  bool on_number_part(bj::string_view s, bj::error_code& ec) { return Append(s); }
  bool on_int64(int64_t value, bj::string_view s, bj::error_code& ec) { return Number(s, ec); }
  bool on_uint64(uint64_t value, bj::string_view s, bj::error_code& ec) { return Number(s, ec); }
  bool on_double(double value, bj::string_view s, bj::error_code& ec) { return Number(s, ec); }
  bool on_bool(bool value, bj::error_code& ec) { return Keep(handler_.OnBool(value), ec); }
  bool on_null(bj::error_code& ec) { return Keep(handler_.OnNull(), ec); }
  bool on_comment_part(bj::string_view s, bj::error_code& ec) { return true; }
  bool on_comment(bj::string_view s, bj::error_code& ec) { return true; }

 private:
  bool Append(bj::string_view s) {
    piece_.append(s.data(), s.size());
    return true;
  }

  bool Number(bj::string_view s, bj::error_code& ec) {
    Append(s);
    const bool going_on = Keep(handler_.OnNumber(piece_), ec);
    piece_.clear();
    return going_on;
  }

  bool Keep(absl::Status status, bj::error_code& ec) {
    if (status.ok()) return true;
    status_ = std::move(status);
    ec = bj::error::exception;
    return false;
  }

  JsonHandler& handler_;
  std::string piece_;
  absl::Status status_;
};

std::string Explain(bj::error_code ec, int max_depth, size_t column) {
  if (ec == bj::error::too_deep) return StrCat("nested deeper than ", max_depth, " levels");
  if (ec == bj::error::incomplete) return "the JSON text ends before its value is complete";
  if (ec == bj::error::exponent_overflow) return "a number's exponent is out of range";
  return StrCat("not valid JSON: ", ec.message(), " at column ", column + 1);
}

absl::Status ErrorOnLine(std::string_view file, int line, std::string_view message) {
  return absl::InvalidArgumentError(StrCat(file, ":", line, ": ", message));
}

// One line with its newline, preceded by any blank ones.
struct Chunk {
  std::string_view text;
  size_t line_begin = 0;  // where the last line begins in `text`
  int line = 1;           // the number of that line
};

// Takes the next chunk off `rest`. Blank lines go with the line that follows them: entering and
// leaving Boost's parser costs as much as the nesting is deep, so it is done once for each line
// that says something.
Chunk NextChunk(std::string_view* rest, int first_line) {
  Chunk chunk{.line = first_line};
  const size_t content = std::min(rest->find_first_not_of(kSpaces), rest->size());
  for (size_t at = rest->find('\n'); at < content; at = rest->find('\n', at + 1)) {
    ++chunk.line;
    chunk.line_begin = at + 1;
  }
  const size_t end = rest->find('\n', content);
  chunk.text = rest->substr(0, end == std::string_view::npos ? end : end + 1);
  rest->remove_prefix(chunk.text.size());
  return chunk;
}

}  // namespace

absl::Status ParseJsonEvents(std::string_view file, std::string_view text, int max_depth,
                             JsonHandler& handler) {
  CHECK(max_depth >= 0);
  bj::parse_options options;
  options.max_depth = static_cast<std::size_t>(max_depth);
  bj::basic_parser<BoostHandler> parser(options, handler);
  std::string_view rest = text;
  int next_line = 1;
  bool done = false;
  do {
    const Chunk chunk = NextChunk(&rest, next_line);
    next_line = chunk.line + 1;
    handler.line = chunk.line;
    size_t used = 0;
    if (!done) {
      bj::error_code ec;
      used = parser.write_some(!rest.empty(), chunk.text.data(), chunk.text.size(), ec);
      if (!parser.handler().status().ok()) return parser.handler().status();
      if (ec) {
        const size_t column = used - std::min(used, chunk.line_begin);
        return ErrorOnLine(file, chunk.line, Explain(ec, max_depth, column));
      }
      done = parser.done();
    }
    if (chunk.text.find_first_not_of(kSpaces, used) != std::string_view::npos) {
      return ErrorOnLine(file, chunk.line, "text follows the end of the JSON value");
    }
  } while (!rest.empty());
  return absl::OkStatus();
}

namespace {

class TreeHandler : public JsonHandler {
 public:
  explicit TreeHandler(DocumentBuilder& builder) : builder_(builder) {}

  absl::Status OnBeginObject() override { return builder_.BeginObject(line); }
  absl::Status OnEndObject() override { return builder_.EndObject(); }
  absl::Status OnBeginArray() override { return builder_.BeginArray(line); }
  absl::Status OnEndArray() override { return builder_.EndArray(); }
  absl::Status OnKey(std::string_view key) override { return builder_.Key(key, line); }
  absl::Status OnString(std::string_view text) override {
    return builder_.Scalar(std::string(text), line);
  }
  absl::Status OnNumber(std::string_view literal) override {
    return builder_.Number(literal, line);
  }
  absl::Status OnBool(bool value) override { return builder_.Scalar(value, line); }
  absl::Status OnNull() override { return builder_.Scalar(nullptr, line); }

 private:
  DocumentBuilder& builder_;
};

}  // namespace

absl::StatusOr<Document> ParseJson(std::string file, std::string_view text,
                                   const DocumentLimits& limits) {
  RETURN_IF_ERROR(DocumentBuilder::CheckSize(file, text, limits));
  DocumentBuilder builder(std::move(file), limits);
  TreeHandler handler(builder);
  RETURN_IF_ERROR(ParseJsonEvents(builder.file(), text, limits.depth, handler));
  return std::move(builder).Finish();
}

}  // namespace horizon

#include "common/documents/yaml.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <exception>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "common/documents/document_builder.h"
#include "common/status_macros.h"
#include "common/text/quote.h"
#include "common/text/str_cat.h"
#include "common/text/utf8.h"

namespace horizon {
namespace {

// What a plain (unquoted) scalar is in the core schema, YAML 1.2 section 10.3.2. Null is
// yaml-cpp's.
enum class PlainKind { kBool, kDecimal, kBased, kNotFinite, kString };

template <size_t n>
bool IsOneOf(std::string_view text, const std::string_view (&words)[n]) {
  return std::find(words, words + n, text) != words + n;
}

std::string_view WithoutSign(std::string_view text) {
  return text.starts_with('-') || text.starts_with('+') ? text.substr(1) : text;
}

size_t DropDigits(std::string_view* text) {
  const size_t count = std::min(text->find_first_not_of("0123456789"), text->size());
  text->remove_prefix(count);
  return count;
}

// [-+]? ( \. [0-9]+ | [0-9]+ ( \. [0-9]* )? ) ( [eE] [-+]? [0-9]+ )?
bool IsDecimal(std::string_view text) {
  std::string_view rest = WithoutSign(text);
  size_t digits = DropDigits(&rest);
  if (rest.starts_with('.')) {
    rest.remove_prefix(1);
    digits += DropDigits(&rest);
  }
  if (digits == 0) return false;
  if (rest.starts_with('e') || rest.starts_with('E')) {
    rest = WithoutSign(rest.substr(1));
    if (DropDigits(&rest) == 0) return false;
  }
  return rest.empty();
}

bool IsBased(std::string_view text) {
  const bool hex = text.starts_with("0x");
  if (text.size() < 3 || !(hex || text.starts_with("0o"))) return false;
  const std::string_view digits = hex ? "0123456789abcdefABCDEF" : "01234567";
  return text.find_first_not_of(digits, 2) == std::string_view::npos;
}

PlainKind KindOfPlain(std::string_view text) {
  if (IsOneOf(text, {"true", "True", "TRUE", "false", "False", "FALSE"})) return PlainKind::kBool;
  if (IsDecimal(text)) return PlainKind::kDecimal;
  if (IsBased(text)) return PlainKind::kBased;
  if (IsOneOf(WithoutSign(text), {".inf", ".Inf", ".INF"})) return PlainKind::kNotFinite;
  if (IsOneOf(text, {".nan", ".NaN", ".NAN"})) return PlainKind::kNotFinite;
  return PlainKind::kString;
}

// yaml-cpp's events into a DocumentBuilder. An event cannot return an error, so the first one is
// kept in `status` and Stop is thrown through yaml-cpp to ParseYaml, which is what ends the parse.
class TreeHandler : public YAML::EventHandler {
 public:
  struct Stop {};

  explicit TreeHandler(DocumentBuilder& builder) : builder_(builder) {}
  absl::Status TakeStatus() { return std::move(status_); }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (started_) Refuse(mark, "another value follows; a file holds one YAML document");
    started_ = true;
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    RefuseAnchor(mark, anchor);
    if (AwaitsKey()) Refuse(mark, "a key is missing before ':'");
    Value(builder_.Scalar(nullptr, LineOf(mark)));
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t) override {
    Refuse(mark, "aliases (*name) are not accepted; write the value out");
  }
  void OnScalar(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                const std::string& text) override {
    RefuseAnchor(mark, anchor);
    const bool plain = tag == "?";  // "!" stands for quotes
    if (!plain && tag != "!") RefuseTag(mark);
    if (AwaitsKey()) {
      Check(builder_.Key(text, LineOf(mark)));
      levels_.back().awaits_key = false;
    } else {
      Value(plain ? Plain(text, mark) : builder_.Scalar(text, LineOf(mark)));
    }
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    BeginLevel(mark, tag, anchor);
    Check(builder_.BeginArray(LineOf(mark)));
    levels_.push_back({.is_map = false});
  }
  void OnSequenceEnd() override {
    levels_.pop_back();
    Value(builder_.EndArray());
  }
  void OnMapStart(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    BeginLevel(mark, tag, anchor);
    Check(builder_.BeginObject(LineOf(mark)));
    levels_.push_back({.is_map = true, .awaits_key = true});
  }
  void OnMapEnd() override {
    levels_.pop_back();
    Value(builder_.EndObject());
  }

 private:
  struct Level {
    bool is_map = false;
    bool awaits_key = false;
  };

  static int LineOf(const YAML::Mark& mark) { return mark.line + 1; }
  bool AwaitsKey() const { return !levels_.empty() && levels_.back().awaits_key; }

  void Check(absl::Status status) {
    if (status.ok()) return;
    status_ = std::move(status);
    throw Stop();
  }
  void Refuse(const YAML::Mark& mark, std::string_view message) {
    Check(builder_.ErrorOnLine(LineOf(mark), message));
  }
  void RefuseAnchor(const YAML::Mark& mark, YAML::anchor_t anchor) {
    if (anchor != 0) Refuse(mark, "anchors (&name) are not accepted; write the value out");
  }
  void RefuseTag(const YAML::Mark& mark) {
    Refuse(mark, "tags (!name) are not accepted; quote what shall be a string");
  }
  void BeginLevel(const YAML::Mark& mark, const std::string& tag, YAML::anchor_t anchor) {
    RefuseAnchor(mark, anchor);
    if (tag != "?") RefuseTag(mark);
    if (AwaitsKey())
      Refuse(mark, "a key must be a plain word or a string; or a '[' or '{' is not closed");
  }
  // A value is complete: in a map the next scalar is a key.
  void Value(absl::Status added) {
    Check(std::move(added));
    if (!levels_.empty() && levels_.back().is_map) levels_.back().awaits_key = true;
  }

  absl::Status Plain(std::string_view text, const YAML::Mark& mark) {
    const int line = LineOf(mark);
    switch (KindOfPlain(text)) {
      case PlainKind::kBool:
        return builder_.Scalar(text.starts_with('t') || text.starts_with('T'), line);
      case PlainKind::kDecimal:
        return builder_.Number(text, line);
      case PlainKind::kBased:
        return Based(text, line);
      case PlainKind::kNotFinite:
        return builder_.ErrorOnLine(line, StrCat(text, " is not a finite number"));
      case PlainKind::kString:
        break;
    }
    return builder_.Scalar(std::string(text), line);
  }
  absl::Status Based(std::string_view text, int line) {
    int64_t integer = 0;
    const int base = text.starts_with("0x") ? 16 : 8;
    const auto read = std::from_chars(text.data() + 2, text.data() + text.size(), integer, base);
    if (read.ec == std::errc()) return builder_.Scalar(integer, line);
    return builder_.ErrorOnLine(line, StrCat("the integer ", Quoted(text), " is out of range"));
  }

  DocumentBuilder& builder_;
  std::vector<Level> levels_;
  absl::Status status_;
  bool started_ = false;
};

// Before yaml-cpp sees the text: it would repair bad UTF-8 in silence, and it takes the control
// character 4 for the end of the file, hiding what follows.
absl::Status CheckCharacters(const DocumentBuilder& builder, std::string_view text) {
  int line = 1;
  for (size_t at = 0; at < text.size();) {
    const size_t length = Utf8Length(text.substr(at));
    if (length == 0) return builder.ErrorOnLine(line, "the text is not UTF-8");
    const char c = text[at];
    const bool control = (c >= 0 && c < ' ' && c != '\n' && c != '\r' && c != '\t') || c == 0x7F;
    if (control) {
      return builder.ErrorOnLine(
          line, StrCat("control character ", static_cast<int>(c), " is not accepted in YAML"));
    }
    if (c == '\n') ++line;
    at += length;
  }
  return absl::OkStatus();
}

absl::Status RunParser(std::string_view text, DocumentBuilder& builder) {
  TreeHandler handler(builder);
  try {
    std::istringstream stream{std::string(text)};
    YAML::Parser parser(stream);
    if (!parser.HandleNextDocument(handler)) {
      return builder.ErrorOnLine(1, "the YAML text holds no value");
    }
    // Another document, if there is one, is refused by the handler.
    parser.HandleNextDocument(handler);
  } catch (const TreeHandler::Stop&) {
    return handler.TakeStatus();
  } catch (const YAML::Exception& error) {
    return builder.ErrorOnLine(error.mark.line + 1, StrCat("not valid YAML: ", error.msg));
  } catch (const std::exception& error) {
    return builder.ErrorOnLine(1, StrCat("the YAML text cannot be read: ", error.what()));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<Document> ParseYaml(std::string file, std::string_view text,
                                   const DocumentLimits& limits) {
  RETURN_IF_ERROR(DocumentBuilder::CheckSize(file, text, limits));
  DocumentBuilder builder(std::move(file), limits);
  RETURN_IF_ERROR(CheckCharacters(builder, text));
  RETURN_IF_ERROR(RunParser(text, builder));
  return std::move(builder).Finish();
}

}  // namespace horizon

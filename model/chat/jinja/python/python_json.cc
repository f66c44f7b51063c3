#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "common/text/str_cat.h"
#include "model/chat/jinja/jinja_run.h"
#include "model/chat/jinja/python/python_compare.h"
#include "model/chat/jinja/python/python_text.h"
#include "model/tokenizer/text/unicode_text.h"

namespace horizon {
namespace {

using Kind = JinjaValue::Kind;

void AppendUnit(unsigned unit, std::string& text) {
  std::array<char, 8> escape = {};
  std::snprintf(escape.data(), escape.size(), "\\u%04x", unit);
  text += escape.data();
}

void AppendCharacterJson(char32_t character, bool ensure_ascii, std::string& text) {
  constexpr std::string_view kEscaped = "\"\\\n\r\t\f\b";
  constexpr std::string_view kLetters = "\"\\nrtfb";
  if (character < 0x80) {
    const size_t found = kEscaped.find(static_cast<char>(character));
    if (found != std::string_view::npos) {
      text.push_back('\\');
      text.push_back(kLetters[found]);
    } else if (character < 0x20) {
      AppendUnit(static_cast<unsigned>(character), text);
    } else {
      text.push_back(static_cast<char>(character));
    }
  } else if (!ensure_ascii) {
    AppendCharacter(character, text);
  } else if (character < 0x10000) {
    AppendUnit(static_cast<unsigned>(character), text);
  } else {
    const unsigned rest = static_cast<unsigned>(character) - 0x10000;
    AppendUnit(0xD800 + (rest >> 10), text);
    AppendUnit(0xDC00 + (rest & 0x3FF), text);
  }
}

class JsonText {
 public:
  JsonText(JinjaRun& run, const PythonJsonOptions& options)
      : run_(run), options_(options), out_(run) {}

  void Append(const JinjaValue& value) {
    if (!run_.Enter()) {
      run_.Leave();
      return;
    }
    switch (value.kind()) {
      case Kind::kNone:
        out_.Append("null");
        break;
      case Kind::kBool:
        out_.Append(value.integer() != 0 ? "true" : "false");
        break;
      case Kind::kInteger:
        out_.Append(StrCat(value.integer()));
        break;
      case Kind::kFloat:
        out_.Append(NumberText(value.real()));
        break;
      case Kind::kString:
        AppendString(value.string());
        break;
      case Kind::kList:
      case Kind::kTuple:
        AppendItems(value.items().items);
        break;
      case Kind::kDict:
        AppendEntries(value.dict());
        break;
      default:
        run_.Fail(StrCat("Object of type ", PythonTypeName(value), " is not JSON serializable"));
    }
    run_.Leave();
  }

  TracedText Finish() { return out_.Finish(); }

 private:
  static std::string NumberText(double value) {
    if (std::isnan(value)) return "NaN";
    if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
    return PythonFloat(value);
  }

  void AppendString(const TracedText& text) {
    out_.Append("\"");
    size_t at = 0;
    for (const TextRun& run : text.runs()) {
      std::string piece;
      while (at < run.end) {
        AppendCharacterJson(NextCharacter(text.text(), at), options_.ensure_ascii, piece);
      }
      out_.Append(piece, run.origin);
    }
    out_.Append("\"");
  }

  void NewLine() {
    if (!options_.has_indent) return;
    out_.Append("\n");
    for (int i = 0; i < level_; ++i) out_.Append(options_.indent);
  }

  void AppendItems(const std::vector<JinjaValue>& items) {
    if (items.empty()) return out_.Append("[]");
    out_.Append("[");
    ++level_;
    for (size_t i = 0; i < items.size() && !run_.failed(); ++i) {
      if (i > 0) out_.Append(options_.item_separator);
      NewLine();
      Append(items[i]);
    }
    --level_;
    NewLine();
    out_.Append("]");
  }

  void AppendEntries(const JinjaDict& dict) {
    if (dict.entries.empty()) return out_.Append("{}");
    std::vector<const std::pair<JinjaValue, JinjaValue>*> entries;
    entries.reserve(dict.entries.size());
    for (const auto& entry : dict.entries) entries.push_back(&entry);
    if (options_.sort_keys) {
      std::stable_sort(entries.begin(), entries.end(), [this](const auto* a, const auto* b) {
        return PythonOrder(run_, JinjaOperator::kLess, a->first, b->first);
      });
    }
    out_.Append("{");
    ++level_;
    for (size_t i = 0; i < entries.size() && !run_.failed(); ++i) {
      if (i > 0) out_.Append(options_.item_separator);
      NewLine();
      AppendKey(entries[i]->first);
      out_.Append(options_.key_separator);
      Append(entries[i]->second);
    }
    --level_;
    NewLine();
    out_.Append("}");
  }

  void AppendKey(const JinjaValue& key) {
    if (key.is(Kind::kString)) return AppendString(key.string());
    if (key.is_number() || key.is(Kind::kNone)) {
      out_.Append("\"");
      Append(key);
      return out_.Append("\"");
    }
    run_.Fail(StrCat("keys must be str, int, float, bool or None, not ", PythonTypeName(key)));
  }

  JinjaRun& run_;
  const PythonJsonOptions& options_;
  JinjaTextBuilder out_;
  int level_ = 0;
};

}  // namespace

TracedText PythonJson(JinjaRun& run, const JinjaValue& value, const PythonJsonOptions& options) {
  JsonText text(run, options);
  text.Append(value);
  return text.Finish();
}

}  // namespace horizon

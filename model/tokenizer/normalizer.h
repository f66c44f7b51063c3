#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/documents/document.h"
#include "model/tokenizer/text/alignment.h"
#include "model/tokenizer/text/character_map.h"
#include "model/tokenizer/text/regular_expression.h"
#include "model/tokenizer/text/split.h"
#include "model/tokenizer/tokenizer.h"

namespace horizon {

// Rewrites a text before it is split into words: the "normalizer" of a tokenizer.json. Immutable.
class Normalizer {
 public:
  // Returns InvalidArgument with the name of a normalizer type that is not supported.
  static absl::StatusOr<Normalizer> Read(const Document& document);

  bool empty() const { return steps_.empty(); }
  // Normalizes `text` (UTF-8) in place; `spare` is working memory. A prefix is added only if
  // `position` is the start of the text. If `alignment` is given, it must describe `text`, and it
  // describes the new text afterwards. Returns the errors of RegularExpression::Find.
  absl::Status Apply(std::string& text, TextPosition position, MatchMemory& memory,
                     std::string& spare, Alignment* alignment = nullptr) const;

 private:
  enum class Form { kNfc, kNfd, kNfkc, kNfkd };
  struct Lowercase {};
  struct Nmt {};
  struct StripAccents {};
  struct Prepend {
    std::string text;
  };
  struct Strip {
    bool left = true;
    bool right = true;
  };
  struct Replace {
    Pattern pattern;
    std::string content;
  };
  using Step =
      std::variant<Form, Lowercase, Nmt, StripAccents, Prepend, Strip, Replace, CharacterMap>;

  static absl::StatusOr<Step> ReadStep(const struct Part& part);
  static absl::Status ToForm(Form form, std::string& text, std::string& spare,
                             Alignment* alignment);
  static absl::Status ReplaceMatches(const Replace& replace, std::string& text, MatchMemory& memory,
                                     std::string& spare, Alignment* alignment);
  absl::Status ApplyStep(const Step& step, std::string& text, TextPosition position,
                         MatchMemory& memory, std::string& spare, Alignment* alignment) const;

  std::vector<Step> steps_;
};

}  // namespace horizon

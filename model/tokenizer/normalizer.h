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

// What a tokenizer does to a text before it looks for words: the "normalizer" of a tokenizer.json.
// Never changed once made.
class Normalizer {
 public:
  // InvalidArgument for a kind that is not known, by its name.
  static absl::StatusOr<Normalizer> Read(const Document& document);

  bool empty() const { return steps_.empty(); }
  // Changes `text` (UTF-8) in place; `spare` is room to work in. What is put before a text is put
  // before its start only. Where `alignment` is given, it is that of `text` before and after.
  // Errors are those of RegularExpression::Find.
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

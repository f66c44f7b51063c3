#pragma once

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/documents/document.h"
#include "model/tokenizer/text/alignment.h"
#include "model/tokenizer/text/byte_alphabet.h"
#include "model/tokenizer/text/regular_expression.h"
#include "model/tokenizer/text/split.h"

namespace horizon {

// Cuts a text into the words that are merged each by itself: the "pre_tokenizer" of a
// tokenizer.json. Never changed once made.
class PreTokenizer {
 public:
  // Where a text stands in what is encoded: some tokenizers put a space before it.
  enum class Place {
    kFirst,      // the very beginning
    kAfter,      // behind an added token
    kContinues,  // in the middle: nothing is put before it
  };

  // InvalidArgument for a kind that is not known, by its name.
  static absl::StatusOr<PreTokenizer> Read(const Document& document);

  // Whether words are made of bytes written as characters (byte_alphabet.h) by the last step. Then
  // LeaveBytes() makes it leave them as they are.
  bool spells_bytes() const;
  void LeaveBytes() { leaves_bytes_ = true; }

  // Calls emit for every word, in order; the first error ends it. Where `source` is given, it
  // describes `text`, and during each call of emit the text in which that word lies.
  absl::Status Split(std::string_view text, Place place, MatchMemory& memory,
                     absl::FunctionRef<absl::Status(std::string_view word)> emit,
                     AlignedText* source = nullptr) const;

 private:
  struct Space {
    std::string replacement;  // in place of spaces
    enum class Scheme { kAlways, kFirst, kNever } scheme = Scheme::kAlways;
  };
  struct SpellBytes {};
  // A cut, what is put before a text, or how it is written.
  using Step = std::variant<Splitter, Space, SpellBytes>;
  using Emit = absl::FunctionRef<absl::Status(std::string_view word)>;

  absl::Status ReadStep(const struct Part& part);
  absl::Status ReadByteLevel(const Part& part);
  absl::Status ReadSplit(const Part& part);
  absl::Status ReadMetaspace(const Part& part);
  absl::Status Run(size_t step, std::string_view text, Place place, MatchMemory& memory, Emit emit,
                   AlignedText* source) const;
  absl::Status RunRewritten(size_t step, std::string_view text, Place place, MatchMemory& memory,
                            Emit emit, AlignedText* source) const;
  std::string Rewrite(const Step& step, std::string_view text, Place place,
                      const AlignedText* source, std::vector<ByteRange>& ranges) const;

  std::vector<Step> steps_;
  ByteAlphabet alphabet_;
  bool leaves_bytes_ = false;
};

}  // namespace horizon

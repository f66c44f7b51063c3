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

// Splits a text into words, which the model then encodes one by one: the "pre_tokenizer" of a
// tokenizer.json. Immutable, except for EmitRawBytes.
class PreTokenizer {
 public:
  // Where a text is in the whole input. Some tokenizers add a space before it.
  enum class Place {
    kFirst,      // at the very beginning
    kAfter,      // after an added token
    kContinues,  // in the middle of a text: nothing is added before it
  };

  // Returns InvalidArgument with the name of a pre-tokenizer type that is not supported.
  static absl::StatusOr<PreTokenizer> Read(const Document& document);

  // Whether the last step, and no other, spells the bytes of words as characters (byte_alphabet.h).
  // If so, EmitRawBytes() makes Split emit the raw bytes instead.
  bool spells_bytes() const;
  void EmitRawBytes() { emits_raw_bytes_ = true; }

  // Calls emit for every word, in order, and stops at the first error. If `source` is given, it
  // must describe `text`; during each call of emit it describes the text that contains that word.
  absl::Status Split(std::string_view text, Place place, MatchMemory& memory,
                     absl::FunctionRef<absl::Status(std::string_view word)> emit,
                     AlignedText* source = nullptr) const;

 private:
  struct Space {
    std::string replacement;  // replaces each space
    enum class Scheme { kAlways, kFirst, kNever } scheme = Scheme::kAlways;
  };
  struct SpellBytes {};
  // A step splits a text, replaces its spaces (and may add one before it), or spells its bytes.
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
  bool emits_raw_bytes_ = false;
};

}  // namespace horizon

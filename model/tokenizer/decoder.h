#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "common/documents/document.h"
#include "model/tokenizer/text/byte_alphabet.h"
#include "model/tokenizer/text/split.h"

namespace horizon {

// Turns the spellings of tokens back into text: the "decoder" of a tokenizer.json. Immutable.
class Decoder {
 public:
  // Returns InvalidArgument with the name of a decoder type that is not supported.
  static absl::StatusOr<Decoder> Read(const Document& document);

  // The text of the tokens. If the file has no decoder, the tokens are joined by spaces.
  std::string Decode(std::vector<std::string> tokens) const;

  // How many bytes at the end of `text`, which must be Decode(tokens), may still change when more
  // tokens follow.
  size_t UncertainBytes(const std::vector<std::string>& tokens, std::string_view text) const;

 private:
  struct ByteLevel {};
  struct ByteFallback {};
  struct Fuse {};
  struct Metaspace {
    std::string replacement;
    bool drops_first = true;  // spaces in the first token are dropped
  };
  struct Replace {
    Pattern pattern;
    std::string content;
  };
  struct Strip {
    std::string content;  // one character
    int64_t start = 0;    // at most this many of it are removed from the start of a token
    int64_t stop = 0;     // and from its end
  };
  using Step = std::variant<ByteLevel, ByteFallback, Fuse, Metaspace, Replace, Strip>;
  // Which part of the decoded text cannot change when more tokens follow.
  enum class Certainty { kAll, kWholeCharacters, kWholeByteRuns, kNothing };

  static absl::StatusOr<Step> ReadStep(const struct Part& part);
  void DecodeBytes(std::vector<std::string>& tokens) const;
  static void FallBack(std::vector<std::string>& tokens);
  static absl::Status Apply(const Replace& replace, std::vector<std::string>& tokens);
  Certainty FindCertainty() const;

  std::vector<Step> steps_;
  ByteAlphabet alphabet_;
  Certainty certainty_ = Certainty::kAll;
};

}  // namespace horizon

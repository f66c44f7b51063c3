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

// Token spellings back to text: the "decoder" of a tokenizer.json. Never changed once made.
class Decoder {
 public:
  // InvalidArgument for a kind that is not known, by its name.
  static absl::StatusOr<Decoder> Read(const Document& document);

  // The text of tokens. Without a decoder in the file they are joined by spaces.
  std::string Decode(std::vector<std::string> tokens) const;

  // How many bytes at the end of Decode(tokens), which is `text`, other tokens behind them may
  // still change.
  size_t UncertainBytes(const std::vector<std::string>& tokens, std::string_view text) const;

 private:
  struct ByteLevel {};
  struct ByteFallback {};
  struct Fuse {};
  struct Metaspace {
    std::string replacement;
    bool drops_first = true;  // the first token's spaces are none
  };
  struct Replace {
    Pattern pattern;
    std::string content;
  };
  struct Strip {
    std::string content;  // one character
    int64_t start = 0;    // at most so many of it are taken off each end of a token
    int64_t stop = 0;
  };
  using Step = std::variant<ByteLevel, ByteFallback, Fuse, Metaspace, Replace, Strip>;
  // What may change when tokens follow.
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

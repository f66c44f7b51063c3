#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"

namespace horizon {

// Which added tokens of a vocabulary are recognised in a text. Where one is not recognised, its
// spelling is ordinary text, so a document that quotes "<|im_end|>" cannot end a turn.
enum class AddedTokens {
  kAll,         // like the Hugging Face library
  kNotSpecial,  // only those that are not marked special ("<think>" in some models)
  kNone,
};

// Whether the text is the start of a document or continues one. A tokenizer that adds something
// before a text (a space, for example) does so only at the start.
enum class TextPosition { kStart, kContinues };

// Bytes [begin, end) of a text.
struct ByteRange {
  size_t begin = 0;
  size_t end = 0;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

// Options of Tokenizer::Encode.
struct EncodeOptions {
  AddedTokens added = AddedTokens::kAll;
  TextPosition position = TextPosition::kStart;
  // The byte ranges of the text that were quoted from a record while a chat template wrote the
  // rest. They must be in order and must not overlap. A control token is not recognised where its
  // spelling overlaps one of them; the spelling is cut out and encoded by itself as ordinary text.
  // This gives the ids of sanitize_control_tokens in transformers.
  std::span<const ByteRange> quoted = {};
  // Added tokens that count as control tokens although they are not marked special (transformers
  // counts those that the chat template spells). Special added tokens are always control tokens.
  std::span<const int32_t> control_ids = {};
};

// Converts text to token ids and back:
//
//   std::vector<int32_t> ids;
//   RETURN_IF_ERROR(tokenizer.Encode("Hello", {}, ids));
//   tokenizer.Decode(ids, Tokenizer::SpecialTokens::kSkip);  // "Hello"
//
// Immutable: any number of threads may use one.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Appends the ids of `text`, without the ids that the model needs around it (Prefix, Suffix).
  // Bytes that are not UTF-8 count as U+FFFD, one for each maximal subpart of a sequence, like
  // errors="replace" in Python. Returns ResourceExhausted if a regular expression gives up on the
  // text; InvalidArgument for quoted ranges out of order, and for quoted text that can only be
  // encoded as a special token.
  virtual absl::Status Encode(std::string_view text, const EncodeOptions& options,
                              std::vector<int32_t>& ids) const = 0;

  // Appends the ids that Encode appends, and for each id the bytes of `text` that it was made from.
  // For example, "caf\u00e9" as the ids of "ca", "f", "<0xC3>" and "<0xA9>" has the offsets [0, 2),
  // [2, 3), [3, 5) and [3, 5): a token covers whole characters, and each byte token covers its
  // whole character.
  //
  // A space that the tokenizer adds before a text covers the character after it, which the token
  // that holds it covers again. An added token covers the white space that it consumes. A character
  // that a normalizer drops is covered by no token; characters that it combines (e and an accent)
  // are covered by each token that holds a part of the result. Offsets never decrease in text that
  // is not normalized. Returns Unimplemented if the tokenizer does not keep offsets.
  virtual absl::Status EncodeWithOffsets(std::string_view text, const EncodeOptions& options,
                                         std::vector<int32_t>& ids,
                                         std::vector<ByteRange>& offsets) const;

  // The ids that the post-processor adds before and after a single text (Llama's begin of text, for
  // example).
  virtual std::span<const int32_t> Prefix() const = 0;
  virtual std::span<const int32_t> Suffix() const = 0;

  // The text of the ids. Special tokens are skipped or spelled. Ids outside the vocabulary give
  // nothing. Bytes that are not UTF-8 become U+FFFD.
  enum class SpecialTokens { kSkip, kSpell };
  virtual std::string Decode(std::span<const int32_t> ids, SpecialTokens special) const = 0;

  // How many bytes at the end of Decode(ids, kSkip) may still change when more ids follow.
  // Returning the whole size is always correct. TextStream returns the other bytes.
  virtual size_t UncertainBytes(std::span<const int32_t> ids) const {
    return Decode(ids, SpecialTokens::kSkip).size();
  }

  // The highest id + 1. The vocabulary of the model must be at least this large.
  virtual int64_t id_limit() const = 0;
  // The id of a token as the vocabulary spells it ("<|im_end|>").
  virtual std::optional<int32_t> IdOf(std::string_view token) const = 0;
  // The token as the vocabulary spells it; empty for an unknown id.
  virtual std::string_view TokenOf(int32_t id) const = 0;
  virtual bool IsSpecial(int32_t id) const = 0;
  // The ids of all tokens that were added to the vocabulary of the model, special or not, in order.
  virtual std::vector<int32_t> AddedIds() const = 0;
  // A hash of everything that determines the ids. Token caches are named by it.
  virtual uint64_t fingerprint() const = 0;
};

// Decodes ids one by one and returns text as soon as it can no longer change: a character is
// returned when all of its bytes are there. The results of Push and Finish together equal Decode of
// all ids with SpecialTokens::kSkip.
class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  std::string Push(int32_t id);
  std::string Finish();

 private:
  const Tokenizer& tokenizer_;
  // Ids whose text may still change, after the ids that their text depends on.
  std::vector<int32_t> pending_;
  size_t given_ = 0;  // bytes of their text that were already returned
};

// Makes a tokenizer in which token i is byte i. 256 begins a text, 257 ends one, and 258 is padding
// ("<|begin|>", "<|end|>", "<|pad|>", all special). It has no prefix and no suffix, and keeps
// invalid UTF-8 as it is.
std::unique_ptr<Tokenizer> MakeByteTokenizer();

}  // namespace horizon

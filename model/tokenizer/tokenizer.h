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

// Which of a vocabulary's added tokens are seen in a text. Their spelling in the others is text
// like any other, so that a document which quotes "<|im_end|>" cannot end a turn.
enum class AddedTokens {
  kAll,         // as the Hugging Face library does
  kNotSpecial,  // those that are not marked special ("<think>" of some models)
  kNone,
};

// Whether a text begins here or goes on: what a tokenizer puts before a text (a space, say) comes
// before its beginning only.
enum class TextPosition { kStart, kContinues };

// Bytes [begin, end) of a text.
struct ByteRange {
  size_t begin = 0;
  size_t end = 0;
  friend bool operator==(const ByteRange&, const ByteRange&) = default;
};

struct EncodeOptions {
  AddedTokens added = AddedTokens::kAll;
  TextPosition position = TextPosition::kStart;
  // The bytes of the text that were quoted from a record, when a chat template wrote the rest:
  // ranges in order that do not overlap. A control token is not recognised where its spelling
  // overlaps one of them; the spelling is cut out and encoded by itself as ordinary text, which
  // gives the ids of transformers' sanitize_control_tokens.
  std::span<const ByteRange> quoted = {};
  // Control tokens are the special added tokens and these added ones, which are not marked special
  // (transformers counts those that the chat template spells).
  std::span<const int32_t> control_ids = {};
};

// Text to token ids and back. Never changed once made: any number of threads may use one.
class Tokenizer {
 public:
  virtual ~Tokenizer() = default;

  // Appends the ids of `text`, without what a model wants around it (Prefix, Suffix). Bytes that
  // are not UTF-8 count as U+FFFD, one for each maximal part of a sequence, as Python's "replace"
  // has it. ResourceExhausted when a regular expression gives up on the text; InvalidArgument for
  // quoted ranges out of order, and for quoted text that has no other ids than a special token's.
  virtual absl::Status Encode(std::string_view text, const EncodeOptions& options,
                              std::vector<int32_t>& ids) const = 0;

  // Appends the ids that Encode appends, and for each the bytes of `text` it was made from. For
  // example "caf\u00e9" as the ids of "ca", "f", "<0xC3>" and "<0xA9>" has the offsets [0, 2),
  // [2, 3), [3, 5) and [3, 5): a token covers whole characters, and the tokens of a character's
  // bytes cover all of it. What a tokenizer puts before a text covers the character behind it,
  // which is covered again by the token that holds it; added tokens cover the spaces they take
  // along. Characters that a normalizer drops are covered by no token; those that it puts together
  // (e and an accent) are covered by each token that holds a part of the result. Offsets never
  // decrease in what is not normalized. Unimplemented in a tokenizer that does not keep offsets.
  virtual absl::Status EncodeWithOffsets(std::string_view text, const EncodeOptions& options,
                                         std::vector<int32_t>& ids,
                                         std::vector<ByteRange>& offsets) const;

  // The ids that the post-processor puts before and after a single text (Llama's begin of text).
  virtual std::span<const int32_t> Prefix() const = 0;
  virtual std::span<const int32_t> Suffix() const = 0;

  // The text of ids; special tokens are left out or spelled. Ids outside the vocabulary give
  // nothing. What is not UTF-8 becomes U+FFFD.
  enum class SpecialTokens { kSkip, kSpell };
  virtual std::string Decode(std::span<const int32_t> ids, SpecialTokens special) const = 0;

  // How many bytes at the end of Decode(ids, kSkip) may still change when other ids follow. Always
  // right: all of them. TextStream gives out the rest.
  virtual size_t UncertainBytes(std::span<const int32_t> ids) const {
    return Decode(ids, SpecialTokens::kSkip).size();
  }

  // A model's vocabulary must be at least this: the highest id + 1.
  virtual int64_t id_limit() const = 0;
  // The id of a token as the vocabulary spells it ("<|im_end|>").
  virtual std::optional<int32_t> IdOf(std::string_view token) const = 0;
  // The token as the vocabulary spells it; empty for ids it does not have.
  virtual std::string_view TokenOf(int32_t id) const = 0;
  virtual bool IsSpecial(int32_t id) const = 0;
  // The ids of the tokens that were added to the model's vocabulary, special or not, in order.
  virtual std::vector<int32_t> AddedIds() const = 0;
  // A hash of everything that decides ids. Token caches are named by it.
  virtual uint64_t fingerprint() const = 0;
};

// Ids one after the other to text as it becomes certain: a character is given out when all of its
// bytes are there. The pieces and Finish() together are Decode of all ids with
// SpecialTokens::kSkip.
class TextStream {
 public:
  explicit TextStream(const Tokenizer& tokenizer) : tokenizer_(tokenizer) {}
  std::string Push(int32_t id);
  std::string Finish();

 private:
  const Tokenizer& tokenizer_;
  std::vector<int32_t> pending_;  // ids whose text may still change, with those they lean on
  size_t given_ = 0;              // bytes of their text already given out
};

// Token i is byte i; 256 begins a text, 257 ends one, 258 pads ("<|begin|>", "<|end|>", "<|pad|>",
// all special). No prefix and no suffix. Invalid UTF-8 is kept as it is.
std::unique_ptr<Tokenizer> MakeByteTokenizer();

}  // namespace horizon

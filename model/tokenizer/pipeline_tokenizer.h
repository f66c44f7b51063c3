#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "model/tokenizer/added_tokens.h"
#include "model/tokenizer/bpe.h"
#include "model/tokenizer/decoder.h"
#include "model/tokenizer/normalizer.h"
#include "model/tokenizer/post_processor.h"
#include "model/tokenizer/pre_tokenizer.h"
#include "model/tokenizer/text/alignment.h"
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/unigram.h"
#include "model/tokenizer/vocabulary.h"

namespace horizon {

// The components of a tokenizer, read and checked.
struct PipelineTokenizerParts {
  std::unique_ptr<Vocabulary> vocabulary;  // the vocabulary of the model, without added tokens
  std::unique_ptr<Bpe> bpe;                // refers to it; exactly one of bpe and unigram is set
  std::unique_ptr<Unigram> unigram;
  std::vector<AddedToken> added;  // contents and ids are unique and agree with `vocabulary`
  Normalizer normalizer;
  PreTokenizer pre_tokenizer;
  std::optional<int32_t> unknown_id;  // the token for text that the vocabulary cannot spell
  PostProcessor post_processor;
  Decoder decoder;
  uint64_t fingerprint = 0;
};

// A tokenizer that works like the Hugging Face library: it cuts added tokens out of the text,
// normalizes the text between them, splits that into words, and encodes each word with a BPE or
// Unigram model.
class PipelineTokenizer final : public Tokenizer {
 public:
  // Returns ResourceExhausted if a regular expression of the normalizer gives up on an added token.
  static absl::StatusOr<std::unique_ptr<PipelineTokenizer>> Create(PipelineTokenizerParts parts);

  absl::Status Encode(std::string_view text, const EncodeOptions& options,
                      std::vector<int32_t>& ids) const override;
  absl::Status EncodeWithOffsets(std::string_view text, const EncodeOptions& options,
                                 std::vector<int32_t>& ids,
                                 std::vector<ByteRange>& offsets) const override;
  std::span<const int32_t> Prefix() const override { return parts_.post_processor.prefix; }
  std::span<const int32_t> Suffix() const override { return parts_.post_processor.suffix; }
  std::string Decode(std::span<const int32_t> ids, SpecialTokens special) const override;
  size_t UncertainBytes(std::span<const int32_t> ids) const override;
  int64_t id_limit() const override { return id_limit_; }
  std::optional<int32_t> IdOf(std::string_view token) const override;
  std::string_view TokenOf(int32_t id) const override;
  bool IsSpecial(int32_t id) const override;
  std::vector<int32_t> AddedIds() const override;
  uint64_t fingerprint() const override { return parts_.fingerprint; }

 private:
  // Working memory of one call of Encode. A call takes one from the pool and returns it, so there
  // are as many as calls ever ran at the same time.
  struct Scratch {
    MatchMemory match;
    std::optional<Bpe::Memory> bpe;  // only the one of the model in use is set
    std::optional<Unigram::Memory> unigram;
    std::string valid;       // the text with U+FFFD in it
    std::string normalized;  // the part that is being encoded
    std::string spare;
    Alignment alignment;  // describes `normalized`
  };
  class Lease;
  // The arguments of one call of Encode.
  struct Call {
    const EncodeOptions& options;
    Scratch& scratch;
    std::vector<int32_t>& ids;
    std::vector<ByteRange>* offsets = nullptr;  // nullptr: not requested
  };

  explicit PipelineTokenizer(PipelineTokenizerParts parts) : parts_(std::move(parts)) {}
  absl::Status IndexAddedTokens();
  absl::Status EncodeWhole(std::string_view text, const EncodeOptions& options,
                           std::vector<int32_t>& ids, std::vector<ByteRange>* offsets) const;
  absl::Status EncodePart(const AlignedText& part, AddedTokens which, TextPosition position,
                          Call& call) const;
  absl::Status EncodeBetween(const AlignedText& between, AddedTokens which, TextPosition position,
                             bool is_first, Call& call) const;
  std::vector<ByteRange> EncodeCovered(std::string_view word, Call& call) const;
  absl::Status EncodeAligned(std::string_view word, const AlignedText& source, Call& call) const;
  bool IsRecognised(const AddedToken& token, std::string_view spelling, const AlignedText& text,
                    AddedTokens which, const Call& call) const;

  // These are in encode_quoted.cc.
  absl::Status EncodeQuoted(const AlignedText& whole, Call& call) const;
  absl::Status EncodeBehindBreak(const AlignedText& piece, AddedTokens which, Call& call) const;
  absl::Status RespellQuoted(std::string_view word, std::span<const ByteRange> covered,
                             const AlignedText& source, size_t first, Call& call) const;
  std::vector<std::string> Spellings(std::span<const int32_t> ids, SpecialTokens special) const;

  PipelineTokenizerParts parts_;
  AddedTokenFinder in_text_;        // tokens that are matched before normalization
  AddedTokenFinder in_normalized_;  // tokens that are matched in the normalized text
  AddedTokenFinder special_;        // special tokens as the file spells them
  absl::flat_hash_map<std::string, int32_t> added_ids_;
  absl::flat_hash_map<int32_t, const AddedToken*> added_by_id_;
  int64_t id_limit_ = 0;
  mutable std::mutex mutex_;
  mutable std::vector<std::unique_ptr<Scratch>> free_;  // guarded by mutex_
};

}  // namespace horizon

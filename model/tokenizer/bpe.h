#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/vocabulary.h"
#include "model/tokenizer/word_cache.h"

namespace horizon {

// Settings of a Bpe, from the "model" of a tokenizer.json.
struct BpeOptions {
  std::optional<int32_t> unknown_id;  // replaces characters that are not in the vocabulary
  bool fuses_unknown = false;         // a run of unknown characters becomes one token
  bool byte_fallback = false;         // tries the tokens <0xNN> of their bytes first
  bool ignores_merges = false;        // a word that is in the vocabulary is not split
};

// Byte pair encoding of one word. Repeatedly merges the pair of neighbouring tokens with the lowest
// rank (the leftmost of equal ones) into one token, until no pair can be merged. Immutable once all
// merges are added and UseRawBytes was called, if at all.
class Bpe {
 public:
  // Working memory of Encode, with a cache of words that were encoded before. One thread at a time.
  struct Memory {
    struct Symbol {
      int32_t id = 0;
      int32_t previous = 0;  // positions of the neighbours in `symbols`; -1: none
      int32_t next = 0;
      uint32_t rank = 0;  // of the merge with the next symbol; only used for short words
    };
    struct Candidate {
      uint32_t rank = 0;
      int32_t place = 0;
      int32_t id = 0;  // of the merged token
    };
    std::vector<Symbol> symbols;
    std::vector<Candidate> heap;
    WordCache cache;
  };

  // `vocabulary` is the vocabulary of the model without added tokens. It must outlive this object.
  Bpe(const Vocabulary& vocabulary, const BpeOptions& options);

  void ReserveMerges(size_t count) { merges_.reserve(count); }
  // Adds the merge of two tokens into a third, with its rank. A later merge of the same pair
  // replaces an earlier one.
  void AddMerge(int32_t left, int32_t right, uint32_t rank, int32_t merged);

  // From now on words are raw bytes, although the vocabulary spells bytes as characters
  // (byte_alphabet.h). Returns false and changes nothing if the vocabulary lacks one of the 256
  // bytes.
  bool UseRawBytes();

  // Appends the ids of a word that is not empty. The word is UTF-8, or any bytes after UseRawBytes.
  // O(n log n).
  void Encode(std::string_view word, Memory& memory, std::vector<int32_t>& ids) const;

  // Returns, for each of `ids`, the bytes of `word` that it stands for. `ids` are those that Encode
  // appended for the word. A byte token stands for its byte. O(n).
  std::vector<ByteRange> CoveredBytes(std::string_view word, std::span<const int32_t> ids) const;

 private:
  struct Merge {
    uint32_t rank = 0;
    int32_t id = 0;
  };
  const Merge* FindMerge(int32_t left, int32_t right) const;
  void EncodeUncached(std::string_view word, Memory& memory, std::vector<int32_t>& ids) const;
  void ListSymbols(std::string_view word, Memory& memory) const;
  // The tokens of single characters and bytes that merging starts from.
  struct Unit {
    int32_t id = 0;
    ByteRange bytes;
  };
  template <typename OnUnit>
  void VisitUnits(std::string_view word, OnUnit on_unit) const;
  template <typename OnUnit>
  void VisitUnknown(std::string_view word, ByteRange character, Unit& pending,
                    OnUnit on_unit) const;
  std::optional<int32_t> WholeWord(std::string_view word) const;
  void MergeShort(Memory& memory) const;
  void MergeLong(Memory& memory) const;
  void Offer(int32_t place, Memory& memory) const;

  const Vocabulary& vocabulary_;
  BpeOptions options_;
  absl::flat_hash_map<uint64_t, Merge> merges_;
  absl::flat_hash_map<char32_t, int32_t> characters_;
  std::array<int32_t, 256> fallback_;  // the ids of <0x00>, ...; -1: not in the vocabulary
  bool uses_raw_bytes_ = false;
  std::array<int32_t, 256> bytes_ = {};  // the id of each byte, if words are raw bytes
  std::vector<std::string> byte_words_;  // tokens as raw bytes; owns the keys of words_
  absl::flat_hash_map<absl::string_view, int32_t> words_;
};

}  // namespace horizon

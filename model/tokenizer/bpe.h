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

struct BpeOptions {
  std::optional<int32_t> unknown_id;  // in place of characters the vocabulary lacks
  bool fuses_unknown = false;         // several such in a row are one
  bool byte_fallback = false;         // or, first, the tokens <0xNN> of their bytes
  bool ignores_merges = false;        // a word of the vocabulary is that token
};

// Byte pair encoding of one word: the pair of neighbours with the lowest rank, of equal ones the
// leftmost, becomes one token, until none is left that may. Never changed once made.
class Bpe {
 public:
  // Room to work in, with the words met before; for one thread at a time.
  struct Memory {
    struct Symbol {
      int32_t id = 0;
      int32_t previous = 0;  // places in the word; -1: none
      int32_t next = 0;
      uint32_t rank = 0;  // of the merge with the next one, in short words
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

  // `vocabulary` is that of the model, without added tokens, and must outlive this.
  Bpe(const Vocabulary& vocabulary, const BpeOptions& options);

  void ReserveMerges(size_t count) { merges_.reserve(count); }
  // The merge of two tokens into a third, its rank. A later one of the same pair replaces it.
  void AddMerge(int32_t left, int32_t right, uint32_t rank, int32_t merged);

  // From now on words are bytes; the vocabulary spells them as characters (byte_alphabet.h). False,
  // changing nothing, if it does not have all 256.
  bool ReadBytes();

  // Appends the ids of a word (UTF-8, or any bytes after ReadBytes) that is not empty. O(n log n).
  void Encode(std::string_view word, Memory& memory, std::vector<int32_t>& ids) const;

  // The bytes of `word` that each of `ids`, which Encode appended for it, stands for. A byte token
  // stands for its byte. O(n).
  std::vector<ByteRange> Cover(std::string_view word, std::span<const int32_t> ids) const;

 private:
  struct Merge {
    uint32_t rank = 0;
    int32_t id = 0;
  };
  const Merge* FindMerge(int32_t left, int32_t right) const;
  void EncodeUncached(std::string_view word, Memory& memory, std::vector<int32_t>& ids) const;
  void ListSymbols(std::string_view word, Memory& memory) const;
  // The tokens of characters and bytes that merging begins with.
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
  std::array<int32_t, 256> fallback_;  // the ids of <0x00> ...; -1: not there
  bool reads_bytes_ = false;
  std::array<int32_t, 256> bytes_ = {};  // by byte, when words are bytes
  std::vector<std::string> byte_words_;  // tokens as bytes, the keys of words_
  absl::flat_hash_map<absl::string_view, int32_t> words_;
};

}  // namespace horizon

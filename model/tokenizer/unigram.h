#pragma once

#include <array>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include "model/tokenizer/tokenizer.h"
#include "model/tokenizer/vocabulary.h"
#include "model/tokenizer/word_cache.h"

namespace horizon {

// Settings of a Unigram, from the "model" of a tokenizer.json.
struct UnigramOptions {
  int32_t unknown_id = 0;      // replaces a run of characters that are in no piece
  bool byte_fallback = false;  // tries the tokens <0xNN> of their bytes first
};

// Encodes one word with a unigram language model: of all ways to build the word from pieces, it
// takes the one with the largest sum of scores (Kudo, "Subword Regularization", 2018, section 3.2;
// Viterbi). Sums are computed in double from left to right; among equal sums, the one with the
// longest last piece wins. A character without a piece of its own scores 10 below the lowest score.
// Immutable.
class Unigram {
 public:
  // Working memory of Encode, with a cache of words that were encoded before. One thread at a time.
  struct Memory {
    // The best way to build the word up to this byte.
    struct Node {
      double score = 0;
      uint32_t size = 0;  // bytes of its last piece; 0: none was found yet
      int32_t id = 0;
    };
    std::vector<Node> nodes;
    std::vector<uint32_t> path;
    WordCache cache;
  };

  // `scores` has one number for each entry of `vocabulary`, in order. The vocabulary must outlive
  // this object. If a token has several ids, the one that IdOf returns counts, with its score.
  Unigram(const Vocabulary& vocabulary, const std::vector<double>& scores,
          const UnigramOptions& options);

  // Appends the ids of a word (UTF-8, not empty) and, if `covered` is given, the bytes of the word
  // that each id stands for: a byte token stands for its byte. Takes O(n) time for pieces of
  // bounded size, and memory for the longest stretch of the word in which pieces overlap
  // everywhere.
  void Encode(std::string_view word, Memory& memory, std::vector<int32_t>& ids,
              std::vector<ByteRange>* covered = nullptr) const;

 private:
  struct Piece {
    std::string_view text;
    int32_t id = 0;
    double score = 0;
  };
  struct Output;

  template <typename OnPiece>
  void VisitPieces(std::string_view text, OnPiece on_piece) const;
  void EncodeUncached(std::string_view word, Memory& memory, Output& output) const;
  size_t Extend(std::string_view word, size_t base, size_t at, Memory& memory) const;
  void TakeBestPath(std::string_view word, size_t base, Memory& memory, Output& output) const;
  void AppendRun(std::string_view word, Output& output) const;

  const Vocabulary& vocabulary_;
  UnigramOptions options_;
  double unknown_score_ = 0;
  std::vector<Piece> pieces_;  // sorted by their bytes
  // For the first two bytes of a piece: the range of pieces that begin with them. Pieces of one
  // byte are in single_.
  std::vector<std::pair<uint32_t, uint32_t>> begins_;
  std::array<int32_t, 256> single_;    // the position of the piece of this one byte; -1: none
  std::array<int32_t, 256> fallback_;  // the ids of <0x00>, ...; -1: not in the vocabulary
};

}  // namespace horizon

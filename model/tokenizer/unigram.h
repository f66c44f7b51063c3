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

struct UnigramOptions {
  int32_t unknown_id = 0;      // in place of runs of characters that no piece has
  bool byte_fallback = false;  // or, first, the tokens <0xNN> of their bytes
};

// A unigram language model of one word: of all ways to put the word together from pieces the one
// whose scores have the largest sum (Kudo, "Subword Regularization", 2018, section 3.2; Viterbi).
// Sums are of doubles from left to right; of equal ones the last piece that is longest counts. A
// character without a piece of its own scores 10 below the lowest. Never changed once made.
class Unigram {
 public:
  // Room to work in, with the words met before; for one thread at a time.
  struct Memory {
    // The best way to here.
    struct Node {
      double score = 0;
      uint32_t size = 0;  // bytes of its last piece; 0: no way yet
      int32_t id = 0;
    };
    std::vector<Node> nodes;
    std::vector<uint32_t> path;
    WordCache cache;
  };

  // `scores` are those of `vocabulary`'s entries, in order; it must outlive this. Of a token's ids
  // the one that IdOf tells counts, with its score.
  Unigram(const Vocabulary& vocabulary, const std::vector<double>& scores,
          const UnigramOptions& options);

  // Appends the ids of a word (UTF-8, not empty), and where `covered` is given the bytes of the
  // word that each stands for: byte tokens stand for their byte. O(n) for pieces of bounded size;
  // memory for the longest stretch of the word in which pieces overlap everywhere.
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
  // By the first two bytes, the pieces that begin with them, without those of one byte.
  std::vector<std::pair<uint32_t, uint32_t>> begins_;
  std::array<int32_t, 256> single_;    // the place of the piece of this one byte; -1: none
  std::array<int32_t, 256> fallback_;  // the ids of <0x00> ...; -1: not there
};

}  // namespace horizon

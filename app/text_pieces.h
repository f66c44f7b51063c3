#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"
#include "common/io.h"

namespace horizon {

// A text file piece by piece, each at most `largest` bytes, so that no file is too large. Pieces
// end with a line break between two characters that are no spaces, where every tokenizer we know
// cuts too; in a text without one with a line break before a character that is none, or else
// between any two characters. Refers to the file, which must outlive it.
class TextPieces {
 public:
  // `largest` is at least 4, the length of a character.
  TextPieces(File& file, size_t largest) : file_(file), largest_(largest) {}
  // The next piece, valid until the next call; empty at the end of the file.
  absl::StatusOr<std::string_view> Next();

 private:
  // How much of a full buffer, behind which more text follows, makes a piece.
  size_t FindCut() const;

  File& file_;
  size_t largest_;
  std::string buffer_;
  size_t given_ = 0;  // bytes at the front of the buffer that were given out
  uint64_t read_ = 0;
};

}  // namespace horizon

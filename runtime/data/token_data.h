#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "common/io.h"
#include "common/units.h"
#include "runtime/data/token_line.h"
#include "runtime/data/token_source.h"

namespace horizon {

// Training data that is tokens already: a file of JSON lines (token_line.h), one sample a line and
// a row of its own in a micro-batch, padded behind its end. The file's text stays on disk: memory
// is 8 bytes a line and two of the longest lines.
class TokenData final : public TokenSource {
 public:
  struct Options {
    int64_t sequence = 0;
    int64_t vocab = 0;
    bool shuffle = true;  // a new order each epoch, from the seed; otherwise as in the file
    int64_t seed = 0;
  };
  // No line is longer.
  static constexpr Bytes kLongestLine = 64_MiB;

  // Reads the whole file once, checking every line and noting where each begins. InvalidArgument
  // "FILE:LINE: REASON" for the first bad one and for a file without lines; Io's errors. `io`
  // outlives the result, the file must not change meanwhile.
  static absl::StatusOr<std::unique_ptr<TokenData>> Open(Io& io, const std::string& path,
                                                         const Options& options);

  // A line that cannot be read again as it was when the file was opened is DataLoss.
  absl::StatusOr<int64_t> Fill(std::span<TokenRecord> records) override;
  DataPosition position() const override { return position_; }
  absl::Status Seek(DataPosition position) override;

  int64_t samples() const { return static_cast<int64_t>(starts_.size()) - 1; }
  // Of the whole file: tokens, and those of them that are trained to be said.
  int64_t tokens() const { return tokens_; }
  int64_t labelled_tokens() const { return labelled_tokens_; }

 private:
  TokenData(std::string path, const Options& options) : path_(std::move(path)), options_(options) {}
  absl::Status Index();
  absl::Status TakeLine(uint64_t start, std::string_view text);
  absl::Status ReadSample(int64_t sample);

  std::string path_;
  Options options_;
  std::unique_ptr<File> file_;
  std::vector<uint64_t> starts_;  // of each line, and the end of the last
  int64_t tokens_ = 0;
  int64_t labelled_tokens_ = 0;
  DataPosition position_;
  std::string text_;  // of the line being read
  TokenLine line_;
};

}  // namespace horizon

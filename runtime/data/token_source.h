#pragma once

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/arguments/token_record.h"

namespace horizon {

// A position in the data: completed epochs, and how far the present epoch has come, in the source's
// own unit. Saved with a checkpoint.
struct DataPosition {
  int64_t epoch = 0;
  int64_t index = 0;
  friend bool operator==(const DataPosition&, const DataPosition&) = default;
};

// The data that the trainer trains on: one micro-batch after another, without end. Used by one
// thread.
class TokenSource {
 public:
  virtual ~TokenSource() = default;

  // Fills the next micro-batch: records.size() / sequence rows of `sequence` tokens, one after the
  // other (a size that is not a multiple of `sequence`, or 0, is a CHECK). A record's label is
  // already shifted: it is the token that this position is trained to predict, or -100 where there
  // is none (the last token of a sample). A row holds one sample after another, each with positions
  // from 0; the padding after the last sample has id 0 and no labels and forms one more sample.
  // next_same and is_first are set for the micro-batch. Returns how many records have a label.
  // After an error the position is as before the call.
  virtual absl::StatusOr<int64_t> Fill(std::span<TokenRecord> records) = 0;

  // position is where the next Fill starts. Seek returns to a saved position, after which the same
  // rows follow; InvalidArgument for a position that the data does not have.
  virtual DataPosition position() const = 0;
  // The number of passes over the data before that position: 1.5 in the middle of the second pass.
  virtual double passes() const = 0;
  virtual absl::Status Seek(DataPosition position) = 0;
};

}  // namespace horizon

#pragma once

#include <cstdint>
#include <span>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "kernels/arguments/token_record.h"

namespace horizon {

// Where in the data a run stands: whole passes over it, and how far the present pass has come, as
// the source counts it. Saved with a checkpoint.
struct DataPosition {
  int64_t epoch = 0;
  int64_t index = 0;
  friend bool operator==(const DataPosition&, const DataPosition&) = default;
};

// What the trainer trains on, one micro-batch after another without end. One thread.
class TokenSource {
 public:
  virtual ~TokenSource() = default;

  // Fills the next micro-batch: records.size() / sequence rows of `sequence` tokens, one after the
  // other (a size that is no multiple, or 0, is a CHECK). A record's label is the one its position
  // is trained to say, already shifted, -100 where there is none (the last token of a sample). A
  // row holds one sample after another, each with positions from 0; what follows the last is id 0
  // without label, as if it were one more sample. next_same and is_first hold for the micro-batch.
  // Returns how many records have a label. After an error the position is as before the call.
  virtual absl::StatusOr<int64_t> Fill(std::span<TokenRecord> records) = 0;

  // The position the next Fill starts from, and back to one that was saved: the same rows follow.
  // InvalidArgument for a position the data does not have.
  virtual DataPosition position() const = 0;
  virtual absl::Status Seek(DataPosition position) = 0;
};

}  // namespace horizon

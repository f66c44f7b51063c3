#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace horizon {

// The records of a TensorBoard event file, as bytes to append to it. Such a file is a sequence of
// TFRecords, each with a serialised Event (tensorflow/core/util/event.proto, summary.proto). Each
// function returns one record; `unix_seconds` is when it happened. Pure.

// The first record of every event file: it says "brain.Event:2".
std::string FileVersionRecord(double unix_seconds);

// Says that a process begins to write at this step (SessionLog::START). Readers then forget what
// earlier files of the folder have of this step and of later ones, so that a run that was killed
// and goes on from a checkpoint shows each step once.
std::string SessionStartRecord(double unix_seconds, int64_t step);

// One value of a step, for ScalarsRecord.
struct Scalar {
  std::string_view tag;  // "train/loss"
  double value = 0;      // stored as a float; may be NaN or infinite
  // Whether this is the first value of its tag in the file. The first value tells TensorBoard to
  // show the tag on its page of scalars.
  bool first = false;
};
// The values of one step, as one record: the file has all of them or none.
std::string ScalarsRecord(double unix_seconds, int64_t step, std::span<const Scalar> scalars);

// Wraps `data` as a TFRecord: its length, the masked CRC-32C of the length, the data, and the
// masked CRC-32C of the data.
std::string TfRecord(std::string_view data);

}  // namespace horizon

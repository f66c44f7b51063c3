#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "common/units.h"
#include "runtime/data/records/sequential_reader.h"

namespace horizon {

// How the records of a data file lie in it.
enum class DataLayout {
  kLines,  // JSON lines: a record a line
  kArray,  // one JSON array: a record an element, laid out in any way
  kText,   // plain text: one document, given in pieces
};

// By the name's ending, and by the first bytes (up to 4 KiB, without a byte order mark) where that
// says nothing. `.jsonl`, `.ndjson`: lines. `.json`: an array, or lines when it begins with '{'.
// `.txt`, `.md`: text. Others: what they look like. InvalidArgument, with what to do, for what can
// only be converted: Parquet, Arrow, CSV, compressed and other binary files, UTF-16.
absl::StatusOr<DataLayout> RecogniseLayout(const std::string& path, std::string_view head);

struct DataRecord {
  // JSON of one value, in which bytes that are not UTF-8 have become U+FFFD; or a piece of text.
  std::string text;
  int64_t line = 0;        // where it begins, from 1
  int64_t element = 0;     // kArray: its number, from 1
  bool continues = false;  // kText: another piece came before
  std::string problem;     // not empty: why the record cannot be given; the text is empty then
};

// The records of a data file one after the other, in memory for the longest record (at most
// `longest`) and a read, however large the file is. Blank lines and a byte order mark are skipped,
// a last line needs no newline. One thread; `io` outlives it.
class RecordStream {
 public:
  struct Options {
    Bytes longest = 64_MiB;
    // Text is cut into pieces of at most this many bytes (>= 4; PieceLength says where).
    Bytes piece_bytes = 1_MiB;
    Bytes read_bytes = SequentialReader::kReadBytes;
  };

  // RecogniseLayout's and Io's errors.
  static absl::StatusOr<RecordStream> Open(Io& io, const std::string& path, const Options& options);
  static absl::StatusOr<RecordStream> Open(Io& io, const std::string& path);

  // The next record into `record`, whose text is used again; false after the last one. A record
  // longer than `longest` is a problem of its own and the next call goes on behind it.
  // InvalidArgument "FILE:LINE: REASON" where an array ends too early or cannot be followed
  // further; Io's errors, DataLoss when the file shrinks.
  absl::StatusOr<bool> Next(DataRecord& record);

  // "FILE:LINE", with the element's number where the file is an array.
  std::string Where(const DataRecord& record) const;

  DataLayout layout() const { return layout_; }
  const std::string& path() const { return reader_.path(); }
  uint64_t size() const { return reader_.size(); }
  uint64_t taken() const { return reader_.taken(); }
  // Of the file's bytes, once Next gave false.
  Hash128 hash() const { return reader_.hash(); }

 private:
  RecordStream(SequentialReader reader, const Options& options)
      : reader_(std::move(reader)), options_(options) {}
  absl::StatusOr<bool> NextLine(DataRecord& record);
  absl::StatusOr<bool> NextElement(DataRecord& record);
  absl::StatusOr<bool> NextPiece(DataRecord& record);
  absl::Status TakeElement(DataRecord& record);
  absl::Status EndArray();
  absl::StatusOr<int> NextCharacter();
  void Take(std::string_view part, DataRecord& record);
  absl::Status ErrorHere(std::string_view message) const;

  SequentialReader reader_;
  Options options_;
  DataLayout layout_ = DataLayout::kLines;
  int64_t line_ = 1;  // of the byte that comes next
  // kArray
  enum class Place { kBefore, kInside, kAfter };
  Place place_ = Place::kBefore;
  int64_t elements_ = 0;
  bool owes_element_ = false;  // a comma stands before
  bool too_long_ = false;      // of the record being read
};

}  // namespace horizon

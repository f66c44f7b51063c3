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

// How the records of a data file are laid out in it.
enum class DataLayout {
  kLines,  // JSON Lines: one record per line
  kArray,  // one JSON array: one record per element, with any white space
  kText,   // plain text: one document, returned in pieces
};

// Recognises the layout by the file name's extension and, where that does not decide, by the first
// bytes (up to 4 KiB, without a byte order mark). `.jsonl`, `.ndjson`: lines. `.json`: an array, or
// lines when it begins with '{'. `.txt`, `.md`: text. Others: by what they look like.
// InvalidArgument, with what to do, for files that must be converted first: Parquet, Arrow, CSV,
// compressed and other binary files, UTF-16.
absl::StatusOr<DataLayout> RecogniseLayout(const std::string& path, std::string_view head);

// What the extension of a file says about it: data, data in a format that has to be converted
// first (.parquet, .csv, .gz, ...), or something else.
enum class DataFileName { kData, kToConvert, kOther };
DataFileName NameOf(const std::string& path);

// One record of a data file.
struct DataRecord {
  // The JSON text of one value, in which bytes that are not UTF-8 are replaced by U+FFFD; or a
  // piece of plain text.
  std::string text;
  int64_t line = 0;        // where it begins, from 1
  int64_t element = 0;     // kArray: the element's number, from 1
  bool continues = false;  // kText: not the first piece
  std::string problem;     // not empty: why the record cannot be read; then `text` is empty
};

// Reads the records of a data file one after the other. However large the file is, it needs memory
// only for the longest record (at most `longest`) and one read. Blank lines and a byte order mark
// are skipped; the last line needs no newline. Used by one thread; `io` outlives it.
class RecordStream {
 public:
  struct Options {
    Bytes longest = 64_MiB;
    // Plain text is divided into pieces of at most this many bytes (>= 4; PieceLength decides
    // where).
    Bytes piece_bytes = 1_MiB;
    Bytes read_bytes = SequentialReader::kReadBytes;
  };

  // Errors are RecogniseLayout's and Io's.
  static absl::StatusOr<RecordStream> Open(Io& io, const std::string& path, const Options& options);
  static absl::StatusOr<RecordStream> Open(Io& io, const std::string& path);

  // Reads the next record into `record`, reusing the memory of its text; false after the last one.
  // A record longer than `longest` is returned with a `problem`, and the next call continues after
  // it. InvalidArgument "FILE:LINE: REASON" where an array ends too early or cannot be parsed
  // further; Io's errors; DataLoss when the file becomes shorter.
  absl::StatusOr<bool> Next(DataRecord& record);

  // The place of a record, "FILE:LINE", with the element's number where the file is an array.
  std::string Where(const DataRecord& record) const;

  DataLayout layout() const { return layout_; }
  const std::string& path() const { return reader_.path(); }
  uint64_t size() const { return reader_.size(); }
  uint64_t taken() const { return reader_.taken(); }
  // The hash of the file's bytes, once Next has returned false.
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
  int64_t line_ = 1;  // line of the next byte
  // The rest is for kArray only, except too_long_.
  enum class Place { kBefore, kInside, kAfter };
  Place place_ = Place::kBefore;
  int64_t elements_ = 0;
  bool owes_element_ = false;  // after a comma an element must follow
  bool too_long_ = false;      // the present record is longer than options_.longest
};

}  // namespace horizon

#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/files/io.h"

namespace horizon {

// A file to which a run appends entries and whose errors must not end the run: the lines of
// metrics.jsonl, eval.jsonl and routing.jsonl, the records of a TensorBoard event file.
//
//   AppendFile metrics(io, LinesAt(folder + "/metrics.jsonl"),
//                      [&](const std::string& text) { warn(text); });
//   RETURN_IF_ERROR(metrics.Open());  // reports at once a folder that cannot be written
//   metrics.Append("{\"step\": 1}\n");
//
// An entry that cannot be written (a full disk, a limit) is kept in memory and written with a later
// one, when there is room. At most kMostKept bytes are kept; beyond that the oldest entries are
// lost. Readers see complete entries only: what a failed write left of one is truncated at once.
// The listener is called once when entries begin to be kept, once when all have been written again,
// and at the end if entries are lost. Used by one thread; `io` outlives it.
class AppendFile {
 public:
  static constexpr size_t kMostKept = size_t{1} << 20;
  // Receives a whole sentence for the user.
  using Listener = std::function<void(const std::string&)>;
  struct Options {
    std::string path;
    // What messages call an entry, without a plural s.
    std::string entry = "line";
    // Written before the first entry of an empty file, together with it, and never lost.
    std::string header = {};
    // Finds where the last complete entry of a file of `size` bytes ends. Empty: every byte of the
    // file belongs to a complete entry.
    std::function<absl::StatusOr<uint64_t>(Io& io, const std::string& path, uint64_t size)>
        end_of_entries = {};
  };

  AppendFile(Io& io, Options options, Listener warn);
  ~AppendFile();  // Close()
  AppendFile(const AppendFile&) = delete;
  AppendFile& operator=(const AppendFile&) = delete;

  // Creates the file if it is missing, and truncates an incomplete entry that a killed process
  // left. The first Append does it too, without returning an error. NotFound where the folder is
  // missing.
  absl::Status Open();
  // Adds an entry with all of its bytes; a line includes its line feed.
  void Append(std::string_view entry);
  // Writes the kept entries, if that is possible now, and syncs the file to disk. Creates no file
  // where there never was an entry.
  void Sync();
  // Syncs the file and reports lost entries. No call may follow.
  void Close();

  size_t kept_bytes() const { return kept_.size(); }
  int64_t lost_entries() const { return lost_; }

 private:
  absl::Status Write();
  absl::Status CutPart();
  void ForgetOldest(int64_t count);
  void DropOldestEntries();
  void NoteOutcome(const absl::Status& status);
  std::string Entries(int64_t count) const;

  Io& io_;
  const Options options_;
  const Listener warn_;
  std::unique_ptr<File> file_;  // null: not open
  uint64_t whole_ = 0;          // bytes of the file that are the header and complete entries
  bool has_part_ = false;       // after those there may be a part of an entry
  std::string kept_;            // complete entries that are not in the file
  std::deque<size_t> sizes_;    // of each entry in kept_, in bytes
  int64_t lost_ = 0;
  bool failing_ = false;  // the last write failed, and entries are kept
  bool warned_ = false;
  bool recovery_reported_ = false;
  bool closed_ = false;
};

// The options of a file of lines, each of which ends with a line feed.
AppendFile::Options LinesAt(std::string path);

}  // namespace horizon

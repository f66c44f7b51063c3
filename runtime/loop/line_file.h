#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "common/files/io.h"

namespace horizon {

// A file to which a run appends lines and whose errors must not end the run: metrics.jsonl,
// eval.jsonl.
//
//   LineFile metrics(io, folder + "/metrics.jsonl", [&](const std::string& text) { warn(text); });
//   RETURN_IF_ERROR(metrics.Open());  // reports at once a folder that cannot be written
//   metrics.Append(R"({"step": 1})");
//
// A line that cannot be written (a full disk, a limit) is kept in memory and written with a later
// one, when there is room. At most kMostKept bytes are kept; beyond that the oldest lines are lost.
// Readers see complete lines only: what a failed write left of a line is truncated at once. The
// listener is called once when lines begin to be kept, once when all have been written again, and
// at the end if lines are lost. Used by one thread; `io` outlives it.
class LineFile {
 public:
  static constexpr size_t kMostKept = size_t{1} << 20;
  // Receives a whole sentence for the user.
  using Listener = std::function<void(const std::string&)>;

  LineFile(Io& io, std::string path, Listener warn);
  ~LineFile();  // Close()
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  // Creates the file if it is missing, and truncates an incomplete line that a killed process left.
  // The first Append does it too, without returning an error. NotFound where the folder is missing.
  absl::Status Open();
  // Adds a line; `line` has no line feed.
  void Append(std::string_view line);
  // Writes the kept lines, if that is possible now, and syncs the file to disk. Creates no file
  // where there never was a line.
  void Sync();
  // Syncs the file and reports lost lines. No call may follow.
  void Close();

  size_t kept_bytes() const { return kept_.size(); }
  int64_t lost_lines() const { return lost_; }

 private:
  absl::Status Write();
  absl::Status CutPart();
  void DropOldestLines();
  void NoteOutcome(const absl::Status& status);

  Io& io_;
  const std::string path_;
  const Listener warn_;
  std::unique_ptr<File> file_;  // null: not open
  uint64_t whole_ = 0;          // bytes of the file that are complete lines
  bool has_part_ = false;       // after those there may be a part of a line
  std::string kept_;            // complete lines that are not in the file
  int64_t lost_ = 0;
  bool failing_ = false;  // the last write failed, and lines are kept
  bool warned_ = false;
  bool recovery_reported_ = false;
  bool closed_ = false;
};

}  // namespace horizon

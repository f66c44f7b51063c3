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

// A file that a run adds lines to and that must not end the run: metrics.jsonl, eval.jsonl.
//
//   LineFile metrics(io, folder + "/metrics.jsonl", [&](const std::string& text) { warn(text); });
//   RETURN_IF_ERROR(metrics.Open());  // a folder that cannot be written is said at once
//   metrics.Append(R"({"step": 1})");
//
// A line that cannot be written (a full disk, a limit) is kept in memory and written with a later
// one, when there is room. At most kMostKept bytes are kept; then the oldest lines are lost.
// Readers see whole lines only: what a failed write left of a line is cut off the file at once. The
// listener is told once when lines begin to be kept, once when all are written again, and of what
// is lost in the end. One thread; `io` outlives it.
class LineFile {
 public:
  static constexpr size_t kMostKept = size_t{1} << 20;
  // A whole sentence for people.
  using Listener = std::function<void(const std::string&)>;

  LineFile(Io& io, std::string path, Listener warn);
  ~LineFile();  // Close()
  LineFile(const LineFile&) = delete;
  LineFile& operator=(const LineFile&) = delete;

  // Makes the file if it is missing, and cuts off a line that a killed process left in part. The
  // first Append does it too, without an error. NotFound where the folder is missing.
  absl::Status Open();
  // Adds a line, which has no line feed.
  void Append(std::string_view line);
  // Writes what is kept, if that is possible now, and hands the file to the disk. Makes no file
  // where there never was a line.
  void Sync();
  // Sync, and says what is lost. Nothing may follow.
  void Close();

  size_t kept_bytes() const { return kept_.size(); }
  int64_t lost_lines() const { return lost_; }

 private:
  absl::Status Write();
  absl::Status CutPart();
  void Keep();
  void NoteOutcome(const absl::Status& status);

  Io& io_;
  const std::string path_;
  const Listener warn_;
  std::unique_ptr<File> file_;  // null: not open
  uint64_t whole_ = 0;          // bytes of the file that are whole lines
  bool has_part_ = false;       // behind those there may be a part of one
  std::string kept_;            // whole lines that are not in the file
  int64_t lost_ = 0;
  bool failing_ = false;  // lines are kept
  bool warned_ = false;
  bool told_of_return_ = false;
  bool closed_ = false;
};

}  // namespace horizon

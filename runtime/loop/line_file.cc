#include "runtime/loop/line_file.h"

#include <algorithm>
#include <span>
#include <utility>
#include <vector>

#include "common/files/posix_truncate.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "common/units.h"

namespace horizon {
namespace {

std::string Lines(int64_t count) { return count == 1 ? "1 line" : StrCat(count, " lines"); }

// Where the last whole line ends, looking back from `size`.
absl::StatusOr<uint64_t> EndOfLines(Io& io, const std::string& path, uint64_t size) {
  constexpr uint64_t kPiece = 4096;
  // A file that is opened to be added to cannot be read.
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, io.Open(path, OpenMode::kRead));
  std::vector<std::byte> piece(kPiece);
  for (uint64_t end = size; end > 0;) {
    const uint64_t begin = end - std::min(end, kPiece);
    ASSIGN_OR_RETURN(const size_t count, file->ReadAt(begin, std::span(piece).first(end - begin)));
    for (size_t i = count; i > 0; --i) {
      if (piece[i - 1] == std::byte{'\n'}) return begin + i;
    }
    end = begin;
  }
  return 0;
}

}  // namespace

LineFile::LineFile(Io& io, std::string path, Listener warn)
    : io_(io), path_(std::move(path)), warn_(std::move(warn)) {}

LineFile::~LineFile() { Close(); }

absl::Status LineFile::Open() {
  if (file_ != nullptr) return absl::OkStatus();
  ASSIGN_OR_RETURN(std::unique_ptr<File> file, io_.Open(path_, OpenMode::kAppend));
  ASSIGN_OR_RETURN(const FileInfo info, file->Info());
  ASSIGN_OR_RETURN(whole_, EndOfLines(io_, path_, info.size.value()));
  has_part_ = whole_ < info.size.value();
  file_ = std::move(file);
  return CutPart();
}

absl::Status LineFile::CutPart() {
  if (!has_part_) return absl::OkStatus();
  RETURN_IF_ERROR(TruncateFile(path_, whole_));
  has_part_ = false;
  return absl::OkStatus();
}

absl::Status LineFile::Write() {
  RETURN_IF_ERROR(Open());
  RETURN_IF_ERROR(CutPart());
  if (kept_.empty()) return absl::OkStatus();
  absl::Status written = file_->WriteAt(whole_, std::as_bytes(std::span(kept_)));
  if (written.ok()) {
    whole_ += kept_.size();
    kept_.clear();
    return absl::OkStatus();
  }
  has_part_ = true;
  // The lines that found room stay.
  if (const absl::StatusOr<FileInfo> info = file_->Info(); info.ok()) {
    const uint64_t size = info->size.value();
    const uint64_t went = std::min<uint64_t>(size - std::min(size, whole_), kept_.size());
    const size_t line_feed = went == 0 ? std::string::npos : kept_.rfind('\n', went - 1);
    const size_t lines = line_feed == std::string::npos ? 0 : line_feed + 1;
    whole_ += lines;
    kept_.erase(0, lines);
  }
  CutPart().IgnoreError();  // or before the next line is written
  return written;
}

void LineFile::Append(std::string_view line) {
  kept_ += line;
  kept_ += '\n';
  NoteOutcome(Write());
  if (kept_.size() > kMostKept) DropOldestLines();
}

// Drops the oldest lines, so that the rest fits.
void LineFile::DropOldestLines() {
  const size_t line_feed = kept_.find('\n', kept_.size() - kMostKept - 1);
  lost_ += std::count(kept_.begin(), kept_.begin() + static_cast<int64_t>(line_feed) + 1, '\n');
  kept_.erase(0, line_feed + 1);
}

void LineFile::NoteOutcome(const absl::Status& status) {
  if (!status.ok() && !warned_) {
    warned_ = true;
    warn_(StrCat(std::string(status.message()), ". Training goes on; the lines of ", path_,
                 " are kept in memory (at most ", ToString(Bytes(CheckedU64(kMostKept))),
                 ") and written when that is possible again"));
  }
  if (status.ok() && failing_ && !recovery_reported_) {
    recovery_reported_ = true;
    warn_(StrCat(path_, " is written again; ",
                 lost_ == 0 ? "no line is lost" : StrCat(Lines(lost_), " could not be kept")));
  }
  failing_ = !status.ok();
}

void LineFile::Sync() {
  if (file_ == nullptr && kept_.empty()) return;  // there never was a line
  NoteOutcome(Write());
  if (failing_ || file_ == nullptr) return;
  // What a failed sync has dropped cannot be known, and so not be written again.
  const absl::Status synced = file_->Sync();
  if (synced.ok() || std::exchange(warned_, true)) return;
  warn_(StrCat(std::string(synced.message()), ". Training goes on"));
}

void LineFile::Close() {
  if (std::exchange(closed_, true)) return;
  if (file_ != nullptr || !kept_.empty()) Sync();
  if (file_ != nullptr) file_->Close().IgnoreError();  // all of it was synced
  lost_ += std::count(kept_.begin(), kept_.end(), '\n');
  kept_.clear();
  if (lost_ > 0) warn_(StrCat(Lines(lost_), " of ", path_, " could not be written: lost"));
}

}  // namespace horizon

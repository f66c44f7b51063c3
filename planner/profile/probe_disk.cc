#include "planner/profile/probe_disk.h"

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/time/time.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "planner/profile/measure.h"

namespace horizon {
namespace {

constexpr uint64_t kPieceBytes = uint64_t{4} << 20;
constexpr uint64_t kLeastBytes = uint64_t{256} << 10;
constexpr uint64_t kMostBytes = uint64_t{64} << 20;
constexpr uint64_t kGrowth = 4;

class DiskProber {
 public:
  DiskProber(Io& io, Clock& clock, const std::string& folder, Seconds time)
      : io_(io),
        clock_(clock),
        folder_(folder),
        path_(JoinPath(folder, ".disk-probe")),
        share_(time.value / 2),
        memory_(kPieceBytes + kDirectAlignment) {
    // Not zeros, which some file systems do not store.
    uint64_t state = 1;
    for (std::byte& byte : memory_) {
      state = state * 6364136223846793005u + 1442695040888963407u;
      byte = static_cast<std::byte>(state >> 56);
    }
  }
  // Whatever happened, nothing stays.
  ~DiskProber() { io_.Unlink(path_).IgnoreError(); }

  absl::StatusOr<DiskProfile> Probe() {
    ASSIGN_OR_RETURN(const Bytes free, io_.FreeSpace(folder_));
    // Some file systems do not tell; a full one will say so when it is written.
    if (free > 0_B) most_ = std::clamp(free.value() / kGrowth, kLeastBytes, kMostBytes);
    DiskProfile disk{.path = folder_};
    ASSIGN_OR_RETURN(disk.write_bytes_per_second, Written());
    ASSIGN_OR_RETURN(disk.read_bytes_per_second, Read());
    if (free > 0_B) {
      disk.free_bytes = Figure{.value = static_cast<double>(free.value()),
                               .origin = OriginOf("free for this user", SpreadOf({1.0}))};
    }
    return disk;
  }

 private:
  absl::StatusOr<double> Timed(absl::FunctionRef<absl::Status()> work) {
    const Nanoseconds begin = clock_.Now();
    RETURN_IF_ERROR(work());
    // A clock may not tell two moments apart; no work takes no time.
    return std::max(1e-9, std::chrono::duration<double>(clock_.Now() - begin).count());
  }

  absl::Status WriteOnce() {
    // Of the run before, or of a process that was killed here.
    absl::Status removed = io_.Unlink(path_);
    if (!removed.ok() && !absl::IsNotFound(removed)) return removed;
    ASSIGN_OR_RETURN(const std::unique_ptr<File> file, io_.Open(path_, OpenMode::kCreateNew));
    for (uint64_t done = 0; done < bytes_; done += kPieceBytes) {
      RETURN_IF_ERROR(file->WriteAt(done, Piece(done)));
    }
    RETURN_IF_ERROR(file->Sync());
    return file->Close();
  }

  absl::Status ReadOnce(File& file) {
    for (uint64_t done = 0; done < bytes_; done += kPieceBytes) {
      ASSIGN_OR_RETURN(const size_t count, file.ReadAt(done, Piece(done)));
      if (count < Piece(done).size()) {
        return absl::DataLossError(StrCat("'", path_, "' became shorter while it was read"));
      }
    }
    return absl::OkStatus();
  }

  // The piece at `done` of the file, in memory that suits direct reading.
  std::span<std::byte> Piece(uint64_t done) {
    void* begin = memory_.data();
    size_t space = memory_.size();
    std::align(kDirectAlignment, kPieceBytes, begin, space);
    return {static_cast<std::byte*>(begin), std::min(kPieceBytes, bytes_ - done)};
  }

  absl::StatusOr<Figure> Written() {
    const Nanoseconds begin = clock_.Now();
    const auto write = [&] { return WriteOnce(); };
    bytes_ = kLeastBytes;
    ASSIGN_OR_RETURN(double took, Timed(write));
    // Larger files as long as several of them can be written.
    while (bytes_ * kGrowth <= most_ && took * kGrowth < share_ / kGrowth) {
      bytes_ *= kGrowth;
      ASSIGN_OR_RETURN(took, Timed(write));
    }
    ASSIGN_OR_RETURN(std::vector<double> seconds,
                     Repeat(begin, took, [&] { return Timed(write); }));
    return FigureOf(StrCat(Size(), " written and synced"), std::move(seconds));
  }

  absl::StatusOr<Figure> Read() {
    absl::StatusOr<std::unique_ptr<File>> file = io_.Open(path_, OpenMode::kReadDirect);
    const bool direct = file.ok();
    if (!direct) {
      if (IoErrno(file.status()) != EINVAL) return file.status();
      file = io_.Open(path_, OpenMode::kRead);
      RETURN_IF_ERROR(file.status());
    }
    const Nanoseconds begin = clock_.Now();
    // Dropping is no part of what is measured.
    const auto read = [&]() -> absl::StatusOr<double> {
      RETURN_IF_ERROR((*file)->DropCache());
      return Timed([&] { return ReadOnce(**file); });
    };
    ASSIGN_OR_RETURN(const double first, read());
    ASSIGN_OR_RETURN(std::vector<double> seconds, Repeat(begin, first, read));
    RETURN_IF_ERROR((*file)->Close());
    return FigureOf(StrCat(Size(), direct ? " read past the system's cache"
                                          : " read after the system's cache was dropped"),
                    std::move(seconds));
  }

  // Runs that took `first` seconds the first time again while there is time for them.
  absl::StatusOr<std::vector<double>> Repeat(Nanoseconds begin, double first,
                                             absl::FunctionRef<absl::StatusOr<double>()> work) {
    std::vector<double> seconds = {first};
    while (static_cast<int64_t>(seconds.size()) < kMostDiskRepeats) {
      const double used = std::chrono::duration<double>(clock_.Now() - begin).count();
      if (used + seconds.back() > share_) break;
      ASSIGN_OR_RETURN(seconds.emplace_back(), work());
    }
    return seconds;
  }

  std::string Size() const { return BytesText(bytes_); }

  Figure FigureOf(std::string source, std::vector<double> seconds) const {
    const Spread spread = SpreadOf(std::move(seconds));
    return {.value = static_cast<double>(bytes_) / spread.median,
            .origin = OriginOf(std::move(source), spread)};
  }

  Origin OriginOf(std::string source, const Spread& spread) const {
    return {
        .kind = OriginKind::kMeasured,
        .source = std::move(source),
        .when = absl::FormatTime("%Y-%m-%d %H:%M UTC", absl::FromUnixSeconds(clock_.UnixSeconds()),
                                 absl::UTCTimeZone()),
        .repeats = spread.repeats,
        .spread = spread.apart};
  }

  Io& io_;
  Clock& clock_;
  const std::string folder_;
  const std::string path_;
  const double share_;  // seconds of writing, and of reading
  std::vector<std::byte> memory_;
  uint64_t most_ = kMostBytes;
  uint64_t bytes_ = 0;  // of the file
};

}  // namespace

absl::StatusOr<DiskProfile> ProbeDisk(Io& io, Clock& clock, const std::string& folder,
                                      Seconds time) {
  return DiskProber(io, clock, folder, time).Probe();
}

const DiskProfile* FindDisk(const HardwareProfile& profile, const std::string& folder) {
  const DiskProfile* found = nullptr;
  for (const DiskProfile& disk : profile.disks) {
    std::string_view path = disk.path;
    if (!path.starts_with('/') ||
        disk.write_bytes_per_second.origin.kind != OriginKind::kMeasured) {
      continue;
    }
    while (path.ends_with('/')) path.remove_suffix(1);
    const bool below =
        folder.starts_with(path) && (folder.size() == path.size() || folder[path.size()] == '/');
    if (below && (found == nullptr || path.size() > found->path.size())) found = &disk;
  }
  return found;
}

}  // namespace horizon

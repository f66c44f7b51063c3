#include "planner/probe_disk.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "absl/time/time.h"
#include "common/status_macros.h"

namespace horizon {
namespace {

constexpr uint64_t kPieceBytes = uint64_t{4} << 20;
constexpr uint64_t kProbeBytes = uint64_t{64} << 20;

absl::Status WriteProbe(Io& io, const std::string& path) {
  // Not zeros, which some file systems do not store.
  std::vector<std::byte> piece(kPieceBytes);
  uint64_t state = 1;
  for (std::byte& byte : piece) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    byte = static_cast<std::byte>(state >> 56);
  }
  ASSIGN_OR_RETURN(const std::unique_ptr<File> file, io.Open(path, OpenMode::kCreateNew));
  for (uint64_t done = 0; done < kProbeBytes; done += kPieceBytes) {
    RETURN_IF_ERROR(file->WriteAt(done, piece));
  }
  RETURN_IF_ERROR(file->Sync());
  return file->Close();
}

}  // namespace

absl::StatusOr<DiskProfile> ProbeDisk(Io& io, Clock& clock, const std::string& folder) {
  const std::string path = JoinPath(folder, ".disk-probe");
  io.Unlink(path).IgnoreError();  // of a run that was killed here
  const Nanoseconds begin = clock.Now();
  const absl::Status written = WriteProbe(io, path);
  const double seconds = std::chrono::duration<double>(clock.Now() - begin).count();
  io.Unlink(path).IgnoreError();
  RETURN_IF_ERROR(written);
  const Figure written_rate{
      .value = static_cast<double>(kProbeBytes) / std::max(seconds, 1e-6),
      .origin = {
          .kind = OriginKind::kMeasured,
          .source = "64 MiB written and synced",
          .when = absl::FormatTime("%Y-%m-%d %H:%M UTC", absl::FromUnixSeconds(clock.UnixSeconds()),
                                   absl::UTCTimeZone()),
          .repeats = 1}};
  const Figure read_rate{.value = written_rate.value, .origin = {.source = "as it is written"}};
  return DiskProfile{
      .path = folder, .read_bytes_per_second = read_rate, .write_bytes_per_second = written_rate};
}

}  // namespace horizon

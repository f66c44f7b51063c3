#pragma once

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "common/units.h"

namespace horizon {

// Memory of this process as the kernel counts it (man 5 proc, /proc/PID/status).
struct ProcessMemory {
  Bytes anonymous;      // RssAnon: heap, stacks, arenas
  Bytes shared;         // RssShmem
  Bytes file;           // RssFile: mapped program and libraries; the kernel can drop these
  Bytes peak_resident;  // VmHWM: largest sum of the three since the start or the last reset

  // What a plan has to account for.
  Bytes held() const { return anonymous + shared; }
  Bytes resident() const { return anonymous + shared + file; }
};

// Reads `path`. InvalidArgument naming a line that is missing or not a count of kB.
absl::StatusOr<ProcessMemory> ReadProcessMemory(Io& io,
                                                const std::string& path = "/proc/self/status");

// Sets the peak to what is resident now (a 5 written to clear_refs). PermissionDenied or NotFound
// where the kernel does not allow it: the peak then stays the one since the start.
absl::Status ResetPeakMemory(Io& io, const std::string& path = "/proc/self/clear_refs");

}  // namespace horizon

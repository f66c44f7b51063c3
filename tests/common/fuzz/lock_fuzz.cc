// Whatever stands in a lock file, a lock that is held is refused with the holder's number or
// without one, and never with anything else the file says; and a lock that is free is taken.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "common/check.h"
#include "common/files/io.h"
#include "tests/common/fuzz/fuzz_driver.h"

namespace horizon {
namespace {

// Where this process may write: the test's folder, or the one it was started in.
std::string LockPath() {
  const char* folder = std::getenv("TEST_TMPDIR");
  return JoinPath(folder == nullptr ? "." : folder, "fuzz.lock");
}

void WriteLockFile(Io& io, const std::string& path, std::string_view text) {
  const absl::StatusOr<std::unique_ptr<File>> file = io.Open(path, OpenMode::kTruncate);
  CHECK(file.ok() && (*file)->WriteAt(0, std::as_bytes(std::span(text))).ok());
  CHECK((*file)->Close().ok());
}

std::string ExpectedHolder(std::string_view text) {
  const std::string_view digits =
      text.substr(0, std::min<size_t>(text.find_first_not_of("0123456789"), 24));
  return digits.empty() ? "another process" : "process " + std::string(digits);
}

void TryLockFile(std::string_view text) {
  static const std::unique_ptr<Io> io = MakePosixIo();
  static const std::string path = LockPath();
  {
    WriteLockFile(*io, path, text);
    const absl::StatusOr<std::unique_ptr<FileLock>> held = io->Lock(path);
    CHECK(held.ok());
    WriteLockFile(*io, path, text);
    const absl::Status refused = io->Lock(path).status();
    CHECK(absl::IsFailedPrecondition(refused));
    CHECK(refused.message() == "cannot lock '" + path + "': " + ExpectedHolder(text) +
                                   " holds it; wait until it ends or stop it");
    const absl::StatusOr<std::string> left = ReadTextFile(*io, path);
    CHECK(left.ok() && *left == text);
  }
  CHECK(io->Unlink(path).ok());
}

}  // namespace
}  // namespace horizon

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  horizon::TryLockFile({reinterpret_cast<const char*>(data), size});
  return 0;
}

#pragma once

#include <cerrno>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "common/clock.h"
#include "common/files/io.h"

namespace horizon {

// What goes wrong, and when. Calls are counted from 1 over the Io and all files opened through it;
// a call that is not suited to the kind (a short rename) fails plainly, so that a loop over the
// calls leaves none out.
struct FaultPlan {
  enum class Kind {
    kFail,    // nothing is done (Close: the file is closed), the error is returned
    kShort,   // ReadAt, WriteAt: half of the bytes really move, then the error is returned
    kShrink,  // ReadAt: half of the asked range is past the end from now on, for Info of this File
              // too. Other calls are not touched
    kDelay,   // the clock sleeps for `delay`, then the call is made
  };
  enum class Extent { kOnce, kFromThereOn };

  Kind kind = Kind::kFail;
  Extent extent = Extent::kOnce;
  uint64_t at_call = 0;  // 0: never
  int error_number = EIO;
  Nanoseconds delay{0};
};

// Wraps another Io and makes the planned call go wrong. For tests of everything that reads or
// writes files. It, `inner` and `clock` outlive the files opened through it; any threads.
// Destroying a file that was not closed is no call.
class FaultingIo final : public Io {
 public:
  // `clock` is needed for kDelay only.
  FaultingIo(Io& inner, const FaultPlan& plan, Clock* clock = nullptr);
  ~FaultingIo() override;

  // How many calls have been made, and whether the planned one was among them.
  uint64_t calls() const;
  bool reached() const;
  // The calls in order, as "WriteAt PATH", for messages and for tests of what is done in which
  // order.
  std::vector<std::string> history() const;

  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) override;
  absl::Status Rename(const std::string& from, const std::string& to) override;
  absl::Status RenameNoReplace(const std::string& from, const std::string& to) override;
  absl::Status Unlink(const std::string& path) override;
  absl::Status MakeDirectory(const std::string& path) override;
  absl::Status RemoveDirectory(const std::string& path) override;
  absl::StatusOr<std::vector<std::string>> List(const std::string& path) override;
  absl::StatusOr<FileInfo> Info(const std::string& path) override;
  absl::StatusOr<Bytes> FreeSpace(const std::string& path) override;
  absl::Status SyncDirectory(const std::string& path) override;
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) override;
  absl::StatusOr<bool> IsLocked(const std::string& path) override;

 private:
  class Counter;
  class FaultingFile;
  Io& inner_;
  std::unique_ptr<Counter> counter_;
};

// The loop of every fault test: runs `run` with the fault at call 1, 2, 3, ... until a run ends
// without reaching it, first with Extent::kOnce, then with kFromThereOn. `run` gets a fresh
// FaultingIo each time and asserts what must hold. Returns how many runs were hit. More than
// `most_calls` calls in a run is a CHECK: the code under test does not end.
uint64_t ForEachFault(Io& inner, const FaultPlan& plan, const std::function<void(FaultingIo&)>& run,
                      Clock* clock = nullptr, uint64_t most_calls = 100'000);

}  // namespace horizon

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

// Which call of a FaultingIo fails, and how. Calls are counted from 1, over the Io and all files
// opened through it. If kShort hits a call that cannot be short (such as Rename), that call fails
// as with kFail, so that a loop over all calls leaves none out.
struct FaultPlan {
  enum class Kind {
    kFail,    // the call does nothing and returns the error (Close does close the file)
    kShort,   // ReadAt and WriteAt transfer half of the bytes, then return the error
    kShrink,  // the file now ends at half of the range that ReadAt asked for, as a file that
              // another process truncates; File::Info reports it too. Other calls are unaffected
    kDelay,   // the clock sleeps for `delay`, then the call is made
  };
  enum class Extent { kOnce, kFromThereOn };  // only call `at_call`, or also every later call

  Kind kind = Kind::kFail;
  Extent extent = Extent::kOnce;
  uint64_t at_call = 0;  // 0: never
  int error_number = EIO;
  Nanoseconds delay{0};
};

// Wraps another Io and makes the planned call fail, for tests of everything that reads or writes
// files. It, `inner` and `clock` must outlive the files opened through it. Any thread may use it.
// Destroying a file that was not closed does not count as a call.
class FaultingIo final : public Io {
 public:
  // Only kDelay needs `clock`.
  FaultingIo(Io& inner, const FaultPlan& plan, Clock* clock = nullptr);
  ~FaultingIo() override;

  // How many calls have been made, and whether the planned one was among them.
  uint64_t calls() const;
  bool reached() const;
  // The calls in order, each as "WriteAt PATH", for messages and for tests of the order of calls.
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

// The loop of every fault test: calls `run` with the fault at call 1, 2, 3, ... until a run ends
// before it reaches the fault; first with Extent::kOnce, then with kFromThereOn. `run` gets a new
// FaultingIo each time and asserts what must hold after the fault:
//   ForEachFault(*io, {.kind = FaultPlan::Kind::kFail}, [](FaultingIo& io) { ... });
// Returns how many runs reached the fault. A run of more than `most_calls` calls is a CHECK, since
// the code under test apparently does not end.
uint64_t ForEachFault(Io& inner, const FaultPlan& plan, const std::function<void(FaultingIo&)>& run,
                      Clock* clock = nullptr, uint64_t most_calls = 100'000);

}  // namespace horizon

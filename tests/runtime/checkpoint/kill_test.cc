// K1: a process killed with SIGKILL at every call of a save and prune, on real files.
#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <memory>
#include <string>
#include <utility>

#include "common/files/io.h"
#include "runtime/checkpoint/checkpoint_layout.h"
#include "runtime/checkpoint/checkpoint_reader.h"
#include "runtime/checkpoint/run_lock.h"
#include "tests/model/test_files.h"
#include "tests/runtime/checkpoint/durability.h"
#include "tests/runtime/checkpoint/saved_run.h"

namespace horizon {
namespace {

enum class Moment {
  kBefore,     // the call is not made
  kHalfWrite,  // a write moves half of its bytes
};

// Kills its own process at a call. Passes all others on; syncs nothing, since a killed process
// leaves the system's cache as it is.
class KillingIo final : public Io {
 public:
  KillingIo(Io& inner, int at_call, Moment moment)
      : inner_(inner), calls_left_(at_call), moment_(moment) {}

  absl::StatusOr<std::unique_ptr<File>> Open(const std::string& path, OpenMode mode) override {
    Count();
    absl::StatusOr<std::unique_ptr<File>> file = inner_.Open(path, mode);
    if (!file.ok()) return file.status();
    return std::make_unique<KillingFile>(*this, *std::move(file));
  }
  absl::Status Rename(const std::string& from, const std::string& to) override {
    Count();
    return inner_.Rename(from, to);
  }
  absl::Status RenameNoReplace(const std::string& from, const std::string& to) override {
    Count();
    return inner_.RenameNoReplace(from, to);
  }
  absl::Status Unlink(const std::string& path) override {
    Count();
    return inner_.Unlink(path);
  }
  absl::Status MakeDirectory(const std::string& path) override {
    Count();
    return inner_.MakeDirectory(path);
  }
  absl::Status RemoveDirectory(const std::string& path) override {
    Count();
    return inner_.RemoveDirectory(path);
  }
  absl::StatusOr<std::vector<std::string>> List(const std::string& path) override {
    Count();
    return inner_.List(path);
  }
  absl::StatusOr<FileInfo> Info(const std::string& path) override {
    Count();
    return inner_.Info(path);
  }
  absl::StatusOr<Bytes> FreeSpace(const std::string& path) override {
    Count();
    return inner_.FreeSpace(path);
  }
  absl::Status SyncDirectory(const std::string&) override {
    Count();
    return absl::OkStatus();
  }
  absl::StatusOr<std::unique_ptr<FileLock>> Lock(const std::string& path) override {
    Count();
    return inner_.Lock(path);
  }

 private:
  class KillingFile final : public File {
   public:
    KillingFile(KillingIo& io, std::unique_ptr<File> inner) : io_(io), inner_(std::move(inner)) {}
    absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<std::byte> into) override {
      io_.Count();
      return inner_->ReadAt(offset, into);
    }
    absl::Status WriteAt(uint64_t offset, std::span<const std::byte> from) override {
      if (io_.calls_left_ == 1 && io_.moment_ == Moment::kHalfWrite) {
        inner_->WriteAt(offset, from.first(from.size() / 2)).IgnoreError();
      }
      io_.Count();
      return inner_->WriteAt(offset, from);
    }
    absl::Status Sync() override {
      io_.Count();
      return absl::OkStatus();
    }
    absl::Status DropCache() override {
      io_.Count();
      return inner_->DropCache();
    }
    absl::StatusOr<FileInfo> Info() override {
      io_.Count();
      return inner_->Info();
    }
    absl::Status Close() override {
      io_.Count();
      return inner_->Close();
    }

   private:
    KillingIo& io_;
    const std::unique_ptr<File> inner_;
  };

  void Count() {
    if (--calls_left_ == 0) ::raise(SIGKILL);
  }

  Io& inner_;
  int calls_left_;
  const Moment moment_;
};

// Saves and prunes in a child that is killed at a call; whether it was.
bool KillChildAt(Io& io, const std::string& run, const CheckpointLayout& layout, int64_t step,
                 int at_call, Moment moment) {
  const pid_t child = ::fork();
  EXPECT_NE(child, -1);
  if (child == 0) {
    KillingIo killing(io, at_call, moment);
    ::_exit(SaveAndPrune(killing, run, layout, step).ok() ? 0 : 1);
  }
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  const bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL;
  EXPECT_TRUE(was_killed || status == 0) << status;
  return was_killed;
}

class Kill : public testing::Test {
 protected:
  void SetUp() override { ASSERT_TRUE(MakeRun(io_, run_, layout_, {1, 2}).ok()); }

  // Kills a child at each call of saving and pruning, until one gets through.
  // After every `clean_up_every` of them a save gets through and cleans up; before that, what one
  // leaves the next one finds, as on a machine that keeps dying.
  void KillAtEveryCall(Moment moment, int clean_up_every) {
    int64_t newest = 2;
    int kills = 0;
    for (int at_call = 1;; ++at_call) {
      ASSERT_LT(at_call, 10'000);
      const bool was_killed = KillChildAt(*posix_, run_, layout_, newest + 1, at_call, moment);
      ASSERT_EQ(ProblemOfRun(io_, run_, layout_, newest), "") << "killed at call " << at_call;
      if (!was_killed) break;
      ++kills;
      newest = FindCheckpoints(io_, run_)->front().step;
      if (at_call % clean_up_every != 0) continue;
      newest += 1;
      ASSERT_EQ(ProblemOfGoingOn(io_, run_, layout_, newest - 1, newest), "") << at_call;
    }
    ASSERT_EQ(ProblemOfGoingOn(io_, run_, layout_, newest, newest + 2), "");
    EXPECT_GT(kills, 100);
  }

  std::unique_ptr<Io> posix_ = MakePosixIo();
  KillingIo io_{*posix_, 0, Moment::kBefore};  // never kills
  std::string run_ = JoinPath(MakeTestFolder(*posix_), "run");
  CheckpointLayout layout_ =
      *LayOutCheckpoint({{"a", {61, 47}}, {"b", {1}}}, StateFormat::kBf16Weights, SaveMode::kFull);
};

TEST_F(Kill, AtEveryCallOfASaveLeavesTheOldOrTheNewCheckpoint) {
  KillAtEveryCall(Moment::kBefore, 1);
}

TEST_F(Kill, AfterKillAndInTheMiddleOfAWriteToo) { KillAtEveryCall(Moment::kHalfWrite, 3); }

// The lock dies with its holder.
TEST_F(Kill, TheLockOfAKilledProcessIsFree) {
  const pid_t child = ::fork();
  if (child == 0) {
    const absl::StatusOr<RunLock> lock = RunLock::Acquire(*posix_, run_);
    ::raise(lock.ok() ? SIGKILL : SIGTERM);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFSIGNALED(status));
  ASSERT_EQ(WTERMSIG(status), SIGKILL);
  EXPECT_TRUE(RunLock::Acquire(*posix_, run_).ok());
}

}  // namespace
}  // namespace horizon

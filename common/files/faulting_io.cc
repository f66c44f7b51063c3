#include "common/files/faulting_io.h"

#include <algorithm>
#include <atomic>
#include <limits>
#include <utility>

#include "common/check.h"
#include "common/checked.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"

namespace horizon {

// Counts, and says what is to happen to the call that is being made.
class FaultingIo::Counter {
 public:
  enum class Action { kNone, kFail, kShort, kShrink };

  Counter(const FaultPlan& plan, Clock* clock) : plan_(plan), clock_(clock) {
    CHECK(plan.kind != FaultPlan::Kind::kDelay || clock != nullptr);
  }

  // Any call but ReadAt and WriteAt: an error, or OK and the call goes on.
  absl::Status Next(std::string_view name, std::string_view path) {
    switch (NextAction(name, path)) {
      case Action::kFail:
      case Action::kShort:
        return Error(name, path);
      default:
        return absl::OkStatus();
    }
  }

  Action NextAction(std::string_view name, std::string_view path) {
    if (!Count(name, path)) return Action::kNone;
    switch (plan_.kind) {
      case FaultPlan::Kind::kFail:
        return Action::kFail;
      case FaultPlan::Kind::kShort:
        return Action::kShort;
      case FaultPlan::Kind::kShrink:
        return Action::kShrink;
      case FaultPlan::Kind::kDelay:
        clock_->SleepFor(plan_.delay);
        return Action::kNone;
    }
    return Action::kNone;
  }

  absl::Status Error(std::string_view name, std::string_view path) const {
    return IoError(plan_.error_number, StrCat(name, " '", path, "' (a planned fault)"));
  }

  std::vector<std::string> history() const {
    const std::scoped_lock lock(mutex_);
    return history_;
  }

  bool reached() const { return plan_.at_call != 0 && history().size() >= plan_.at_call; }

 private:
  // Whether the fault strikes the call now counted.
  bool Count(std::string_view name, std::string_view path) {
    const std::scoped_lock lock(mutex_);
    history_.push_back(StrCat(name, " ", path));
    if (plan_.at_call == 0) return false;
    return plan_.extent == FaultPlan::Extent::kOnce ? history_.size() == plan_.at_call
                                                    : history_.size() >= plan_.at_call;
  }

  const FaultPlan plan_;
  Clock* const clock_;
  mutable std::mutex mutex_;
  std::vector<std::string> history_;  // guarded by mutex_
};

class FaultingIo::FaultingFile final : public File {
 public:
  FaultingFile(Counter& counter, std::string path, std::unique_ptr<File> inner)
      : counter_(counter), path_(std::move(path)), inner_(std::move(inner)) {}

  absl::StatusOr<size_t> ReadAt(uint64_t offset, std::span<std::byte> into) override {
    switch (counter_.NextAction("ReadAt", path_)) {
      case Counter::Action::kFail:
        return counter_.Error("ReadAt", path_);
      case Counter::Action::kShort:
        RETURN_IF_ERROR(inner_->ReadAt(offset, into.first(into.size() / 2)).status());
        return counter_.Error("ReadAt", path_);
      case Counter::Action::kShrink:
        end_ = std::min(end_.load(), offset + into.size() / 2);
        break;
      case Counter::Action::kNone:
        break;
    }
    const uint64_t end = end_;
    if (offset >= end) return 0;
    return inner_->ReadAt(offset, into.first(std::min<uint64_t>(into.size(), end - offset)));
  }

  absl::Status WriteAt(uint64_t offset, std::span<const std::byte> from) override {
    switch (counter_.NextAction("WriteAt", path_)) {
      case Counter::Action::kFail:
        return counter_.Error("WriteAt", path_);
      case Counter::Action::kShort:
        RETURN_IF_ERROR(inner_->WriteAt(offset, from.first(from.size() / 2)));
        return counter_.Error("WriteAt", path_);
      default:
        return inner_->WriteAt(offset, from);
    }
  }

  absl::Status Sync() override {
    RETURN_IF_ERROR(counter_.Next("Sync", path_));
    return inner_->Sync();
  }

  absl::Status DropCache() override {
    RETURN_IF_ERROR(counter_.Next("DropCache", path_));
    return inner_->DropCache();
  }

  absl::StatusOr<FileInfo> Info() override {
    RETURN_IF_ERROR(counter_.Next("File::Info", path_));
    ASSIGN_OR_RETURN(FileInfo info, inner_->Info());
    info.size = std::min(info.size, Bytes(CheckedU64(end_.load())));
    return info;
  }

  absl::Status Close() override {
    // As the system does it: the descriptor is gone even when close reports an error.
    const absl::Status fault = counter_.Next("Close", path_);
    absl::Status closed = inner_->Close();
    return fault.ok() ? closed : fault;
  }

 private:
  Counter& counter_;
  const std::string path_;
  const std::unique_ptr<File> inner_;
  // Where the file ends for its reader after kShrink; several threads may read.
  std::atomic<uint64_t> end_ = std::numeric_limits<uint64_t>::max();
};

FaultingIo::FaultingIo(Io& inner, const FaultPlan& plan, Clock* clock)
    : inner_(inner), counter_(std::make_unique<Counter>(plan, clock)) {}

FaultingIo::~FaultingIo() = default;

uint64_t FaultingIo::calls() const { return counter_->history().size(); }
bool FaultingIo::reached() const { return counter_->reached(); }
std::vector<std::string> FaultingIo::history() const { return counter_->history(); }

absl::StatusOr<std::unique_ptr<File>> FaultingIo::Open(const std::string& path, OpenMode mode) {
  RETURN_IF_ERROR(counter_->Next("Open", path));
  ASSIGN_OR_RETURN(std::unique_ptr<File> file, inner_.Open(path, mode));
  return std::make_unique<FaultingFile>(*counter_, path, std::move(file));
}

absl::Status FaultingIo::Rename(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(counter_->Next("Rename", to));
  return inner_.Rename(from, to);
}

absl::Status FaultingIo::RenameNoReplace(const std::string& from, const std::string& to) {
  RETURN_IF_ERROR(counter_->Next("RenameNoReplace", to));
  return inner_.RenameNoReplace(from, to);
}

absl::Status FaultingIo::Unlink(const std::string& path) {
  RETURN_IF_ERROR(counter_->Next("Unlink", path));
  return inner_.Unlink(path);
}

absl::Status FaultingIo::MakeDirectory(const std::string& path) {
  RETURN_IF_ERROR(counter_->Next("MakeDirectory", path));
  return inner_.MakeDirectory(path);
}

absl::Status FaultingIo::RemoveDirectory(const std::string& path) {
  RETURN_IF_ERROR(counter_->Next("RemoveDirectory", path));
  return inner_.RemoveDirectory(path);
}

absl::StatusOr<std::vector<std::string>> FaultingIo::List(const std::string& path) {
  RETURN_IF_ERROR(counter_->Next("List", path));
  return inner_.List(path);
}

absl::StatusOr<FileInfo> FaultingIo::Info(const std::string& path) {
  RETURN_IF_ERROR(counter_->Next("Info", path));
  return inner_.Info(path);
}

absl::StatusOr<Bytes> FaultingIo::FreeSpace(const std::string& path) {
  RETURN_IF_ERROR(counter_->Next("FreeSpace", path));
  return inner_.FreeSpace(path);
}

absl::Status FaultingIo::SyncDirectory(const std::string& path) {
  RETURN_IF_ERROR(counter_->Next("SyncDirectory", path));
  return inner_.SyncDirectory(path);
}

absl::StatusOr<std::unique_ptr<FileLock>> FaultingIo::Lock(const std::string& path) {
  RETURN_IF_ERROR(counter_->Next("Lock", path));
  return inner_.Lock(path);
}

absl::StatusOr<bool> FaultingIo::IsLocked(const std::string& path) {
  RETURN_IF_ERROR(counter_->Next("IsLocked", path));
  return inner_.IsLocked(path);
}

uint64_t ForEachFault(Io& inner, const FaultPlan& plan, const std::function<void(FaultingIo&)>& run,
                      Clock* clock, uint64_t most_calls) {
  uint64_t hits = 0;
  for (const auto extent : {FaultPlan::Extent::kOnce, FaultPlan::Extent::kFromThereOn}) {
    FaultPlan now = plan;
    now.extent = extent;
    for (now.at_call = 1;; ++now.at_call, ++hits) {
      CHECK(now.at_call <= most_calls);
      FaultingIo io(inner, now, clock);
      run(io);
      if (!io.reached()) break;
    }
  }
  return hits;
}

}  // namespace horizon

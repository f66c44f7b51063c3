#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "common/units.h"
#include "runtime/checkpoint/checkpoint_layout.h"
#include "runtime/checkpoint/manifest.h"
#include "runtime/checkpoint/run_lock.h"
#include "runtime/checkpoint/written_ranges.h"

namespace horizon {

// A text file that is saved with the weights (config.json, tokenizer.json), so that other programs
// can open them.
struct ExtraFile {
  std::string name;
  std::string text;
};

// Writes one checkpoint. A kill, a power cut or a full disk at any moment leaves either what was
// there before or the complete new checkpoint, never a part that looks complete:
//   Create   checks the disk space and makes a new folder step-N.tmp-K under the run's lock
//   Write    writes bytes into files of that folder; CRCs are computed from the bytes in memory; a
//            file is synced and closed with its last byte
//   Commit   writes the text files and the manifest, syncs the folder, renames it to step-N, syncs
//            the parent, and opens the result as a reader would
// After an error the temporary folder is removed, every later call returns the same error, and
// another attempt needs a new writer: a file whose sync failed is never synced again. Used by one
// thread at a time. `io`, `lock` and `layout` outlive it. It needs little memory: pieces go
// directly from the caller's memory to the file, and at most 32 MiB of each file stay in the
// system's page cache.
class CheckpointWriter {
 public:
  struct Options {
    int64_t step = 0;
    std::vector<ExtraFile> extra_files;
  };

  // Removes what an earlier process left unfinished, then checks the space: ResourceExhausted as in
  // CheckFreeSpace. AlreadyExists when there is a checkpoint of step N. Makes RUN/checkpoints where
  // it is missing.
  static absl::StatusOr<std::unique_ptr<CheckpointWriter>> Create(Io& io, const RunLock& lock,
                                                                  const CheckpointLayout& layout,
                                                                  Options options);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Writes bytes of an entry (an index into layout.entries), beginning at byte `offset` of the
  // tensor. Bytes may come in any order within and across tensors, each byte once. `step` is the
  // step whose state the bytes are. FailedPrecondition when it is not the checkpoint's step, or
  // when bytes come twice; InvalidArgument when they are outside the tensor.
  absl::Status Write(size_t entry, uint64_t offset, std::span<const std::byte> bytes, int64_t step);

  // Completes and publishes the checkpoint. FailedPrecondition, naming the tensor, unless every
  // byte was written. The job's state format must be the layout's. Called once; no call may follow.
  absl::Status Commit(const CheckpointFacts& facts);

  // Removes the temporary folder. What cannot be removed stays under its temporary name, which
  // resume ignores. The destructor of a writer that did not commit does the same.
  void Abandon();

  // Where the committed checkpoint is (or will be).
  const std::string& path() const { return path_; }
  Bytes bytes_written() const { return bytes_written_; }

 private:
  struct OpenFile {
    std::unique_ptr<File> file;  // null before the first byte and after the last
    uint64_t missing = 0;        // bytes of tensors still to come
    uint64_t cached = 0;         // bytes since the cache was dropped
    bool is_done = false;
  };

  CheckpointWriter(Io& io, const RunLock& lock, const CheckpointLayout& layout, Options options);
  absl::Status Begin();
  absl::Status WriteUnchecked(size_t entry, uint64_t offset, std::span<const std::byte> bytes,
                              int64_t step);
  absl::Status CommitUnchecked(const CheckpointFacts& facts);
  absl::Status StartFile(size_t file);
  absl::Status FinishFile(size_t file);
  absl::Status WriteTextTo(const std::string& name, const std::string& text);
  absl::Status CheckComplete() const;
  absl::Status Publish();
  absl::Status Withdraw(const absl::Status& reason);
  Manifest MakeManifest(const CheckpointFacts& facts) const;
  // Keeps the first error, with what was being done, and removes the temporary folder.
  absl::Status KeepFirstError(const absl::Status& status);

  Io& io_;
  const RunLock& lock_;
  const CheckpointLayout& layout_;
  const Options options_;
  std::string path_;
  std::string temporary_;               // empty: there is none
  std::vector<OpenFile> files_;         // in the layout's order
  std::vector<WrittenRanges> written_;  // of each entry
  Bytes bytes_written_;
  bool is_committed_ = false;
  absl::Status status_;
};

}  // namespace horizon

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

// A text file that goes with the weights (config.json, tokenizer.json), so that others can open
// them.
struct ExtraFile {
  std::string name;
  std::string text;
};

// Writes one checkpoint so that a kill, a power cut or a full disk at any moment leaves what was
// there before, or all of the new one, never a part that looks whole:
//   Create   room on the disk, a fresh folder step-N.tmp-K under the run's lock
//   Write    bytes into files of that folder; CRCs are taken from memory as they leave it; a file
//            is synced and closed with its last byte
//   Commit   the text files, the manifest, a sync of the folder, the rename to step-N, a sync of
//            its parent, and a look at the result as a reader sees it
// After an error the temporary folder is dropped, every later call returns the same error, and
// another attempt begins with a new writer: a file whose sync failed is never synced again.
// One thread at a time. `io`, `lock` and `layout` outlive it. Holds little memory: pieces go from
// the caller's memory to the file, and of what was written at most 32 MiB a file stays in the
// system's cache.
class CheckpointWriter {
 public:
  struct Options {
    int64_t step = 0;
    std::vector<ExtraFile> extra_files;
  };

  // Drops what an earlier process left unfinished, then checks the space: ResourceExhausted as
  // CheckFreeSpace. AlreadyExists when step N is there. Makes RUN/checkpoints where it is missing.
  static absl::StatusOr<std::unique_ptr<CheckpointWriter>> Create(Io& io, const RunLock& lock,
                                                                  const CheckpointLayout& layout,
                                                                  Options options);
  ~CheckpointWriter();
  CheckpointWriter(const CheckpointWriter&) = delete;
  CheckpointWriter& operator=(const CheckpointWriter&) = delete;

  // Bytes of an entry (its position in layout.entries), from byte `offset` of the tensor on: any
  // order within a tensor and over tensors, each byte once. `step` is the step whose state the
  // bytes are: FailedPrecondition when it is another than the checkpoint's, or bytes come twice;
  // InvalidArgument when they lie outside the tensor.
  absl::Status Write(size_t entry, uint64_t offset, std::span<const std::byte> bytes, int64_t step);

  // Makes it a checkpoint. FailedPrecondition, naming the tensor, unless every byte was written.
  // The job's state format must be the layout's. Once; nothing may follow.
  absl::Status Commit(const CheckpointFacts& facts);

  // Drops the temporary folder. What cannot be removed stays under its temporary name, which resume
  // ignores. Also done by the destructor of a writer that did not commit.
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
  // Keeps the first error, with what was being done, and drops the folder.
  absl::Status Keep(const absl::Status& status);

  Io& io_;
  const RunLock& lock_;
  const CheckpointLayout& layout_;
  const Options options_;
  std::string path_;
  std::string temporary_;               // empty: there is none
  std::vector<OpenFile> files_;         // as in the layout
  std::vector<WrittenRanges> written_;  // by entry
  Bytes bytes_written_;
  bool is_committed_ = false;
  absl::Status status_;
};

}  // namespace horizon

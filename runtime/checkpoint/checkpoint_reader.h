#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "runtime/checkpoint/manifest.h"

namespace horizon {

// A committed checkpoint that was found whole but for its payload, which Read checks as it goes.
// Owns no open file; `io` outlives it. The const methods may be called from several threads.
class Checkpoint {
 public:
  // Opens the folder of one checkpoint. Checks, before any payload is read: no symbolic links; the
  // manifest (ParseManifest); that the folder's name is the step's, if it is a step's name at all;
  // exactly the manifest's files, in their lengths; the CRC-32C of every header and text file;
  // every safetensors header, by itself and against the manifest. DataLoss names the file and the
  // reason; NotFound when there is no such folder.
  static absl::StatusOr<Checkpoint> Open(Io& io, const std::string& folder);

  const std::string& path() const { return path_; }
  const Manifest& manifest() const { return manifest_; }

  // Takes `bytes` from byte `offset` of the tensor on.
  using Sink = std::function<absl::Status(const TensorRecord& tensor, uint64_t offset,
                                          std::span<const std::byte> bytes)>;

  // Reads every tensor, file by file in the order of the bytes, in pieces of 4 MiB (the last of a
  // tensor may be shorter). The CRC-32C of a tensor is checked after its last piece went to the
  // sink: until all of Read is OK, what the sink took may be wrong. DataLoss names file, tensor,
  // offset and both CRCs; the sink's errors stop it. Holds one piece in memory.
  absl::Status Read(const Sink& sink) const;
  // The same for one tensor: its position in manifest().tensors.
  absl::Status ReadTensor(size_t tensor, const Sink& sink) const;
  // Reads all and keeps nothing.
  absl::Status VerifyPayload() const;
  // A text file of the checkpoint, such as config.json, as it was saved; NotFound if it has none.
  absl::StatusOr<std::string> ReadText(const std::string& name) const;

 private:
  Checkpoint(Io& io, std::string path, Manifest manifest);
  absl::Status CheckFileSet() const;
  absl::Status CheckFile(size_t file) const;
  absl::Status CheckHeader(size_t file, std::string_view head) const;
  absl::Status CheckPlainFile(const std::string& name) const;
  absl::Status ReadFrom(File& file, const TensorRecord& tensor, std::span<std::byte> piece,
                        const Sink& sink) const;
  std::string PathOf(size_t file) const;

  Io* io_;
  std::string path_;
  Manifest manifest_;
  std::vector<std::vector<size_t>> by_file_;  // tensors of each file, by offset
};

// The committed checkpoints of a run, by name alone; nothing is opened.
struct FoundCheckpoint {
  int64_t step = 0;
  std::string path;
};
// Highest step first; empty when the run has none. Temporary and other names are ignored. NotFound
// when there is no such run folder; DataLoss when its `checkpoints` is no folder but a link.
absl::StatusOr<std::vector<FoundCheckpoint>> FindCheckpoints(Io& io, const std::string& run_folder);

// The checkpoint of the highest step. NotFound when there is none. When that one does not open, the
// error names it and the next lower one that does: taking that one is the user's decision. One that
// is removed meanwhile, by the run it belongs to, is no error: the folder is looked at again.
absl::StatusOr<Checkpoint> OpenNewestCheckpoint(Io& io, const std::string& run_folder);

// A DataLoss of the checkpoint of `step` with the next lower one that opens added to its message;
// other errors as they are. For damage that shows only in the payload.
absl::Status WithOlderCheckpoint(Io& io, const std::string& run_folder, int64_t step,
                                 const absl::Status& status);

}  // namespace horizon

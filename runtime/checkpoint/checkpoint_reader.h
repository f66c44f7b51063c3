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

// An open checkpoint that was committed. Open checks everything except the tensors' bytes (the
// payload), which Read checks as it reads them. It holds no open file; `io` outlives it. The const
// methods may be called from several threads.
class Checkpoint {
 public:
  // Opens the folder of one checkpoint. Before any payload is read it checks that there are no
  // symbolic links; the manifest (ParseManifest); that the folder's name, if it is the name of a
  // step, is this step's; that exactly the manifest's files are there, in their lengths; the
  // CRC-32C of every header and text file; and every safetensors header, by itself and against the
  // manifest. DataLoss names the file and the reason; NotFound when there is no such folder.
  static absl::StatusOr<Checkpoint> Open(Io& io, const std::string& folder);

  const std::string& path() const { return path_; }
  const Manifest& manifest() const { return manifest_; }

  // Receives `bytes` of a tensor, beginning at its byte `offset`.
  using Sink = std::function<absl::Status(const TensorRecord& tensor, uint64_t offset,
                                          std::span<const std::byte> bytes)>;

  // Reads every tensor, file by file in the order of the bytes, in pieces of 4 MiB (the last of a
  // tensor may be shorter), and passes the pieces to the sink. The CRC-32C of a tensor is checked
  // after its last piece: until Read has returned OK, what the sink received may be wrong. DataLoss
  // names file, tensor, offset and both CRCs; an error of the sink ends the reading. Holds one
  // piece in memory.
  absl::Status Read(const Sink& sink) const;
  // The same for one tensor: its position in manifest().tensors.
  absl::Status ReadTensor(size_t tensor, const Sink& sink) const;
  // Reads everything only to check it.
  absl::Status VerifyPayload() const;
  // Reads a text file of the checkpoint, such as config.json, as it was saved; NotFound if it has
  // none of that name.
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
  std::vector<std::vector<size_t>> by_file_;  // tensors of each file, in order of offset
};

// A committed checkpoint of a run, found by its name alone; nothing is opened.
struct FoundCheckpoint {
  int64_t step = 0;
  std::string path;
};
// Lists the checkpoints of a run, highest step first; empty when it has none. Temporary and other
// names are ignored. NotFound when there is no such run folder; DataLoss when its `checkpoints` is
// a link or not a folder.
absl::StatusOr<std::vector<FoundCheckpoint>> FindCheckpoints(Io& io, const std::string& run_folder);

// Opens the checkpoint with the highest step. NotFound when there is none. When that one does not
// open, the error names it and the next lower one that does: using that one is the user's decision.
// A checkpoint that its run removes in the meantime is no error: the folder is then listed again.
absl::StatusOr<Checkpoint> OpenNewestCheckpoint(Io& io, const std::string& run_folder);

// For a DataLoss of the checkpoint of `step`, adds the next lower checkpoint that opens to its
// message; returns other errors unchanged. It is for damage that shows only in the payload.
absl::Status WithOlderCheckpoint(Io& io, const std::string& run_folder, int64_t step,
                                 const absl::Status& status);

}  // namespace horizon

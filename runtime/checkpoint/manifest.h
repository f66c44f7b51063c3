#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/statusor.h"
#include "common/units.h"
#include "model/files/dtype.h"
#include "runtime/checkpoint/frozen_tensor.h"
#include "runtime/checkpoint/state_part.h"
#include "runtime/data/token_source.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// manifest.json describes what a checkpoint is and holds. A folder without a valid one is not a
// checkpoint. Version 2 added `frozen`; in version 1 every tensor was trained. Version 3 added the
// counter of trained tokens and, in the job, the step at which an extended run began its
// learning-rate schedule (schedule_start).

inline constexpr int64_t kManifestVersion = 3;
inline constexpr Bytes kMaxManifest = 128_MiB;

// What a run has counted so far. Losses are finite, or absent before the first one.
struct RunCounters {
  int64_t skipped_steps = 0;
  int64_t tokens = 0;  // tokens processed, including padding
  // Tokens with a label in the updates made. Empty: an older version has counted a part of the run.
  std::optional<int64_t> trained_tokens = 0;
  std::optional<double> first_loss;
  std::optional<double> best_loss;
  std::optional<double> last_loss;
  friend bool operator==(const RunCounters&, const RunCounters&) = default;
};

// Everything besides the tensors that a run needs in order to continue exactly.
struct CheckpointFacts {
  TrainingJob job;  // without sample_lengths, which decide nothing
  StreamPlan plan;
  std::string model_fingerprint;  // FingerprintOf(spec)
  // The checksums of the frozen tensors, in the model's order: the base that the trained tensors
  // belong to.
  std::vector<FrozenTensor> frozen;
  std::string data_fingerprint;  // of the data's content and of how it is read
  DataPosition data_position;    // where the next step begins to read
  int64_t generator_key = 0;     // every random number is a function of this key and of counters
  RunCounters counters;
  int64_t metrics_lines = 0;  // lines of metrics.jsonl that belong to the steps up to this one
  friend bool operator==(const CheckpointFacts&, const CheckpointFacts&) = default;
};

// One part of one tensor's state, as stored in the files.
struct TensorRecord {
  std::string name;  // the model's name of the tensor; in the file: SavedName(name, part)
  StatePart part = StatePart::kHi;
  Dtype dtype = Dtype::kBF16;
  std::vector<int64_t> shape;
  size_t file = 0;      // position in Manifest::files
  uint64_t offset = 0;  // from the start of the file
  Bytes bytes;
  uint32_t crc32c = 0;
  int64_t step = 0;  // the step whose state these bytes are
  friend bool operator==(const TensorRecord&, const TensorRecord&) = default;
};

// A file beside the manifest, and the CRC-32C of its first `head_bytes`: the whole of a text file,
// or the length and header of a safetensors file.
struct FileRecord {
  std::string name;
  Bytes bytes;
  Bytes head_bytes;
  uint32_t crc32c = 0;
  friend bool operator==(const FileRecord&, const FileRecord&) = default;
};

// The content of manifest.json.
struct Manifest {
  int64_t step = 0;
  SaveMode mode = SaveMode::kFull;
  CheckpointFacts facts;
  std::vector<FileRecord> files;
  std::vector<TensorRecord> tensors;

  Bytes total_bytes() const;  // of all files
  friend bool operator==(const Manifest&, const Manifest&) = default;
};

// Writes the manifest as JSON. The last line is the CRC-32C of all lines before it. Pure: equal
// manifests give equal text.
std::string WriteManifest(const Manifest& manifest);

// Parses a manifest. DataLoss, with file and reason, when the CRC does not match; when a field is
// missing, unknown or out of range; when a file name is not a plain name; when a part is outside
// its file, is listed twice, or has a size other than its type and shape give or a step other than
// the checkpoint's. InvalidArgument for a manifest that a newer version of the program wrote.
// `file` is for messages.
absl::StatusOr<Manifest> ParseManifest(const std::string& file, std::string_view text);

}  // namespace horizon

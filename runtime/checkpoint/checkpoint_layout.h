#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "common/files/io.h"
#include "common/units.h"
#include "model/files/dtype.h"
#include "runtime/checkpoint/state_part.h"
#include "schedule/training_job.h"

namespace horizon {

// A tensor of the model whose state is saved. A tied head is not listed: it has no state of its
// own.
struct SavedTensor {
  std::string name;  // Hugging Face's
  std::vector<int64_t> shape;
};

// One part of one tensor, and where it lies.
struct CheckpointEntry {
  size_t tensor = 0;  // position in CheckpointLayout::tensors
  StatePart part = StatePart::kHi;
  size_t file = 0;      // position in CheckpointLayout::files
  uint64_t offset = 0;  // of its first byte, from the start of the file
  Bytes bytes;
  Dtype dtype = Dtype::kBF16;
  std::vector<int64_t> shape;
};

// A file of a checkpoint. A text file is all `start`; a safetensors file begins with it.
struct CheckpointFile {
  std::string name;
  std::string start;
  Bytes bytes;
};

// The files of a checkpoint and the place of every byte: a pure function of the model's tensors,
// the state format and the mode, never of the plan. Plain data, read by any thread.
//   model*.safetensors   hi, BF16, under the model's own names; with model.safetensors.index.json
//                        when there are several, so that the folder opens wherever models do
//   low*.safetensors     lo, I16
//   moments*.safetensors m and v: F32 or BF16, or U8 with m_scale and v_scale (F32, one for each
//                        kMomentBlock parameters of the tensor, the last block may be short)
// Several files of a kind are numbered STEM-00001-of-0000N.safetensors.
struct CheckpointLayout {
  SaveMode mode = SaveMode::kFull;
  StateFormat format = StateFormat::kFp32;
  std::vector<SavedTensor> tensors;
  std::vector<CheckpointFile> files;
  std::vector<CheckpointEntry> entries;  // tensor by tensor, in the model's order

  // On disk: all files but the manifest, and of them what the mode `weights` has too.
  Bytes total_bytes;
  Bytes weights_bytes;

  // The entries of a tensor are a run of entries_per_tensor(): its parts in StatePart's order.
  size_t entries_per_tensor() const {
    return tensors.empty() ? 0 : entries.size() / tensors.size();
  }
  // nullptr when the layout does not hold that part.
  const CheckpointEntry* Find(size_t tensor, StatePart part) const;
};

// The largest file unless one tensor alone is larger: what hubs accept and tools expect.
inline constexpr Bytes kMaxCheckpointShard = Bytes(CheckedU64(5'000'000'000));

// InvalidArgument when the tensors make no files: a name twice, not UTF-8, a
// negative dimension, sizes beyond 64 bits, more than 500,000 parts.
absl::StatusOr<CheckpointLayout> LayOutCheckpoint(std::vector<SavedTensor> tensors,
                                                  StateFormat format, SaveMode mode,
                                                  Bytes max_shard = kMaxCheckpointShard);

// What `copies` checkpoints take on disk, manifests and rounding up to whole blocks included.
// `extra` is for the files of others (config, tokenizer) that each of them carries.
Bytes DiskBytes(const CheckpointLayout& layout, int64_t copies = 1, Bytes extra = {});

// ResourceExhausted when the file system of `folder` has not that much left: bytes needed, bytes
// free, and whether saving the weights alone would fit.
absl::Status CheckFreeSpace(Io& io, const std::string& folder, const CheckpointLayout& layout,
                            int64_t copies = 1, Bytes extra = {});

}  // namespace horizon

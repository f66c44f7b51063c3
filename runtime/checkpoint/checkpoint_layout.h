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

// A tensor of the model that is saved with its state. A tied head is not listed, because it has no
// state of its own.
struct SavedTensor {
  std::string name;  // as in Hugging Face's files
  std::vector<int64_t> shape;
  // How many equal parts it has that moment blocks are counted in (TensorSlice::part): one for each
  // expert of a tensor of all experts.
  int64_t parts = 1;
};

// One part of one tensor's state, and where it is stored.
struct CheckpointEntry {
  size_t tensor = 0;  // position in CheckpointLayout::tensors
  StatePart part = StatePart::kHi;
  size_t file = 0;      // position in CheckpointLayout::files
  uint64_t offset = 0;  // of its first byte, from the start of the file
  Bytes bytes;
  Dtype dtype = Dtype::kBF16;
  std::vector<int64_t> shape;
};

// A file of a checkpoint. `start` is the whole content of a text file, or the header of a
// safetensors file.
struct CheckpointFile {
  std::string name;
  std::string start;
  Bytes bytes;
};

// The files of a checkpoint and the position of every byte in them. It is a pure function of the
// model's tensors, the state format and the mode, and never depends on the plan. Plain data; any
// thread may read it.
//   model*.safetensors   the bf16 high halves (hi) of the masters, BF16, under the model's own
//                        names; with model.safetensors.index.json when there are several files, so
//                        that other programs can open the folder as a model
//   low*.safetensors     the 16-bit low halves (lo), I16
//   moments*.safetensors first and second moments (m and v): F32 or BF16, or U8 with m_scale and
//                        v_scale (F32, one for each moment block of kMomentBlock parameters of the
//                        tensor; the last block may be short. Of a tensor of all experts each
//                        expert's part has blocks of its own)
// Several files of a kind are numbered STEM-00001-of-0000N.safetensors.
struct CheckpointLayout {
  SaveMode mode = SaveMode::kFull;
  StateFormat format = StateFormat::kFp32;
  std::vector<SavedTensor> tensors;
  std::vector<CheckpointFile> files;
  std::vector<CheckpointEntry> entries;  // tensor by tensor, in the model's order

  // Bytes on disk of all files except the manifest, and the part of them that the mode `weights`
  // has too.
  Bytes total_bytes;
  Bytes weights_bytes;

  // Each tensor has entries_per_tensor() consecutive entries: its parts in StatePart's order.
  size_t entries_per_tensor() const {
    return tensors.empty() ? 0 : entries.size() / tensors.size();
  }
  // nullptr when the layout does not hold that part.
  const CheckpointEntry* Find(size_t tensor, StatePart part) const;
};

// The largest size of a file, unless one tensor alone is larger: what model hubs accept and tools
// expect.
inline constexpr Bytes kMaxCheckpointShard = Bytes(CheckedU64(5'000'000'000));

// Lays out the files. InvalidArgument when the tensors cannot be laid out: a repeated name, a name
// that is not UTF-8, a negative dimension, sizes beyond 64 bits, more than 500,000 parts.
absl::StatusOr<CheckpointLayout> LayOutCheckpoint(std::vector<SavedTensor> tensors,
                                                  StateFormat format, SaveMode mode,
                                                  Bytes max_shard = kMaxCheckpointShard);

// The bytes that `copies` checkpoints need on disk, including manifests and rounding up to whole
// disk blocks. `extra` is the size of the other files (config, tokenizer) that each checkpoint
// carries.
Bytes DiskBytes(const CheckpointLayout& layout, int64_t copies = 1, Bytes extra = {});

// ResourceExhausted when the file system of `folder` has less space left than that. The message has
// the bytes needed, the bytes free, and whether saving the weights alone would fit.
absl::Status CheckFreeSpace(Io& io, const std::string& folder, const CheckpointLayout& layout,
                            int64_t copies = 1, Bytes extra = {});

}  // namespace horizon

#pragma once

#include <cstdint>

#include "schedule/chunk_table.h"

namespace horizon {

// Where the tensors of a model are stored in its chunks. A chunk stores its tensors (of a shard:
// the slices of them) one after another without gaps, in the order of the stage. The streamed
// weights contain all tensors in this order; gradients and moments contain only the trained ones,
// in the same order.
struct TensorSlice {
  const Stage* stage = nullptr;
  const TensorSpec* tensor = nullptr;
  uint64_t offset = 0;          // parameters before it in the chunk
  uint64_t trained_offset = 0;  // trained parameters before it in the chunk
  uint64_t first = 0;           // first parameter of the slice within the tensor
  uint64_t count = 0;           // parameters of the slice
  // Parameters of a norm block. Squared norms are summed block by block from the beginning of the
  // tensor, with one fp64 partial sum for each block. A shard of a table is cut between norm
  // blocks.
  uint64_t norm_block = 0;

  bool trained() const { return tensor->trained; }
};

// Where the low halves of a tensor begin among the low halves of its chunk, in parameters. With
// fp32 compute, loads read low halves beside the high ones, so all tensors have them; otherwise
// only updates read them, so only trained tensors do.
inline uint64_t LowHalfOffset(const TrainingJob& job, const TensorSlice& slice) {
  return job.compute_type == NumberType::kFp32 ? slice.offset : slice.trained_offset;
}
inline bool HasLowHalf(const TrainingJob& job, const TensorSlice& slice) {
  if (job.state_format == StateFormat::kBf16Weights) return false;
  return job.compute_type == NumberType::kFp32 || slice.trained();
}

// Parameters of a norm block of a layer's tensor; embedding and head use a tile of rows instead.
inline constexpr uint64_t kNormBlock = 65536;

inline uint64_t NormBlocksOf(const TensorSlice& slice) {
  return (slice.count + slice.norm_block - 1) / slice.norm_block;
}

// Calls visit(slice) for every tensor of the chunk, in order.
template <typename Visit>
void ForEachSlice(const ChunkTable& chunks, int32_t chunk, Visit visit) {
  uint64_t offset = 0;
  uint64_t trained_offset = 0;
  for (const ChunkPiece& piece : chunks.PiecesOf(chunks.chunks[chunk])) {
    const Stage& stage = chunks.stages[piece.stage];
    const bool table = stage.kind == StageKind::kEmbedding || stage.kind == StageKind::kHead;
    const uint64_t units = static_cast<uint64_t>(stage.units);
    const uint64_t begin = static_cast<uint64_t>(piece.units.begin);
    const uint64_t end = static_cast<uint64_t>(piece.units.end);
    for (const TensorSpec& tensor : stage.tensors) {
      TensorSlice slice{
          .stage = &stage, .tensor = &tensor, .offset = offset, .trained_offset = trained_offset};
      slice.norm_block =
          table ? static_cast<uint64_t>(stage.unit_tile) * stage.parameters_per_unit : kNormBlock;
      if (tensor.split_axis >= 0) {
        slice.first = tensor.parameters / units * begin;
        slice.count = tensor.parameters / units * (end - begin);
      } else {
        const bool inside = piece.units.begin <= tensor.unit && tensor.unit < piece.units.end;
        slice.count = inside ? tensor.parameters : 0;
      }
      if (slice.count == 0) continue;
      visit(slice);
      offset += slice.count;
      if (tensor.trained) trained_offset += slice.count;
    }
  }
}

// The same for the trained tensors alone.
template <typename Visit>
void ForEachTrainedSlice(const ChunkTable& chunks, int32_t chunk, Visit visit) {
  ForEachSlice(chunks, chunk, [&](const TensorSlice& slice) {
    if (slice.trained()) visit(slice);
  });
}

inline uint64_t TrainedSlicesOf(const ChunkTable& chunks, int32_t chunk) {
  uint64_t slices = 0;
  ForEachTrainedSlice(chunks, chunk, [&](const TensorSlice&) { ++slices; });
  return slices;
}

}  // namespace horizon

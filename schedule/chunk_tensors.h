#pragma once

#include <cstdint>

#include "schedule/chunk_table.h"

namespace horizon {

// Where the tensors of a model are stored in its chunks. A chunk stores its tensors (of a shard:
// the slices of them) one after another without gaps, in the order of the stage. The streamed
// weights contain all tensors in this order; gradients and moments contain only the trained ones,
// in the same order.
//
// Experts are stored one after another, each with all its matrices, also where the file has one
// tensor for all of them. So a tensor of several experts is in the chunk in as many slices, and a
// model has its parameters in one order however it is cut into chunks:
//
//   norm, router, gate and up of expert 0, down of expert 0, gate and up of expert 1, ...
struct TensorSlice {
  const Stage* stage = nullptr;
  const TensorSpec* tensor = nullptr;
  uint64_t offset = 0;          // parameters before it in the chunk
  uint64_t trained_offset = 0;  // trained parameters before it in the chunk
  uint64_t first = 0;           // first parameter of the slice within the tensor
  uint64_t count = 0;           // parameters of the slice
  // The part of the tensor that the slice is in, and where that begins in the tensor. A tensor of
  // all experts has one part for each; any other tensor is one part. Norm blocks, moment blocks and
  // the random numbers of stochastic rounding are counted from the beginning of the part.
  int64_t part = 0;
  uint64_t part_begin = 0;
  // Parameters of a norm block. Squared norms are summed block by block from the beginning of the
  // part, with one fp64 partial sum for each block. A shard of a table is cut between norm blocks.
  uint64_t norm_block = 0;

  bool trained() const { return tensor->trained; }
  uint64_t first_in_part() const { return first - part_begin; }
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

// How many parts a tensor of a stage has (TensorSlice::part).
inline int64_t PartsOf(const Stage& stage, const TensorSpec& tensor) {
  return stage.kind == StageKind::kExperts && tensor.split_axis >= 0 ? stage.units : 1;
}

// Calls visit(slice) for every slice of the chunk, in order.
template <typename Visit>
void ForEachSlice(const ChunkTable& chunks, int32_t chunk, Visit visit) {
  uint64_t offset = 0;
  uint64_t trained_offset = 0;
  for (const ChunkPiece& piece : chunks.PiecesOf(chunks.chunks[chunk])) {
    const Stage& stage = chunks.stages[piece.stage];
    const bool table = stage.kind == StageKind::kEmbedding || stage.kind == StageKind::kHead;
    const auto units = static_cast<uint64_t>(stage.units);
    const auto add = [&](TensorSlice slice) {
      if (slice.count == 0) return;
      slice.stage = &stage;
      slice.offset = offset;
      slice.trained_offset = trained_offset;
      slice.norm_block =
          table ? static_cast<uint64_t>(stage.unit_tile) * stage.parameters_per_unit : kNormBlock;
      visit(static_cast<const TensorSlice&>(slice));
      offset += slice.count;
      if (slice.trained()) trained_offset += slice.count;
    };
    if (table) {
      for (const TensorSpec& tensor : stage.tensors) {
        const uint64_t each = tensor.parameters / units;
        add({.tensor = &tensor,
             .first = each * static_cast<uint64_t>(piece.units.begin),
             .count = each * static_cast<uint64_t>(piece.units.end - piece.units.begin)});
      }
    } else if (stage.parameters_per_unit == 0) {
      // Each tensor belongs to one unit, and they are listed by unit.
      for (const TensorSpec& tensor : stage.tensors) {
        if (piece.units.begin <= tensor.unit && tensor.unit < piece.units.end) {
          add({.tensor = &tensor, .count = tensor.parameters});
        }
      }
    } else {
      for (int64_t unit = piece.units.begin; unit < piece.units.end; ++unit) {
        for (const TensorSpec& tensor : stage.tensors) {
          if (tensor.split_axis < 0) {
            if (tensor.unit == unit) add({.tensor = &tensor, .count = tensor.parameters});
            continue;
          }
          const uint64_t each = tensor.parameters / units;
          const uint64_t first = each * static_cast<uint64_t>(unit);
          add({.tensor = &tensor,
               .first = first,
               .count = each,
               .part = unit,
               .part_begin = first});
        }
      }
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

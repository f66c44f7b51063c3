#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "model/model_spec.h"
#include "model/stages.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// The model cut into chunks: the units that are loaded, offloaded and updated. Every parameter
// belongs to exactly one chunk.
//
// Layer chunks hold one or more consecutive stages of one block, never of two (without recompute,
// or where nothing is differentiated: of as many layers as a block would have); a stage larger than
// chunk_bytes is cut between its units (model/stages.h) into shards, each a chunk of its own: the
// fewest that fit, and of these the cut whose largest shard is smallest. The final norm, one
// vector, rides with the last layer chunk unless that is a shard. Embedding and head are whole
// chunks or shards by vocabulary; tied, they are the same chunks.
//
// Streamed are all parameters of a chunk, updated only the trained ones: gradients, moments and
// norms have places for these alone, so a chunk has two offsets for each tensor (chunk_tensors.h).
// Backward ends at the first stage that it has something to compute for; that stage begins a chunk,
// and blocks are counted from there: what lies before is forwarded and never differentiated.
//
// The shards of a layer stage form one link of the chain of hidden states. A micro-batch passes
// them one after another, ascending in forward and descending in backward, before anything else is
// computed: what they hand to each other lies in the workspace and among the kept activations. The
// last shard writes the hidden state that leaves the link, the first one the gradient of the hidden
// state that entered it.

struct IndexRange {
  int32_t begin = 0;
  int32_t end = 0;
  int32_t size() const { return end - begin; }
  bool contains(int32_t index) const { return index >= begin && index < end; }
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

// A stage, or the units of it that lie in a chunk.
struct ChunkPiece {
  int32_t stage = 0;
  UnitRange units;
};

struct Chunk {
  IndexRange pieces;  // in ChunkTable::pieces
  uint64_t parameters = 0;
  uint64_t trained = 0;  // those of them that are trained; 0: the chunk is frozen
  // Blocks of the trained tensors in it, each tensor's counted from its own begin
  // (chunk_tensors.h), so that they are the same however the model is cut.
  uint64_t moment_blocks = 0;
  uint64_t norm_blocks = 0;
  int32_t link = -1;  // layer chunks: the link they are part of, counted from 0
  int32_t shard = 0;  // number within the link (or within the table for embedding and head)
  int32_t shards = 1;
  int32_t block = -1;     // layer chunks: the block they belong to; -1: not differentiated
  bool resident = false;  // stays on the device within a pass

  bool frozen() const { return trained == 0; }
};

// A run of consecutive links recomputed together from one anchor.
struct Block {
  IndexRange chunks;
  IndexRange links;
};

struct ChunkTable {
  std::vector<Stage> stages;
  std::vector<ChunkPiece> pieces;
  std::vector<Chunk> chunks;
  std::vector<IndexRange> links;  // chunks of each link
  std::vector<Block> blocks;      // of the links that are differentiated: the last ones
  IndexRange embedding;           // chunks; equal to `head` when tied
  IndexRange layers;
  IndexRange head;
  bool tied = false;
  uint64_t parameters = 0;
  uint64_t trained = 0;
  // Backward goes from the last link down to this one; links.size(): only the head is trained.
  int32_t first_differentiated_link = 0;

  // A tensor before `link` is trained, so the gradient of the hidden state that enters it is
  // wanted. links.size() asks for the one that enters the head.
  bool WantsHiddenGradient(int32_t link) const {
    return link > first_differentiated_link || !chunks[embedding.begin].frozen();
  }
  std::span<const ChunkPiece> PiecesOf(const Chunk& chunk) const {
    return std::span(pieces).subspan(chunk.pieces.begin, chunk.pieces.size());
  }
  int32_t LargestBlock() const;  // chunks
  // "attention_3..feed_forward_4", "feed_forward_7 shard 2/3", "head".
  std::string NameOf(int32_t chunk) const;
};

// Parameters of the largest part of a stage that is never cut: of a tile of rows, an expert or a
// matrix. The least a chunk has to hold.
uint64_t LargestUncut(const Stage& stage);

// Parameters of the largest shard when a layer stage is cut, as evenly as its units allow, into
// `shards` or fewer.
uint64_t LargestOfShards(const Stage& stage, int64_t shards);
// The least chunk_bytes that any stage of the model can be cut for.
Bytes LeastChunkBytes(const std::vector<Stage>& stages, const TrainingJob& job);

// FailedPrecondition when chunk_bytes cannot hold the smallest shard of some stage (naming the
// stage and the least bytes that would do); InvalidArgument when a pattern of what is trained
// matches no tensor, or nothing is trained.
absl::StatusOr<ChunkTable> CutIntoChunks(const ModelSpec& spec, const TrainingJob& job,
                                         const StreamPlan& plan);

}  // namespace horizon

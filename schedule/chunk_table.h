#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "model/model_spec.h"
#include "model/stages.h"
#include "schedule/stream_plan.h"
#include "schedule/training_job.h"

namespace horizon {

// The model cut into chunks. A chunk is the unit that is loaded, offloaded and updated. Every
// parameter belongs to exactly one chunk. For example, a small untied model with one layer per
// chunk:
//
//   chunk 0  embedding
//   chunk 1  attention_0..feed_forward_0     chunk group 0, recompute block 0
//   chunk 2  attention_1..final_norm         chunk group 1, recompute block 1
//   chunk 3  head
//
// Stages and shards. A layer chunk holds one or more consecutive stages. It never holds stages of
// two recompute blocks (without recompute, or where nothing is differentiated: of more layers than
// a recompute block would have). A stage larger than chunk_bytes is cut between its units
// (model/stages.h) into shards, and each shard is a chunk: as few shards as fit, cut so that the
// largest shard is as small as possible. A feed-forward stage is cut only if its gate and up are
// kept and a micro-batch is one piece of tokens: otherwise a pass goes through all its matrices
// with each piece, so one chunk holds them all. The final norm, which is one vector, goes into the
// last layer chunk unless that is a shard. Embedding and head are whole chunks, or shards by rows
// of the vocabulary; if they are tied, they are the same chunks.
//
// Chunk groups. A chunk group is one layer chunk, or all shards of one layer stage. Hidden states
// pass from group to group. A micro-batch goes through the shards of a group one after another,
// ascending in forward and descending in backward, before anything else is computed: the shards
// pass arrays to each other in the workspace and in the kept activations. The last shard writes the
// hidden state that leaves the group; the first shard writes the gradient of the hidden state that
// entered it.
//
// Trained tensors. All parameters of a chunk are streamed, but only the trained ones are updated.
// Gradients, moments and norms exist for trained parameters only, so each tensor has two offsets in
// its chunk (chunk_tensors.h). Backward ends at the first stage for which it has anything to
// compute. That stage begins a chunk, and recompute blocks are counted from there; the stages
// before it are only forwarded, never differentiated.

// A range [begin, end) of indices.
struct IndexRange {
  int32_t begin = 0;
  int32_t end = 0;
  int32_t size() const { return end - begin; }
  bool contains(int32_t index) const { return index >= begin && index < end; }
  friend bool operator==(const IndexRange&, const IndexRange&) = default;
};

// A stage, or those of its units that are in a chunk.
struct ChunkPiece {
  int32_t stage = 0;
  UnitRange units;
};

// One chunk, and its place among groups, shards and recompute blocks.
struct Chunk {
  IndexRange pieces;  // in ChunkTable::pieces
  uint64_t parameters = 0;
  uint64_t trained = 0;  // how many of them are trained; 0: the chunk is frozen
  // Quantisation blocks of the 8-bit moments, and norm blocks (chunk_tensors.h), of the trained
  // tensors in the chunk. Both are counted from the beginning of each tensor, so they are the same
  // however the model is cut.
  uint64_t moment_blocks = 0;
  uint64_t norm_blocks = 0;
  int32_t group = -1;  // of a layer chunk: index in ChunkTable::groups; -1: embedding and head
  int32_t shard = 0;   // index within the group (for embedding and head: within the table)
  int32_t shards = 1;
  int32_t recompute_block = -1;  // index in the table; -1: not differentiated
  bool resident = false;         // stays on the device within a pass
  // The routers in the chunk: they are numbered through the model, one for each experts stage, and
  // the first shard of a stage has its router.
  IndexRange routers;

  bool frozen() const { return trained == 0; }
};

// Consecutive chunk groups that are recomputed together from one activation checkpoint.
struct RecomputeBlock {
  IndexRange chunks;
  IndexRange groups;
};

// The stages of a model, with the job's trained tensors selected. Copies share one list that never
// changes: a model with experts has tens of thousands of tensors, and a plan search has many chunk
// tables.
class StageList {
 public:
  StageList() : StageList(std::vector<Stage>()) {}
  StageList(std::vector<Stage> stages)  // NOLINT(google-explicit-constructor)
      : stages_(std::make_shared<const std::vector<Stage>>(std::move(stages))) {}
  operator const std::vector<Stage>&() const {  // NOLINT(google-explicit-constructor)
    return *stages_;
  }
  const Stage& operator[](size_t i) const { return (*stages_)[i]; }
  const Stage& back() const { return stages_->back(); }
  size_t size() const { return stages_->size(); }
  auto begin() const { return stages_->begin(); }
  auto end() const { return stages_->end(); }

 private:
  std::shared_ptr<const std::vector<Stage>> stages_;
};

// All chunks of a model, in forward order.
struct ChunkTable {
  StageList stages;
  std::vector<ChunkPiece> pieces;
  std::vector<Chunk> chunks;
  std::vector<IndexRange> groups;                // the chunks of each chunk group, in order
  std::vector<RecomputeBlock> recompute_blocks;  // of the differentiated (last) groups
  IndexRange embedding;                          // chunks; equal to `head` when tied
  IndexRange layers;
  IndexRange head;
  bool tied = false;
  uint64_t parameters = 0;
  uint64_t trained = 0;
  int32_t routers = 0;  // of all experts stages, each of which has `experts`
  int64_t experts = 0;
  // Backward goes from the last chunk group down to this one. groups.size(): only the head is
  // trained.
  int32_t first_differentiated_group = 0;

  // Whether backward computes the gradient of the hidden state that enters `group`: it does where a
  // tensor before the group is trained. groups.size() stands for the head.
  bool NeedsHiddenGradient(int32_t group) const {
    return group > first_differentiated_group || !chunks[embedding.begin].frozen();
  }
  std::span<const ChunkPiece> PiecesOf(const Chunk& chunk) const {
    return std::span(pieces).subspan(chunk.pieces.begin, chunk.pieces.size());
  }
  int32_t LargestRecomputeBlock() const;  // in chunks
  // Whether the recompute of a block (TrainOrder) needs the hidden state that leaves the group of
  // `chunk`: another group of the block follows.
  bool RecomputePassesOn(int32_t chunk) const {
    const Chunk& c = chunks[chunk];
    return c.group + 1 != recompute_blocks[c.recompute_block].groups.end;
  }
  // For people: "attention_3..feed_forward_4", "feed_forward_7 shard 2/3", "head".
  std::string NameOf(int32_t chunk) const;
};

// Parameters of the largest part of a stage that is never cut: a tile of rows, an expert or a
// matrix. A chunk must hold at least this many.
uint64_t LargestUncut(const Stage& stage);

// Parameters of the largest shard when a layer stage is cut into `shards` or fewer, as evenly as
// its units allow.
uint64_t LargestOfShards(const Stage& stage, int64_t shards);
// Whether the plan may cut a stage between its units.
bool MayBeCut(const Stage& stage, const TrainingJob& job, bool keep_feed_forward);
// The smallest chunk_bytes with which every stage of the model can be cut in a plan with
// keep_feed_forward.
Bytes LeastChunkBytes(const std::vector<Stage>& stages, const TrainingJob& job);

// Cuts a model as the plan says. Fails with FailedPrecondition when chunk_bytes cannot hold the
// smallest shard of some stage (the message names the stage and the bytes needed), and with
// InvalidArgument when a pattern of trained tensors matches none, or when nothing is trained.
absl::StatusOr<ChunkTable> CutIntoChunks(const ModelSpec& spec, const TrainingJob& job,
                                         const StreamPlan& plan);

// The two halves of CutIntoChunks, for a search that cuts one model in many ways. The stages follow
// from model and job alone. Where a model is cut follows from strategy, chunk_bytes,
// anchor_interval, recompute and keep_feed_forward; the other fields of a plan only change which
// chunks stay on the device, and MarkResident sets these marks anew.
absl::StatusOr<StageList> ListTrainedStages(const ModelSpec& spec, const TrainingJob& job);
absl::StatusOr<ChunkTable> CutIntoChunks(const StageList& stages, const ModelSpec& spec,
                                         const TrainingJob& job, const StreamPlan& plan);
// What job and plan choose about the passes over a stage, with the most experts that one chunk has.
StageOptions StageOptionsOf(const TrainingJob& job, const StreamPlan& plan,
                            const ChunkTable& chunks);
void MarkResident(const TrainingJob& job, const StreamPlan& plan, ChunkTable& chunks);

}  // namespace horizon

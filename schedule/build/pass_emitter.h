#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "common/units.h"
#include "model/model_spec.h"
#include "model/stage_work.h"
#include "schedule/build/compute_order.h"
#include "schedule/build/phase_writer.h"
#include "schedule/lay_out_memory.h"
#include "schedule/schedule.h"
#include "schedule/strategy_rules.h"

namespace horizon {

// The verbs of a pass: each appends the operations one thing takes, with the buffers they touch and
// what those hold before and after. The builders (build_*.cc) say in which order. Which buffer a
// hidden state, a gradient or a slab is in is decided here, the same way in every step.
class PassEmitter {
 public:
  // `schedule` has kind, job, plan and chunks; phases are written by the caller from writer().
  PassEmitter(const ModelSpec& spec, const Schedule& schedule, const BufferMap& map);

  PhaseWriter& writer() { return writer_; }
  // Starts the body of a step: all turns (slabs, gradient buffers) begin again at their first.
  void BeginBody();

  // --- inputs ---
  void FetchBatch(int32_t mb);                              // next batch, tokens, gathered rows
  void EmbedFromRows(int32_t mb);                           // rows across the link
  void Embed(int32_t chunk, int32_t mb, BufferId weights);  // rows of a table on the device

  // --- weights ---
  // Across the link into `target`; `after` as in PhaseWriter::Append.
  void LoadChunk(int32_t chunk, BufferId target, std::span<const int64_t> after = {});
  void PackAndLoadChunk(int32_t chunk, BufferId slab, BufferId target,
                        std::span<const int64_t> after);

  // --- compute --- (`weights`: the buffer that holds the chunk)
  enum class Keep { kNothing, kActivations };
  void Forward(int32_t chunk, int32_t mb, BufferId weights, Keep keep);
  // kNothing: only the hidden states between the layers of the block (`reference`).
  void Recompute(int32_t chunk, int32_t mb, BufferId weights, Keep keep);
  void SaveAnchor(int32_t block, int32_t mb);
  void LoadAnchor(int32_t block, int32_t mb);
  void LogSumExp(int32_t chunk, int32_t mb, int32_t part, BufferId weights);
  void Loss(int32_t chunk, int32_t mb, int32_t part, BufferId weights);
  void HeadGradient(int32_t chunk, int32_t mb);
  void Backward(int32_t chunk, int32_t mb, BufferId weights);
  void EmbedBackward(int32_t chunk, int32_t mb);
  void Logits(int32_t chunk, BufferId weights);
  void OffloadLoss(int32_t mb);
  void OffloadLogits();

  // --- gradients ---
  enum class Use { kModel, kEmbedding };  // which use of a (perhaps tied) table it belongs to
  // The gradient that compute has just finished leaves and is added to what is kept; the last
  // contribution is followed by the norm (and by Adam where that runs in backward). Of a chunk that
  // is trained.
  void SendGradient(int32_t chunk, int32_t mb, Use use);
  void SendRows(int32_t mb);
  void SumTiedTable();
  void ClipFactor();
  void ClipGradients();  // `reference`

  // --- updates ---
  // Adam over every trained chunk in forward order, from gradients `age` steps old.
  void UpdateAll(uint8_t age);
  // The next batch is not fetched before the last update so far has ended: a step that starts when
  // the one before is over.
  void NextBatchAwaitsUpdates() { before_batch_ = last_update_; }

  // The contents of the lasting buffers before the first step.
  std::vector<Access> InitialContents() const;
  // The last operation appended to the compute lane (-1: none).
  int64_t last_compute() const { return last_compute_; }

 private:
  struct Draft {
    Operation operation;
    absl::InlinedVector<Access, 12> accesses;
    Draft& Reads(BufferId buffer, Content content, uint8_t age = 0);
    Draft& Writes(BufferId buffer, Content content);
  };
  Draft Begin(OperationKind kind, Lane lane, int32_t chunk, int32_t mb, int32_t part = -1) const;
  int64_t Append(Draft& draft, std::span<const int64_t> after = {});

  bool in_backward() const { return job_.optimizer_place == OptimizerPlace::kInBackward; }
  const Chunk& chunk(int32_t c) const { return chunks_.chunks[c]; }
  uint64_t parameters(int32_t c) const { return chunk(c).parameters; }
  uint64_t trained(int32_t c) const { return chunk(c).trained; }
  // Age of the weights in the store as loads see them: updated in this step or in the one before.
  // What is never updated does not age.
  uint8_t WeightsAge(int32_t c) const { return chunk(c).frozen() ? 0 : weights_age_; }
  int32_t links() const { return static_cast<int32_t>(chunks_.links.size()); }
  int32_t flight(int32_t mb) const { return map_.in_flight > 1 ? mb : 0; }

  Bytes LogitBytes() const;
  void Report(BufferId buffer, Content content, int32_t mb);

  // Where the state of a micro-batch lies.
  BufferId HiddenBuffer(int32_t link, int32_t mb) const;
  int32_t PlaceInBlock(int32_t link) const;
  BufferId RecomputeInput(int32_t link, int32_t mb) const;   // of the hidden state entering `link`
  BufferId RecomputeOutput(int32_t link, int32_t mb) const;  // of the one that leaves it
  BufferId HiddenGradientBuffer(int32_t link, int32_t mb) const;
  BufferId ActivationsBuffer(int32_t link, int32_t mb) const;
  BufferId TokensBuffer(int32_t mb) const;
  BufferId NextSlab(int32_t chunk);  // the gradient of `chunk` leaves through it

  // Parts that make the hidden state entering `link`, or its gradient, whole.
  int32_t HiddenParts(int32_t link) const;
  int32_t HiddenGradientParts(int32_t link) const;
  Content Hidden(int32_t link, int32_t mb) const;
  Content HiddenGradient(int32_t link, int32_t mb) const;

  void ReadWeights(Draft& draft, int32_t chunk, BufferId weights) const;
  // The operation adds its part to `target`, after the `done` parts that are there already.
  static void AddPart(Draft& draft, BufferId target, Content content, int32_t done);
  // The operation's use of the workspace: scratch, or (a stage in shards) arrays that the `done`
  // shards before it left there and that it hands on.
  void PassThroughWorkspace(Draft& draft, int32_t chunk, Content content, int32_t done) const;
  void ReadRotaryTable(Draft& draft, int32_t chunk) const;
  bool IsLastShard(int32_t chunk) const;
  void WriteGradient(Draft& draft, int32_t chunk, int32_t mb);
  uint64_t LossFlops(int32_t chunk, int32_t part, bool backward) const;

  struct Arrived {  // a gradient where the host (or `resident` compute) can read it
    BufferId buffer = -1;
    Content content;
    Bytes bytes;
  };
  void Accumulate(int32_t chunk, int32_t mb, const Arrived& arrived, Use use);
  void AddContribution(Draft& draft, int32_t chunk, int32_t count, Use use);
  void AfterContribution(int32_t chunk);
  int32_t FullContributions(int32_t chunk) const;
  void Norm(int32_t chunk, const Arrived& gradient);
  void Update(int32_t chunk, const Arrived& gradient, uint8_t age);
  Arrived Kept(int32_t chunk) const;

  const ModelSpec& spec_;
  const TrainingJob& job_;
  const StreamPlan& plan_;
  const ChunkTable& chunks_;
  const BufferMap& map_;
  const PassKind kind_;
  const StrategyRules rules_;
  const ParameterBytes each_;
  const TokenBatch batch_;
  const Bytes hidden_bytes_;
  const int32_t loss_parts_;
  const uint8_t weights_age_;             // of chunks that are updated
  std::vector<char> has_attention_;       // by chunk
  std::vector<uint64_t> forward_flops_;   // by chunk
  std::vector<uint64_t> backward_flops_;  // by chunk
  PhaseWriter writer_;
  int64_t last_compute_ = -1;
  int64_t last_update_ = -1;
  int64_t before_batch_ = -1;    // what the next batch has to come after
  int64_t before_compute_ = -1;  // what the next operation of the compute lane has to come after

  // Turns and counts within a step.
  int64_t next_gradient_ = 0;
  int64_t next_slab_ = 0;
  int64_t next_stage_ = 0;
  bool clipped_ = false;
  std::vector<BufferId> gradient_of_;   // by chunk: the device buffer of its gradient
  std::vector<int32_t> summed_;         // by chunk: micro-batches in that buffer
  std::vector<int32_t> kept_;           // by chunk: contributions in the kept gradient
  std::vector<int32_t> embedding_sum_;  // by chunk: contributions in the embedding gradient
  BufferId stage_ = -1;                 // of the anchor loaded last
};

}  // namespace horizon

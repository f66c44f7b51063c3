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

// Appends the operations of a pass. Each public method appends the operations that one action needs
// (load a chunk, run its forward, send its gradient), with the buffers that they touch and what
// these hold before and after. The builders (build_*.cc) call the methods in the order of their
// strategy. This class also chooses the buffer of each hidden state and gradient and the gradient
// slab; the choice is the same in every step. `mb` is a micro-batch.
class PassEmitter {
 public:
  // `schedule` must have its kind, job, plan, chunks and memory; it is not changed. The caller
  // takes the phases from writer(). All arguments must outlive the emitter.
  PassEmitter(const ModelSpec& spec, const Schedule& schedule, const BufferMap& map);

  PhaseWriter& writer() { return writer_; }
  // Starts the body of a step: the pools (gradient slabs, gradient buffers) start again at their
  // first buffer.
  void BeginBody();

  // --- inputs ---
  void FetchBatch(int32_t mb);     // fetch tokens and load them; gather rows of a table on the host
  void EmbedFromRows(int32_t mb);  // load the gathered rows
  void Embed(int32_t chunk, int32_t mb, BufferId weights);  // look up rows of a table on the device

  // --- weights ---
  // Copies the weights of a chunk into `target`; `after` as in PhaseWriter::Append.
  void LoadChunk(int32_t chunk, BufferId target, std::span<const int64_t> after = {});
  // The same through a staging buffer, into which the host first packs the chunk.
  void PackAndLoadChunk(int32_t chunk, BufferId staging, BufferId target,
                        std::span<const int64_t> after);

  // --- compute --- (`weights` is the device buffer that holds the chunk)
  enum class Keep { kNothing, kActivations };
  void Forward(int32_t chunk, int32_t mb, BufferId weights, Keep keep);
  // With kNothing it computes only the hidden states between the layers of the recompute block
  // (`reference`).
  void Recompute(int32_t chunk, int32_t mb, BufferId weights, Keep keep);
  void SaveAnchor(int32_t block, int32_t mb);
  void LoadAnchor(int32_t block, int32_t mb);
  void LogSumExp(int32_t chunk, int32_t mb, int32_t part, BufferId weights);
  void Loss(int32_t chunk, int32_t mb, int32_t part, BufferId weights);
  void HeadGradient(int32_t chunk, int32_t mb);
  void Backward(int32_t chunk, int32_t mb, BufferId weights);
  void EmbedBackward(int32_t chunk, int32_t mb);
  void Logits(int32_t chunk, BufferId weights);
  void OffloadLoss(int32_t mb);  // and what the routers chose
  void OffloadLogits();

  // --- gradients ---
  // Which use of a (perhaps tied) table a gradient belongs to.
  enum class Use { kModel, kEmbedding };
  // Copies the gradient that compute has just finished to the host and adds it to the kept
  // gradient. The last contribution is followed by the norm (and by Adam where that runs in
  // backward). `chunk` must be trained.
  void SendGradient(int32_t chunk, int32_t mb, Use use);
  // The same for the rows of an embedding table that stays on the host.
  void SendRows(int32_t mb);
  void SumTiedTable();  // add the two sums of a tied table, where it has two
  void ClipFactor();
  void ClipGradients();  // `reference`

  // --- updates --- Updates every trained chunk with Adam in forward order, from gradients that are
  // `age` steps old.
  void UpdateAll(uint8_t age);
  // Makes the next FetchBatch wait for the last update so far, so that a step starts only when the
  // step before is over.
  void NextBatchAwaitsUpdates() { before_batch_ = last_update_; }

  // What the lasting buffers hold before the first step.
  std::vector<Access> InitialContents() const;
  // The number of the last operation that was appended to the compute lane (-1: none).
  int64_t last_compute() const { return last_compute_; }

 private:
  // An operation under construction.
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
  // The age that a load finds for the weights in the store: 0 if they are updated in this step, 1
  // if in the step before. Weights that are never updated have age 0.
  uint8_t WeightsAge(int32_t c) const { return chunk(c).frozen() ? 0 : weights_age_; }
  int32_t groups() const { return static_cast<int32_t>(chunks_.groups.size()); }
  int32_t flight(int32_t mb) const { return map_.in_flight > 1 ? mb : 0; }

  Bytes LogitBytes() const;
  void Report(BufferId buffer, Content content, int32_t mb);

  // The buffers of a micro-batch. `group` is the chunk group that the hidden state enters.
  BufferId HiddenBuffer(int32_t group, int32_t mb) const;
  int32_t PlaceInBlock(int32_t group) const;
  BufferId RecomputeInput(int32_t group, int32_t mb) const;   // hidden state that enters `group`
  BufferId RecomputeOutput(int32_t group, int32_t mb) const;  // hidden state that leaves it
  BufferId HiddenGradientBuffer(int32_t group, int32_t mb) const;
  BufferId ActivationsBuffer(int32_t group, int32_t mb) const;
  BufferId TokensBuffer(int32_t mb) const;
  BufferId NextSlab(int32_t chunk);  // the gradient slab for the next gradient of `chunk`

  // How many parts are summed into the hidden state that enters `group`, or into its gradient.
  int32_t HiddenParts(int32_t group) const;
  int32_t HiddenGradientParts(int32_t group) const;
  Content Hidden(int32_t group, int32_t mb) const;
  Content HiddenGradient(int32_t group, int32_t mb) const;

  void ReadWeights(Draft& draft, int32_t chunk, BufferId weights) const;
  // The operation adds its part to `target`, which already holds `done` parts.
  static void AddPart(Draft& draft, BufferId target, Content content, int32_t done);
  // Adds the operation's use of the workspace: as scratch, or, for a stage in shards, as arrays
  // that the `done` shards before it left there and that it passes on.
  void PassThroughWorkspace(Draft& draft, int32_t chunk, Content content, int32_t done) const;
  void ReadRotaryTable(Draft& draft, int32_t chunk) const;
  bool IsLastShard(int32_t chunk) const;
  void WriteGradient(Draft& draft, int32_t chunk, int32_t mb);
  uint64_t LossFlops(int32_t chunk, int32_t part, bool backward) const;

  struct Arrived {  // a gradient in a buffer that the host (or `resident` compute) can read
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
  const uint8_t weights_age_;              // of chunks that are updated
  std::vector<char> has_attention_;        // by chunk
  std::vector<uint64_t> forward_flops_;    // by chunk
  std::vector<uint64_t> recompute_flops_;  // by chunk, where its output is not needed
  std::vector<uint64_t> backward_flops_;   // by chunk
  PhaseWriter writer_;
  int64_t last_compute_ = -1;
  int64_t last_update_ = -1;
  int64_t before_batch_ = -1;    // operation that the next batch waits for
  int64_t before_compute_ = -1;  // operation that the next operation of the compute lane waits for

  // Next buffers of the pools, and counts, within a step.
  int64_t next_gradient_ = 0;
  int64_t next_slab_ = 0;
  int64_t next_anchor_stage_ = 0;
  bool clipped_ = false;
  std::vector<BufferId> gradient_of_;   // by chunk: the device buffer of its gradient
  std::vector<int32_t> summed_;         // by chunk: micro-batches in that buffer
  std::vector<int32_t> kept_;           // by chunk: contributions in the kept gradient
  std::vector<int32_t> embedding_sum_;  // by chunk: contributions in the embedding gradient
  BufferId anchor_stage_ = -1;          // holds the activation checkpoint loaded last
};

}  // namespace horizon

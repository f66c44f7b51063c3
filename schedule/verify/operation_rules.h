#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "schedule/chunk_table.h"
#include "schedule/schedule.h"
#include "schedule/verify/operation_view.h"

namespace horizon {

// The rules of each kind of operation: what it must read and write, and how many bytes it moves.
// They restate what the builder does, without sharing code with it. Part of VerifyMeaning.
class OperationRules : private OperationView {
 public:
  OperationRules(const Schedule& schedule, const Phase& phase);

  // Checks one operation of the phase. Returns Internal, naming the operation, where a rule is
  // broken.
  absl::Status Check(const Operation& op);

 private:
  bool resident() const { return schedule_.plan.strategy == Strategy::kResident; }
  bool reference() const { return schedule_.plan.strategy == Strategy::kReference; }
  bool tied_table() const { return table_.tied && table_.embedding.contains(op_->chunk); }
  const Chunk& chunk() const { return table_.chunks[op_->chunk]; }
  int32_t groups() const { return static_cast<int32_t>(table_.groups.size()); }
  int32_t accumulation() const { return static_cast<int32_t>(schedule_.job.accumulation); }

  // operation_rules.cc
  void CheckLane();
  // A copy over the PCIe link goes from pinned memory to the device or back, and fits its buffers.
  void CheckCopy();
  void CheckKind();
  // The operation does not write the weights of a frozen chunk.
  void CheckFrozen();

  // operation_rules_compute.cc
  void ReadsOwnWeights();
  void CheckEmbedding();
  void CheckLoad();
  void CheckCache();
  // Checks the memory that forward and backward of a layer need besides weights and hidden states.
  // A shard reads the arrays that the `done` shards before it left in the workspace, and passes
  // them on.
  void CheckLayerMemory(ContentKind handed_on, int32_t done);
  void CheckForward();
  void CheckAnchor();
  void CheckLogits();  // logits of the last token of each row; the token records say which that is
  void CheckHead();
  void CheckBackward();

  // operation_rules_gradients.cc
  void CheckGradientWritten();
  void CheckOffload();
  // The kind of gradient slab that the gradient is copied to: only `horizon` moves embedding and
  // head like layers.
  BufferKind GradientSlabKind() const;
  // A contribution is added to the sum so far, and the count of the sum grows by it.
  void CheckContribution();
  void CheckNorm();
  void CheckAdam();
  // What the routers chose arrives on the host, of all routers and all experts.
  void CheckRouting();
  // An asynchronous update on a device writes which weights it could not represent.
  void CheckFaults();

  Content Hidden(int32_t group, int32_t parts) const {
    return {ContentKind::kHidden, group, op_->micro_batch, parts};
  }
  Content HiddenGradient(int32_t group, int32_t parts) const {
    return {ContentKind::kHiddenGradient, group, op_->micro_batch, parts};
  }
  // How many shards of the embedding are summed into the hidden state that enters `group`.
  int32_t PartsBefore(int32_t group) const {
    if (group > 0) return 1;
    return schedule_.plan.embedding_home == EmbeddingHome::kHost ? 1 : table_.embedding.size();
  }
  int32_t LossParts() const {
    const int64_t tokens = schedule_.job.micro_batch_tokens();
    const int64_t size = std::min(tokens, schedule_.plan.loss_chunk_tokens);
    return static_cast<int32_t>((tokens - 1) / size + 1);
  }
  StageKind FirstStage() const {
    return table_.stages[table_.PiecesOf(chunk()).front().stage].kind;
  }
  bool SumsOnDevice() const {
    return schedule_.plan.accumulation_order == AccumulationOrder::kChunkMajor &&
           accumulation() > 1;
  }
  Bytes LeavingBytes() const { return (SumsOnDevice() ? 4_B : each_.gradient) * chunk().trained; }
  int32_t FullContributions() const { return accumulation() * (tied_table() ? 2 : 1); }
  // The operation adds its part to the content, which already has `done` parts.
  void Continues(Content content, int32_t done, Places places) {
    content.n = done;
    if (done > 0) Reads(content, places);
    content.n = done + 1;
    Writes(content, places);
  }

  // Whether a chunk has matrices of an attention stage (`any`), and whether the output matrix is
  // one of them (`last`): the operation of that shard computes the attention itself.
  struct Attention {
    bool any = false;
    bool last = false;
  };

  // Whether a tensor of a stage before `group` is trained; groups() stands for the head.
  bool TrainsBefore(int32_t group) const { return trains_before_[group] != 0; }
  bool TrainsIn(int32_t group) const;

  // The routers of experts in the chunks before, and in this chunk.
  int32_t RoutersBefore() const { return op_->chunk == 0 ? 0 : routers_up_to_[op_->chunk - 1]; }
  int32_t RoutersHere() const { return routers_up_to_[op_->chunk] - RoutersBefore(); }
  Content RouterSums(int32_t routers) const {
    return {ContentKind::kRouterSums, -1, op_->micro_batch, routers};
  }

  const ChunkTable& table_;
  const ParameterBytes each_;
  int32_t routers_ = 0;
  std::vector<int32_t> routers_up_to_;  // by chunk, those in it included
  std::vector<Attention> attention_;    // by chunk
  std::vector<char> trains_before_;     // by chunk group, then the head
};

}  // namespace horizon

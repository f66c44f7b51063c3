#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "schedule/chunk_table.h"
#include "schedule/schedule.h"
#include "schedule/verify/operation_view.h"

namespace horizon {

// What each kind of operation has to touch, and how many bytes it moves: the model's own rules,
// written down a second time, apart from the builder. Part of VerifyMeaning.
class OperationRules : private OperationView {
 public:
  OperationRules(const Schedule& schedule, const Phase& phase);

  // Of the phase it was made for. Internal, naming the operation, where a rule is broken.
  absl::Status Check(const Operation& op);

 private:
  bool resident() const { return schedule_.plan.strategy == Strategy::kResident; }
  bool reference() const { return schedule_.plan.strategy == Strategy::kReference; }
  bool tied_table() const { return table_.tied && table_.embedding.contains(op_->chunk); }
  const Chunk& chunk() const { return table_.chunks[op_->chunk]; }
  int32_t links() const { return static_cast<int32_t>(table_.links.size()); }
  int32_t accumulation() const { return static_cast<int32_t>(schedule_.job.accumulation); }

  // operation_rules.cc
  void CheckLane();
  // A copy over the link goes from pinned memory to the device or back, and fits where it lands.
  void CheckCopy();
  void CheckKind();
  // Nothing writes the weights of a frozen chunk.
  void CheckFrozen();

  // operation_rules_compute.cc
  void ReadsOwnWeights();
  void CheckEmbedding();
  void CheckLoad();
  void CheckCache();
  // What all passes over the layers need beside weights and hidden states. A shard takes over what
  // the `done` shards before it left in the workspace, and hands it on.
  void CheckLayerMemory(ContentKind handed_on, int32_t done);
  void CheckForward();
  void CheckAnchor();
  void CheckLogits();  // of the last token of each row, which the tokens tell
  void CheckHead();
  void CheckBackward();

  // operation_rules_gradients.cc
  void CheckGradientWritten();
  void CheckOffload();
  // Which slabs the gradient leaves through: only `horizon` moves its tables like layers.
  BufferKind Slab() const;
  // A contribution is added to the sum so far, and the sum grows by what came.
  void CheckContribution();
  void CheckNorm();
  void CheckAdam();
  // An update on a device that works later tells there what it could not hold.
  void CheckFaults();

  Content Hidden(int32_t link, int32_t parts) const {
    return {ContentKind::kHidden, link, op_->micro_batch, parts};
  }
  Content HiddenGradient(int32_t link, int32_t parts) const {
    return {ContentKind::kHiddenGradient, link, op_->micro_batch, parts};
  }
  // Shards of the embedding that add up to the hidden state entering `link`.
  int32_t PartsBefore(int32_t link) const {
    if (link > 0) return 1;
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
  // The operation adds its part to the content, after the `done` parts that are there already.
  void Continues(Content content, int32_t done, Places places) {
    content.n = done;
    if (done > 0) Reads(content, places);
    content.n = done + 1;
    Writes(content, places);
  }

  // Whether a chunk has matrices of an attention stage, and whether the output matrix, whose
  // operation computes the attention itself, is among them.
  struct Attention {
    bool any = false;
    bool last = false;
  };

  // A tensor of an earlier stage than those of `link` is trained; links() asks for the head.
  bool TrainsBefore(int32_t link) const { return trains_before_[link] != 0; }
  bool TrainsIn(int32_t link) const;

  const ChunkTable& table_;
  const ParameterBytes each_;
  std::vector<Attention> attention_;  // by chunk
  std::vector<char> trains_before_;   // by link, then the head
};

}  // namespace horizon

#include "schedule/build/compute_order.h"

#include <algorithm>

#include "schedule/lay_out_memory.h"

namespace horizon {
namespace {

// Collects the items of one order.
class OrderBuilder {
 public:
  OrderBuilder(const ChunkTable& chunks, const TrainingJob& job, const StreamPlan& plan)
      : chunks_(chunks),
        job_(job),
        plan_(plan),
        micro_batches_(static_cast<int32_t>(job.accumulation)),
        parts_(LossParts(job, plan)) {}

  std::vector<ComputeItem> BatchMajor() {
    Fetch(0);
    for (int32_t mb = 0; mb < micro_batches_; ++mb) {
      ForwardThrough({mb, mb + 1});
      Turn({mb, mb + 1});
      BackwardThrough({mb, mb + 1});
    }
    return std::move(items_);
  }

  std::vector<ComputeItem> ChunkMajor() {
    const IndexRange all{0, micro_batches_};
    for (int32_t mb = 0; mb < micro_batches_; ++mb) Fetch(mb);
    ForwardThrough(all);
    Turn(all);
    BackwardThrough(all);
    return std::move(items_);
  }

  std::vector<ComputeItem> Reference() {
    Fetch(0);
    for (int32_t mb = 0; mb < micro_batches_; ++mb) {
      ForwardThrough({mb, mb + 1});
      Turn({mb, mb + 1});
      for (size_t b = chunks_.recompute_blocks.size(); b-- > 0;) {
        const IndexRange block = chunks_.recompute_blocks[b].chunks;
        for (int32_t c = block.begin; c < block.end; ++c) {
          Add(OperationKind::kRecompute, c, mb, 0);
        }
        for (int32_t c = block.end - 1; c >= block.begin; --c) {
          Add(OperationKind::kRecompute, c, mb, 1);
          Add(OperationKind::kBackward, c, mb);
        }
      }
      EmbeddingBackward({mb, mb + 1});
    }
    return std::move(items_);
  }

  std::vector<ComputeItem> ForwardOnly(PassKind kind) {
    const IndexRange one{0, 1};
    Fetch(0);
    ForwardThrough(one);
    for (int32_t c = chunks_.head.begin; c < chunks_.head.end; ++c) {
      if (kind == PassKind::kEvaluate) {
        LossChunks(OperationKind::kLogSumExp, c, 0);
      } else {
        Add(OperationKind::kLogits, c, 0);
      }
    }
    return std::move(items_);
  }

 private:
  void Add(OperationKind kind, int32_t chunk, int32_t mb, int32_t part = -1) {
    items_.push_back({.kind = kind, .chunk = chunk, .micro_batch = mb, .part = part});
  }
  void Fetch(int32_t mb) {
    if (mb < micro_batches_) Add(OperationKind::kNextBatch, -1, mb);
  }
  void LossChunks(OperationKind kind, int32_t chunk, int32_t mb) {
    for (int32_t part = 0; part < parts_; ++part) Add(kind, chunk, mb, part);
  }

  void ForwardThrough(IndexRange mbs) {
    const bool on_host = plan_.embedding_home == EmbeddingHome::kHost;
    const IndexRange table = on_host ? IndexRange{-1, 0} : chunks_.embedding;
    for (int32_t c = table.begin; c < table.end; ++c) {
      for (int32_t mb = mbs.begin; mb < mbs.end; ++mb) Add(OperationKind::kEmbed, c, mb);
    }
    for (const IndexRange& group : chunks_.groups) {
      for (int32_t mb = mbs.begin; mb < mbs.end; ++mb) {
        for (int32_t c = group.begin; c < group.end; ++c) Add(OperationKind::kForward, c, mb);
      }
    }
  }

  // The turn from forward to backward: the loss of all `mbs`, with the gradients of the head and of
  // the last hidden state that are needed. The next micro-batch is fetched here, so that it is
  // ready when the backward of this one has ended.
  void Turn(IndexRange mbs) {
    Fetch(mbs.end);
    if (chunks_.head.size() > 1) {  // log-sum-exp needs all shards before the first gradient
      for (int32_t c = chunks_.head.begin; c < chunks_.head.end; ++c) {
        for (int32_t mb = mbs.begin; mb < mbs.end; ++mb) {
          LossChunks(OperationKind::kLogSumExp, c, mb);
        }
      }
    }
    for (int32_t c = chunks_.head.begin; c < chunks_.head.end; ++c) {
      for (int32_t mb = mbs.begin; mb < mbs.end; ++mb) {
        LossChunks(OperationKind::kLoss, c, mb);
        if (!chunks_.chunks[c].frozen()) Add(OperationKind::kHeadGradient, c, mb);
      }
    }
  }

  void BackwardThrough(IndexRange mbs) {
    for (int32_t b = static_cast<int32_t>(chunks_.recompute_blocks.size()) - 1; b >= 0; --b) {
      if (plan_.recompute) {
        BackwardThroughBlock(b, mbs);
      } else {
        BackwardThroughGroups(chunks_.recompute_blocks[b].groups, mbs);
      }
    }
    EmbeddingBackward(mbs);
  }

  // One micro-batch after another, since activations of a recompute block exist for one at a time.
  void BackwardThroughBlock(int32_t b, IndexRange mbs) {
    const RecomputeBlock& block = chunks_.recompute_blocks[b];
    for (int32_t mb = mbs.begin; mb < mbs.end; ++mb) {
      if (!ForwardKeepsActivations(chunks_, job_, plan_, mbs.size(), b)) {
        for (int32_t c = block.chunks.begin; c < block.chunks.end; ++c) {
          Add(OperationKind::kRecompute, c, mb);
        }
      }
      BackwardThroughGroups(block.groups, {mb, mb + 1});
    }
  }

  // Takes all `mbs` through each chunk group while it is loaded, its shards from the last.
  void BackwardThroughGroups(IndexRange groups, IndexRange mbs) {
    for (int32_t group = groups.end - 1; group >= groups.begin; --group) {
      const IndexRange& shards = chunks_.groups[group];
      for (int32_t mb = mbs.begin; mb < mbs.end; ++mb) {
        for (int32_t c = shards.end - 1; c >= shards.begin; --c) {
          Add(OperationKind::kBackward, c, mb);
        }
      }
    }
  }

  void EmbeddingBackward(IndexRange mbs) {
    if (chunks_.chunks[chunks_.embedding.begin].frozen()) return;
    const bool on_host = plan_.embedding_home == EmbeddingHome::kHost;
    const IndexRange table = on_host ? IndexRange{-1, 0} : chunks_.embedding;
    for (int32_t c = table.begin; c < table.end; ++c) {
      for (int32_t mb = mbs.begin; mb < mbs.end; ++mb) Add(OperationKind::kEmbedBackward, c, mb);
    }
  }

  const ChunkTable& chunks_;
  const TrainingJob& job_;
  const StreamPlan& plan_;
  const int32_t micro_batches_;
  const int32_t parts_;
  std::vector<ComputeItem> items_;
};

}  // namespace

std::vector<ComputeItem> TrainOrder(const ChunkTable& chunks, const TrainingJob& job,
                                    const StreamPlan& plan) {
  OrderBuilder order(chunks, job, plan);
  return plan.accumulation_order == AccumulationOrder::kChunkMajor ? order.ChunkMajor()
                                                                   : order.BatchMajor();
}

std::vector<ComputeItem> ReferenceOrder(const ChunkTable& chunks, const TrainingJob& job,
                                        const StreamPlan& plan) {
  return OrderBuilder(chunks, job, plan).Reference();
}

std::vector<ComputeItem> ForwardOrder(const ChunkTable& chunks, const TrainingJob& job,
                                      const StreamPlan& plan, PassKind kind) {
  TrainingJob one = job;
  one.accumulation = 1;
  return OrderBuilder(chunks, one, plan).ForwardOnly(kind);
}

int32_t LossParts(const TrainingJob& job, const StreamPlan& plan) {
  const int64_t tokens = job.micro_batch_tokens();
  const int64_t chunk = std::min(plan.loss_chunk_tokens, tokens);
  return static_cast<int32_t>((tokens + chunk - 1) / chunk);
}

}  // namespace horizon

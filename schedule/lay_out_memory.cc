#include "schedule/lay_out_memory.h"

#include <algorithm>
#include <array>
#include <utility>

#include "common/checked.h"
#include "common/kernel_context.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/rotary_tables.h"
#include "model/stage_memory.h"
#include "model/stage_work.h"
#include "model/stages.h"
#include "schedule/chunk_tensors.h"
#include "schedule/cuda_scratch.h"
#include "schedule/strategy_rules.h"

namespace horizon {
namespace {

// Adds the buffers of a pass one after another, each behind the last one of its memory.
class LayoutBuilder {
 public:
  enum class Result { kBuffers, kTotals };  // kTotals: the buffers are counted and not listed

  LayoutBuilder(const ModelSpec& spec, const TrainingJob& job, const StreamPlan& plan,
                const ChunkTable& chunks, PassKind kind, Result result = Result::kBuffers)
      : lists_buffers_(result == Result::kBuffers),
        spec_(spec),
        job_(job),
        plan_(plan),
        chunks_(chunks),
        kind_(kind),
        rules_(RulesOf(job, plan)),
        each_(BytesOfParameter(job)),
        activation_(ActivationBytes(job)) {
    batch_ = {.batch = job.micro_batch, .sequence = kind == PassKind::kDecode ? 1 : job.sequence};
    hidden_bytes_ =
        CheckedU64::FromSigned(batch_.tokens()) * CheckedU64::FromSigned(spec.hidden) * activation_;
    if (kind == PassKind::kTrain && plan.accumulation_order == AccumulationOrder::kChunkMajor) {
      map_.in_flight = static_cast<int32_t>(job.accumulation);
    }
  }

  absl::StatusOr<LaidOutBuffers> Build() {
    RETURN_IF_ERROR(CheckCounts());
    AddWeights();
    AddFrameworkCopies();
    AddStreaming();
    AddInputs();
    AddHead();
    AddWorkspace();
    if (kind_ == PassKind::kTrain) {
      AddMoments();
      AddGradients();
      AddAnchors();
      AddActivations();
    }
    if (kind_ == PassKind::kPrefill || kind_ == PassKind::kDecode) AddKvCache();
    if (overflowed_) {
      return absl::FailedPreconditionError(
          StrCat("the buffers of ", spec_.name, " with micro_batch ", job_.micro_batch,
                 " x sequence ", job_.sequence, " pass 2^63 bytes: lower micro_batch or sequence"));
    }
    return LaidOutBuffers{std::move(memory_), std::move(map_)};
  }

 private:
  int32_t chunk_count() const { return static_cast<int32_t>(chunks_.chunks.size()); }
  // A pass without gradients takes one batch a step.
  int64_t micro_batches() const { return kind_ == PassKind::kTrain ? job_.accumulation : 1; }
  uint64_t parameters(int32_t chunk) const { return chunks_.chunks[chunk].parameters; }
  uint64_t trained(int32_t chunk) const { return chunks_.chunks[chunk].trained; }
  int32_t group_count() const { return static_cast<int32_t>(chunks_.groups.size()); }

  // Refuses, before anything is allocated, what would make tens of millions of operations.
  absl::Status CheckCounts() const {
    constexpr uint64_t kMostPasses = 4'000'000;
    const CheckedU64 loss_parts =
        CheckedU64::FromSigned((batch_.tokens() - 1) / plan_.loss_chunk_tokens + 1);
    const CheckedU64 passes = (CheckedU64(chunks_.chunks.size()) +
                               loss_parts * static_cast<uint64_t>(chunks_.head.size())) *
                              CheckedU64::FromSigned(micro_batches());
    if (!passes.ok() || passes.value() > kMostPasses) {
      return absl::FailedPreconditionError(
          StrCat("a step of ", chunks_.chunks.size(), " chunks, ", job_.accumulation,
                 " micro-batches and ", loss_parts.value(), " loss chunks has more than ",
                 WithCommas(kMostPasses),
                 " passes: lower accumulation, or raise chunk_bytes or loss_chunk_tokens"));
    }
    const CheckedU64 flops = CheckedU64(16) * chunks_.parameters *
                             CheckedU64::FromSigned(batch_.tokens()) *
                             CheckedU64::FromSigned(job_.accumulation);
    const CheckedU64 pairs = CheckedU64(64) * CheckedU64::FromSigned(batch_.tokens()) *
                             CheckedU64::FromSigned(job_.sequence) *
                             CheckedU64::FromSigned(spec_.heads) *
                             CheckedU64::FromSigned(spec_.head_dim);
    if (!flops.ok() || !pairs.ok() || chunks_.parameters >= uint64_t{1} << 56) {
      return absl::FailedPreconditionError(
          StrCat("a step of ", spec_.name, " with micro_batch ", job_.micro_batch, " x sequence ",
                 job_.sequence, " x accumulation ", job_.accumulation,
                 " has more work than 64-bit counts hold: lower one of them"));
    }
    return absl::OkStatus();
  }

  BufferId Add(BufferKind kind, Memory memory, int32_t index, Bytes bytes) {
    Bytes& end = memory_.totals[static_cast<size_t>(memory)];
    const Bytes offset = end.RoundedUp(kBufferAlignment);
    const Bytes next = offset + bytes;
    if (!next.ok() || next.value() >= uint64_t{1} << 63) {
      overflowed_ = true;
      return 0;
    }
    end = next;
    if (!lists_buffers_) return 0;
    memory_.buffers.push_back(
        {.kind = kind, .memory = memory, .index = index, .offset = offset.value(), .bytes = bytes});
    return static_cast<BufferId>(memory_.buffers.size()) - 1;
  }

  void AddPool(std::vector<BufferId>& pool, BufferKind kind, Memory memory, int64_t count,
               Bytes bytes) {
    for (int64_t i = 0; i < count && !overflowed_; ++i) {
      const BufferId buffer = Add(kind, memory, static_cast<int32_t>(i), bytes);
      if (lists_buffers_) pool.push_back(buffer);
    }
  }

  // Adds one buffer for each chunk for which `bytes` returns more than 0.
  template <typename Size>
  void AddPerChunk(std::vector<BufferId>& buffers, BufferKind kind, Memory memory, Size bytes) {
    if (lists_buffers_) buffers.assign(chunk_count(), -1);
    for (int32_t c = 0; c < chunk_count() && !overflowed_; ++c) {
      const Bytes size = bytes(c);
      if (size == 0_B) continue;
      const BufferId buffer = Add(kind, memory, c, size);
      if (lists_buffers_) buffers[c] = buffer;
    }
  }

  void AddWeights() {
    const bool loads_low = job_.compute_type == NumberType::kFp32;
    const bool updates = kind_ == PassKind::kTrain;
    // Where a copy on the device is what compute reads, the halves are for updates alone.
    const auto is_kept = [&](int32_t c) {
      return !rules_.all_on_device || each_.slot == 2_B || (updates && trained(c) > 0);
    };
    AddPerChunk(map_.weights_hi, BufferKind::kWeightsHi, rules_.weights,
                [&](int32_t c) { return (is_kept(c) ? 2_B : 0_B) * parameters(c); });
    AddPerChunk(map_.weights_lo, BufferKind::kWeightsLo, loads_low ? rules_.weights : rules_.state,
                [&](int32_t c) {
                  const uint64_t halves = loads_low ? parameters(c) : updates ? trained(c) : 0;
                  return (is_kept(c) ? each_.low_half : 0_B) * halves;
                });
  }

  void AddMoments() {
    AddPerChunk(map_.moments, BufferKind::kMoments, rules_.state, [&](int32_t c) {
      return MomentBytes(job_.state_format, trained(c), chunks_.chunks[c].moment_blocks);
    });
  }

  void AddFrameworkCopies() {
    AddPerChunk(map_.framework_copy, BufferKind::kFrameworkCopy, Memory::kPinned,
                [&](int32_t c) { return rules_.framework_bytes * parameters(c); });
  }

  void AddStreaming() {
    // The high half is what compute reads.
    const bool in_place = rules_.all_on_device && each_.slot == 2_B;
    AddPerChunk(map_.resident_weights, BufferKind::kResidentWeights, Memory::kDevice,
                [&](int32_t c) {
                  const bool held =
                      chunks_.chunks[c].resident && !in_place && IsUsedOnDevice(chunks_, plan_, c);
                  return (held ? each_.slot : 0_B) * parameters(c);
                });
    uint64_t largest = 0;
    int64_t streamed = 0;
    for (int32_t c = 0; c < chunk_count(); ++c) {
      if (!chunks_.chunks[c].resident && IsUsedOnDevice(chunks_, plan_, c)) {
        largest = std::max(largest, parameters(c));
        ++streamed;
      }
    }
    const int64_t depth = std::min(plan_.buffer_depth, streamed);
    AddPool(map_.ring, BufferKind::kRingSlot, Memory::kDevice, depth, largest * each_.slot);
    if (rules_.packs_before_loading) {
      AddPool(map_.staging_buffers, BufferKind::kStagingBuffer, Memory::kPinned, depth,
              largest * each_.link);
    }
  }

  void AddInputs() {
    const CheckedU64 tokens = CheckedU64::FromSigned(batch_.tokens());
    const bool train = kind_ == PassKind::kTrain;
    // Two, so that the next micro-batch is fetched while one is under way.
    const int64_t staged =
        std::max<int64_t>(map_.in_flight, train && job_.accumulation > 1 ? 2 : 1);
    AddPool(map_.tokens_pinned, BufferKind::kTokensPinned, Memory::kPinned, staged,
            tokens * kTokenBytes);
    const bool on_host = plan_.embedding_home == EmbeddingHome::kHost;
    AddPool(map_.tokens, BufferKind::kTokens, Memory::kDevice, staged, tokens * kTokenBytes);
    if (on_host) {
      AddPool(map_.embedding_rows, BufferKind::kEmbeddingRows, Memory::kPinned, staged,
              hidden_bytes_);
      if (train && trained(chunks_.embedding.begin) > 0) {
        AddPool(map_.row_gradients, BufferKind::kRowGradients, Memory::kPinned, staged,
                hidden_bytes_);
      }
    }
    PlaceHiddenStates();
    AddPool(map_.residuals, BufferKind::kResidual, Memory::kDevice,
            static_cast<int64_t>(map_.residuals_each) * map_.in_flight, hidden_bytes_);
  }

  // A hidden state that enters a recompute block is written straight into the activation checkpoint
  // where that is on the device; the others take two residual buffers in turn.
  void PlaceHiddenStates() {
    map_.hidden_place.assign(group_count() + 1, 0);
    if (kind_ == PassKind::kTrain && plan_.anchor_home == AnchorHome::kDevice) {
      for (size_t b = 0; b < chunks_.recompute_blocks.size(); ++b) {
        if (ForwardKeepsActivations(chunks_, job_, plan_, map_.in_flight, static_cast<int32_t>(b)))
          continue;
        map_.hidden_place[chunks_.recompute_blocks[b].groups.begin] = BufferMap::kInAnchor;
      }
    }
    int32_t residuals = 0;
    for (int32_t& place : map_.hidden_place) {
      if (place != BufferMap::kInAnchor) place = residuals++ % 2;
    }
    map_.residuals_each = std::min(residuals, 2);
  }

  void AddHead() {
    int64_t rows = 0;
    uint64_t largest = 0;
    for (int32_t c = chunks_.head.begin; c < chunks_.head.end; ++c) {
      const UnitRange units = chunks_.PiecesOf(chunks_.chunks[c]).front().units;
      rows = std::max(rows, units.end - units.begin);
      largest = std::max(largest, trained(c));
    }
    const Bytes fp32 = 4_B;
    const CheckedU64 tokens = CheckedU64::FromSigned(batch_.tokens());
    if (kind_ == PassKind::kPrefill || kind_ == PassKind::kDecode) {
      const Bytes all = fp32 * CheckedU64::FromSigned(job_.micro_batch) *
                        CheckedU64::FromSigned(LogitStride(job_.device, spec_.vocab));
      map_.logits = Add(BufferKind::kLogits, Memory::kDevice, 0, all);
      map_.logits_pinned = Add(BufferKind::kLogitsPinned, Memory::kPinned, 0, all);
      return;
    }
    const int64_t chunk_tokens = std::min(plan_.loss_chunk_tokens, batch_.tokens());
    // A head in one piece has the sums of its tokens beside their logits.
    const CheckedU64 stride = CheckedU64::FromSigned(LogitStride(job_.device, rows));
    map_.logits = Add(BufferKind::kLogits, Memory::kDevice, 0,
                      CheckedU64::FromSigned(chunk_tokens) * (fp32 * stride + kTokenSumBytes));
    const bool train = kind_ == PassKind::kTrain;
    if (!train || chunks_.head.size() > 1) {
      AddPool(map_.log_sum_exp, BufferKind::kLogSumExp, Memory::kDevice, map_.in_flight,
              tokens * kTokenSumBytes);
    }
    if (train) {
      AddPool(map_.losses, BufferKind::kLoss, Memory::kDevice, map_.in_flight, kLossBytes);
      if (largest > 0) {
        map_.head_gradient = Add(BufferKind::kHeadGradient, Memory::kDevice, 0, fp32 * largest);
      }
      if (activation_ < 4_B && chunks_.head.size() > 1 &&
          chunks_.NeedsHiddenGradient(group_count())) {
        AddPool(map_.head_input_sums, BufferKind::kHeadInputSum, Memory::kDevice, map_.in_flight,
                fp32 * tokens * CheckedU64::FromSigned(spec_.hidden));
      }
    }
    if (train && chunks_.routers > 0) {
      const Bytes sums = RouterSumsBytes(chunks_);
      AddPool(map_.router_sums, BufferKind::kRouterSums, Memory::kDevice, map_.in_flight, sums);
      AddPool(map_.router_sums_pinned, BufferKind::kRouterSumsPinned, Memory::kPinned,
              job_.accumulation, sums);
    }
    // Training returns the sum of a micro-batch, evaluation the loss of each token.
    AddPool(map_.loss_pinned, BufferKind::kLossPinned, Memory::kPinned,
            train ? job_.accumulation : 1, train ? kLossBytes : tokens * kTokenSumBytes);
  }

  void AddWorkspace() {
    Bytes largest = 1_B;
    for (const KindInUse& use : KindsOfStages()) {
      const PassesOver passes = kind_ == PassKind::kTrain && use.differentiated
                                    ? PassesOver::kTraining
                                    : PassesOver::kForwardOnly;
      largest = std::max(largest, WorkspaceBytes(spec_, use.kind, batch_, activation_, passes,
                                                 StageOptionsOf(job_, plan_, chunks_)));
    }
    map_.workspace = Add(BufferKind::kWorkspace, Memory::kDevice, 0, largest);
    const Bytes scratch =
        job_.device == DeviceKind::kHost
            ? CheckedU64::FromSigned(plan_.compute_threads) * Bytes(kWorkerScratchBytes)
            : CudaScratchBytes(spec_, job_, plan_, chunks_, batch_);
    map_.tile_scratch = Add(BufferKind::kTileScratch, Memory::kDevice, 0, scratch);
    map_.rotary_table = Add(BufferKind::kRotaryTable, Memory::kDevice, 0,
                            4_B * CheckedU64::FromSigned(job_.sequence) *
                                CheckedU64::FromSigned(RotaryTablesWidth(spec_)));
  }

  void AddGradients() {
    // Each chunk group reads one and writes one for the group before it, so two take turns.
    int32_t hidden_gradients = 0;
    for (int32_t group = chunks_.first_differentiated_group; group <= group_count(); ++group) {
      hidden_gradients += chunks_.NeedsHiddenGradient(group) ? 1 : 0;
    }
    map_.residual_gradients_each = std::min(hidden_gradients, 2);
    AddPool(map_.residual_gradients, BufferKind::kResidualGradient, Memory::kDevice,
            int64_t{map_.residual_gradients_each} * map_.in_flight, hidden_bytes_);
    AddLeavingGradients();
    AddPerChunk(map_.kept_gradient, BufferKind::kKeptGradient, rules_.kept_gradients,
                [&](int32_t c) {
                  const bool kept = KeepsGradient(chunks_, job_, plan_, c);
                  return (kept ? each_.kept_gradient : 0_B) * trained(c);
                });
    const bool two_sums = chunks_.tied && job_.accumulation > 1;
    AddPerChunk(map_.embedding_gradient, BufferKind::kEmbeddingGradient, rules_.state,
                [&](int32_t c) {
                  return (two_sums && chunks_.embedding.contains(c) ? 4_B : 0_B) * trained(c);
                });
    const auto partials = [&](int32_t c) { return 8_B * chunks_.chunks[c].norm_blocks; };
    AddPerChunk(map_.norm_partials, BufferKind::kNormPartials, rules_.norm_partials, partials);
    // The host takes the clip factor from these, wherever they were made.
    map_.norm_partials_on_host = map_.norm_partials;
    if (rules_.norm_partials == Memory::kDevice) {
      AddPerChunk(map_.norm_partials_on_host, BufferKind::kNormPartialsPinned, Memory::kPinned,
                  partials);
    }
    const auto faults = [&](int32_t c) {
      return rules_.update_faults_come_late ? 8_B * TrainedSlicesOf(chunks_, c) : 0_B;
    };
    AddPerChunk(map_.update_faults, BufferKind::kUpdateFaults, Memory::kDevice, faults);
    AddPerChunk(map_.update_faults_pinned, BufferKind::kUpdateFaultsPinned, Memory::kPinned,
                faults);
    map_.clip_factor = Add(BufferKind::kClipFactor, Memory::kHost, 0, kClipFactorBytes);
  }

  // Adds the buffers in which gradients wait on the device, and the slabs they leave through.
  void AddLeavingGradients() {
    struct Leaving {
      uint64_t largest = 0;
      int64_t count = 0;  // in a step
    };
    // Where embedding and head have gradient slabs of their own, the pool is for layers alone.
    const auto has_table_slab = [&](int32_t c) {
      return rules_.table_slabs && !chunks_.layers.contains(c);
    };
    Leaving all;
    Leaving pooled;  // without those that have a slab of their own
    const bool summed = SummedOnDevice(job_, plan_) > 1;
    const auto add = [&](Leaving& leaving, int32_t c) {
      leaving.largest = std::max(leaving.largest, trained(c));
      leaving.count += summed ? 1 : job_.accumulation;
    };
    for (int32_t c = 0; c < chunk_count(); ++c) {
      if (trained(c) == 0 || !IsUsedOnDevice(chunks_, plan_, c)) continue;
      add(all, c);
      if (!has_table_slab(c)) add(pooled, c);
    }
    const Bytes each = summed ? 4_B : each_.gradient;
    // The sums of a recompute block stay until its last micro-batch; one more buffer lets the next
    // block start.
    const int64_t on_device =
        summed ? chunks_.LargestRecomputeBlock() + 1
               : (rules_.gradients_leave ? std::min<int64_t>(2, plan_.gradient_slabs) : 1);
    AddPool(map_.gradients, BufferKind::kGradient, Memory::kDevice, std::min(on_device, all.count),
            each * all.largest);
    if (!rules_.gradients_leave) return;
    AddPool(map_.gradient_slabs, BufferKind::kGradientSlab, Memory::kPinned,
            std::min(plan_.gradient_slabs, pooled.count), each * pooled.largest);
    AddPerChunk(map_.table_slabs, BufferKind::kTableSlab, Memory::kPinned, [&](int32_t c) {
      return (has_table_slab(c) && IsUsedOnDevice(chunks_, plan_, c) ? each : 0_B) * trained(c);
    });
  }

  void AddAnchors() {
    if (!plan_.recompute) return;
    const int32_t blocks = static_cast<int32_t>(chunks_.recompute_blocks.size());
    const bool on_host = plan_.anchor_home == AnchorHome::kHost;
    map_.anchors.assign(static_cast<size_t>(blocks) * map_.in_flight, -1);
    int64_t anchored = 0;
    for (int32_t i = 0; i < blocks * map_.in_flight && !overflowed_; ++i) {
      if (ForwardKeepsActivations(chunks_, job_, plan_, map_.in_flight, i / map_.in_flight))
        continue;
      map_.anchors[i] =
          Add(BufferKind::kAnchor, on_host ? Memory::kPinned : Memory::kDevice, i, hidden_bytes_);
      ++anchored;
    }
    // The published system keeps the inputs of a block's layers while it recomputes them.
    const int64_t stages = rules_.recomputes_layer_by_layer ? chunks_.LargestRecomputeBlock()
                           : on_host                        ? std::min<int64_t>(2, anchored)
                                                            : 0;
    AddPool(map_.anchor_stages, BufferKind::kAnchorStage, Memory::kDevice, stages, hidden_bytes_);
  }

  // Every stage's part begins at a multiple of kActivationAlignment. A stage in shards also keeps
  // the weights of its norm: backward needs them before it comes to the shard that has them.
  Bytes KeptBytesOf(int32_t group) const {
    const Chunk& first = chunks_.chunks[chunks_.groups[group].begin];
    Bytes bytes;
    for (const ChunkPiece& piece : chunks_.PiecesOf(first)) {
      const Stage& stage = chunks_.stages[piece.stage];
      bytes += kept_bytes_[static_cast<size_t>(stage.kind)].RoundedUp(kActivationAlignment);
    }
    if (first.shards > 1 && spec_.norm_before()) {
      bytes += CheckedU64::FromSigned(spec_.hidden) * each_.slot;
    }
    return bytes;
  }

  // The arrays of a stage follow from its kind.
  struct KindInUse {
    StageKind kind;
    bool differentiated = false;  // some stage of the kind is
  };
  std::vector<KindInUse> KindsOfStages() const {
    std::vector<KindInUse> kinds;
    for (const Stage& stage : chunks_.stages) {
      auto known = std::find_if(kinds.begin(), kinds.end(),
                                [&](const KindInUse& use) { return use.kind == stage.kind; });
      if (known == kinds.end()) known = kinds.insert(known, {.kind = stage.kind});
      known->differentiated |= stage.is_differentiated();
    }
    return kinds;
  }

  void AddActivations() {
    for (const KindInUse& use : KindsOfStages()) {
      kept_bytes_[static_cast<size_t>(use.kind)] = KeptActivationBytes(
          spec_, use.kind, batch_, activation_, StageOptionsOf(job_, plan_, chunks_));
    }
    std::vector<Bytes> sizes;
    const auto enlarge = [&](size_t place, Bytes bytes) {
      if (sizes.size() <= place) sizes.resize(place + 1);
      sizes[place] = std::max(sizes[place], bytes);
    };
    for (int32_t group = chunks_.first_differentiated_group; group < group_count(); ++group) {
      const Bytes bytes = KeptBytesOf(group);
      if (!plan_.recompute) {
        sizes.insert(sizes.end(), map_.in_flight, bytes);
      } else if (rules_.recomputes_layer_by_layer) {
        enlarge(0, bytes);  // one layer at a time
      } else {
        const int32_t block = chunks_.chunks[chunks_.groups[group].begin].recompute_block;
        enlarge(static_cast<size_t>(group - chunks_.recompute_blocks[block].groups.begin), bytes);
      }
    }
    for (const Bytes size : sizes) {
      if (overflowed_) return;
      map_.activations.push_back(Add(BufferKind::kActivations, Memory::kDevice,
                                     static_cast<int32_t>(map_.activations.size()), size));
    }
  }

  // Where a stage is cut into shards, the shard that computes the attention has the cache.
  void AddKvCache() {
    AddPerChunk(map_.kv_cache, BufferKind::kKvCache, Memory::kDevice, [&](int32_t c) {
      Bytes bytes;
      for (const ChunkPiece& piece : chunks_.PiecesOf(chunks_.chunks[c])) {
        const Stage& stage = chunks_.stages[piece.stage];
        if (stage.kind != StageKind::kAttention || piece.units.end != stage.units) continue;
        const int64_t window = spec_.layers[stage.layer].sliding_window;
        const int64_t positions = window > 0 ? std::min(window, job_.sequence) : job_.sequence;
        bytes += CheckedU64(2) * CheckedU64::FromSigned(job_.micro_batch) *
                 CheckedU64::FromSigned(positions) * CheckedU64::FromSigned(spec_.head_dim) *
                 CheckedU64::FromSigned(spec_.kv_heads) * activation_;
      }
      return bytes;
    });
  }

  const bool lists_buffers_;
  const ModelSpec& spec_;
  const TrainingJob& job_;
  const StreamPlan& plan_;
  const ChunkTable& chunks_;
  const PassKind kind_;
  const StrategyRules rules_;
  const ParameterBytes each_;
  const Bytes activation_;
  TokenBatch batch_;
  Bytes hidden_bytes_;
  MemoryLayout memory_;
  BufferMap map_;
  std::array<Bytes, kStageKinds> kept_bytes_;  // of a stage, by its kind
  bool overflowed_ = false;
};

}  // namespace

bool KeepsGradient(const ChunkTable& chunks, const TrainingJob& job, const StreamPlan& plan,
                   int32_t chunk) {
  if (job.optimizer_place != OptimizerPlace::kInBackward) return true;
  // A table gathers the gradients of its rows, or of its two uses, before it is updated.
  return chunks.embedding.contains(chunk) &&
         (chunks.tied || plan.embedding_home == EmbeddingHome::kHost);
}

bool ForwardKeepsActivations(const ChunkTable& chunks, const TrainingJob& job,
                             const StreamPlan& plan, int32_t in_flight, int32_t block) {
  if (block < 0) return false;
  if (!plan.recompute) return true;
  return !RulesOf(job, plan).recomputes_layer_by_layer && in_flight == 1 &&
         block + 1 == static_cast<int32_t>(chunks.recompute_blocks.size());
}

bool IsUsedOnDevice(const ChunkTable& chunks, const StreamPlan& plan, int32_t chunk) {
  return plan.embedding_home != EmbeddingHome::kHost || !chunks.embedding.contains(chunk) ||
         chunks.tied;
}

int64_t SummedOnDevice(const TrainingJob& job, const StreamPlan& plan) {
  return plan.accumulation_order == AccumulationOrder::kChunkMajor ? job.accumulation : 1;
}

absl::StatusOr<LaidOutBuffers> LayOutBuffers(const ModelSpec& spec, const TrainingJob& job,
                                             const StreamPlan& plan, const ChunkTable& chunks,
                                             PassKind kind) {
  return LayoutBuilder(spec, job, plan, chunks, kind).Build();
}

absl::StatusOr<MemoryTotals> MeasureLayout(const ModelSpec& spec, const TrainingJob& job,
                                           const StreamPlan& plan, const ChunkTable& chunks,
                                           PassKind kind) {
  ASSIGN_OR_RETURN(
      const LaidOutBuffers laid_out,
      LayoutBuilder(spec, job, plan, chunks, kind, LayoutBuilder::Result::kTotals).Build());
  return laid_out.memory.totals;
}

absl::StatusOr<MemoryLayout> LayOutMemory(const ModelSpec& spec, const TrainingJob& job,
                                          const StreamPlan& plan, PassKind kind) {
  RETURN_IF_ERROR(ValidateSpec(spec));
  RETURN_IF_ERROR(ValidateJob(spec, job));
  RETURN_IF_ERROR(ValidatePlan(spec, job, plan));
  ASSIGN_OR_RETURN(const ChunkTable chunks, CutIntoChunks(spec, job, plan));
  ASSIGN_OR_RETURN(LaidOutBuffers laid_out, LayOutBuffers(spec, job, plan, chunks, kind));
  return std::move(laid_out.memory);
}

Bytes RouterSumsBytes(const ChunkTable& chunks) {
  return 16_B * static_cast<uint64_t>(chunks.routers) * static_cast<uint64_t>(chunks.experts);
}

}  // namespace horizon

#pragma once

#include <algorithm>
#include <bit>
#include <cstdint>
#include <span>

#include "common/check.h"
#include "common/status_macros.h"
#include "kernels/arguments/values.h"
#include "kernels/head/head_loss.h"
#include "runtime/execution/operation_bodies.h"
#include "schedule/lay_out_memory.h"

namespace horizon {

// The number type in which the device keeps the job's activations.
inline ValueType ActivationTypeOf(const TrainingJob& job) {
  return ActivationBytes(job) == 4_B ? ValueType::kFp32 : ValueType::kBf16;
}

// Runs one call of an operation. It finds the operation's buffers by what they hold:
// Reads(ContentKind::kWeights) is the access that reads weights, and At<T>(access) is its memory.
// Each private function below is the body of one kind of operation. An access that the schedule
// must have declared and has not is a CHECK.
class OperationBodies::Body {
 public:
  Body(const OperationBodies& owner, const Call& call, const KernelTable& kernels,
       const KernelContext& context)
      : o_(owner),
        call_(call),
        op_(call.operation),
        k_(kernels),
        context_(context),
        chunks_(owner.schedule_.chunks),
        job_(owner.schedule_.job),
        plan_(owner.schedule_.plan),
        decodes_(owner.schedule_.kind == PassKind::kDecode),
        sequence_(decodes_ ? 1 : job_.sequence),
        tokens_(job_.micro_batch * sequence_),
        hidden_(owner.spec_.hidden),
        activations_(ActivationTypeOf(job_)),
        weights_(owner.each_.slot == 4_B ? ValueType::kFp32 : ValueType::kBf16) {}

  absl::Status Run();

 private:
  // The operation's access of this mode and content; null where it has none. `a`: see Content; -1
  // matches any.
  const Access* Find(AccessMode mode, ContentKind kind, int32_t a = -1) const {
    for (const Access& access : call_.phase.AccessesOf(op_)) {
      if (access.mode == mode && access.content.kind == kind && (a < 0 || access.content.a == a)) {
        return &access;
      }
    }
    return nullptr;
  }
  const Access& Reads(ContentKind kind, int32_t a = -1) const {
    const Access* access = Find(AccessMode::kRead, kind, a);
    CHECK(access != nullptr);
    return *access;
  }
  const Access& Writes(ContentKind kind) const {
    const Access* access = Find(AccessMode::kWrite, kind);
    CHECK(access != nullptr);
    return *access;
  }
  std::span<std::byte> MemoryOf(const Access& access) const {
    const BufferPlace& place = o_.places_[access.buffer];
    return {place.begin, place.bytes.value()};
  }
  template <typename T>
  T* At(const Access& access) const {
    return reinterpret_cast<T*>(o_.places_[access.buffer].begin);
  }
  BufferKind KindOf(const Access& access) const {
    return o_.schedule_.memory.buffers[access.buffer].kind;
  }
  // The operation's write access to a buffer of this kind; null where it has none.
  const Access* UpdatesIn(BufferKind kind) const {
    for (const Access& access : call_.phase.AccessesOf(op_)) {
      if (access.mode == AccessMode::kWrite && KindOf(access) == kind) return &access;
    }
    return nullptr;
  }
  // Whether the operation also reads the buffer it writes, and so adds to its contents.
  bool AddsTo(const Access& written) const {
    for (const Access& access : call_.phase.AccessesOf(op_)) {
      if (access.mode == AccessMode::kRead && access.buffer == written.buffer) return true;
    }
    return false;
  }

  // The activations or weights of an access, in the number type that the device computes with.
  Values Activations(const Access& access) const { return {At<std::byte>(access), activations_}; }
  ConstValues Weights(const Access& access) const { return {At<std::byte>(access), weights_}; }

  const Chunk& chunk() const { return chunks_.chunks[op_.chunk]; }
  int64_t parameters() const { return static_cast<int64_t>(chunk().parameters); }
  int64_t trained() const { return static_cast<int64_t>(chunk().trained); }
  // The rows of the embedding or head matrix that are in chunk `c`.
  UnitRange Rows(int32_t c) const { return chunks_.PiecesOf(chunks_.chunks[c]).front().units; }
  bool SummedOnDevice() const { return horizon::SummedOnDevice(job_, plan_) > 1; }
  bool RoundsGradients() const { return job_.gradient_type == NumberType::kBf16; }
  std::span<std::byte> Workspace() const {
    const Access* workspace = UpdatesIn(BufferKind::kWorkspace);
    CHECK(workspace != nullptr);
    return MemoryOf(*workspace);
  }

  // A gradient in the number type of its buffer, on the device or the host; the other pointer is
  // null.
  struct GradientView {
    float* fp32 = nullptr;
    uint16_t* bf16 = nullptr;
  };
  GradientView GradientAt(const Access& access) const {
    Bytes bytes = o_.each_.gradient;
    if (KindOf(access) == BufferKind::kKeptGradient) {
      bytes = o_.each_.kept_gradient;
    } else if (KindOf(access) == BufferKind::kEmbeddingGradient || SummedOnDevice()) {
      bytes = 4_B;
    }
    if (bytes == 4_B) return {.fp32 = At<float>(access)};
    return {.bf16 = At<uint16_t>(access)};
  }

  // Where this operation writes the gradient of the chunk's trained parameters on the device; empty
  // for a frozen chunk.
  GradientOut GradientOfChunk() const {
    const Access* written = Find(AccessMode::kWrite, ContentKind::kGradient);
    if (written == nullptr) return {};
    const GradientView view = GradientAt(*written);
    return {.sum = view.fp32,
            .bf16 = view.bf16,
            .add = AddsTo(*written),
            .rounded = SummedOnDevice() && RoundsGradients()};
  }

  LayerShapes Shapes() const {
    const Access* rotary = Find(AccessMode::kRead, ContentKind::kRotaryTable);
    return {.spec = o_.spec_,
            .templates = o_.templates_,
            .batch = job_.micro_batch,
            .sequence = sequence_,
            .records = At<TokenRecord>(Reads(ContentKind::kTokens)),
            .rotary_tables = rotary == nullptr ? nullptr : At<float>(*rotary),
            .positions = o_.positions_,
            .kernels = k_,
            .activations = activations_,
            .decodes = decodes_};
  }

  float EmbeddingScale() const {
    const auto scale = static_cast<float>(o_.spec_.embedding_multiplier);
    const bool rounds =
        o_.spec_.embedding_multiplier_rounds && job_.compute_type == NumberType::kBf16;
    // To nearest, ties to even.
    const auto bits = std::bit_cast<uint32_t>(scale);
    const uint32_t rounded = (bits + 0x7FFF + ((bits >> 16) & 1)) & 0xFFFF0000;
    return rounds ? std::bit_cast<float>(rounded) : scale;
  }
  float LogitScale() const { return static_cast<float>(o_.spec_.logit_multiplier); }

  // How many elements the logits of one token are from those of the next.
  int64_t LogitStride(int64_t rows) const {
    return job_.device == DeviceKind::kCuda ? CudaLogitStride(rows) : rows;
  }

  // The KV cache of a stage. Its part of the chunk's cache begins `offset` values into the buffer;
  // `values` is set to its size in values.
  KvCache CacheOf(const Access& access, const Stage& stage, int64_t offset, int64_t& values) const {
    const int64_t window = o_.spec_.layers[stage.layer].sliding_window;
    KvCache cache{.batch = job_.micro_batch,
                  .places = window > 0 ? std::min(window, o_.positions_) : o_.positions_,
                  .kv_heads = o_.spec_.kv_heads,
                  .head_dim = o_.spec_.head_dim};
    const int64_t half = cache.batch * cache.places * cache.kv_heads * cache.head_dim;
    cache.k = Activations(access).From(offset);
    cache.v = cache.k.From(half);
    values = 2 * half;
    return cache;
  }

  // Whether a piece of a chunk has the router of its stage.
  bool HasRouter(const ChunkPiece& piece) const {
    return chunks_.stages[piece.stage].kind == StageKind::kExperts && piece.units.begin == 0;
  }
  // What a router chose in a micro-batch (RouterSumsBytes).
  RouterSums SumsOf(const Access& access, int32_t router) const {
    const int64_t experts = o_.spec_.experts.experts;
    std::byte* counts = At<std::byte>(access) + 16 * experts * router;
    return {.counts = reinterpret_cast<int64_t*>(counts),
            .probabilities = reinterpret_cast<double*>(counts + 8 * experts)};
  }
  // What backward of a router needs to know of the auxiliary loss; empty where there is none.
  RouterLoss LossOfRouters() const;

  absl::Status NextBatch() const;
  absl::Status Gather() const;
  absl::Status Pack() const;
  absl::Status LoadChunk() const;
  absl::Status Embed() const;
  absl::Status ForwardChunk() const;
  absl::Status BackwardChunk() const;
  absl::Status LogSumExp() const;
  absl::Status Logits() const;
  absl::Status Loss() const;
  absl::Status StoreHeadGradient() const;
  absl::Status EmbedGradient() const;
  absl::Status AccumulateGradient() const;
  absl::Status Scatter() const;
  absl::Status TiedSum() const;
  absl::Status Norm() const;
  absl::Status ClipFactor() const;
  absl::Status ClipGradient() const;
  absl::Status Adam() const;
  absl::Status CheckUpdate() const;
  absl::Status Report() const;
  void ReportNorms(StepResult& result) const;
  void ReportRouting(StepResult& result) const;

  // Where the shards of a head accumulate their input gradient in fp32, from element `first` on.
  // Null when the head is in one piece or the gradient buffer itself is the sum.
  float* HeadInputSum(int64_t first) const {
    const Access* sum = Find(AccessMode::kWrite, ContentKind::kHeadInputSum);
    return sum == nullptr ? nullptr : At<float>(*sum) + first;
  }

  HeadShape ShapeOfLossChunk() const {
    const int64_t begin = op_.part * plan_.loss_chunk_tokens;
    const UnitRange rows = Rows(op_.chunk);
    return {.tokens = std::min(plan_.loss_chunk_tokens, tokens_ - begin),
            .hidden = hidden_,
            .first_row = rows.begin,
            .rows = rows.end - rows.begin};
  }
  int64_t FirstTokenOfLossChunk() const { return op_.part * plan_.loss_chunk_tokens; }

  const OperationBodies& o_;  // the owner
  const Call& call_;
  const Operation& op_;  // the call's operation
  const KernelTable& k_;
  const KernelContext& context_;
  const ChunkTable& chunks_;
  const TrainingJob& job_;
  const StreamPlan& plan_;
  const bool decodes_;
  const int64_t sequence_;  // tokens per row in this pass: 1 when decoding
  const int64_t tokens_;    // tokens per micro-batch in this pass
  const int64_t hidden_;
  const ValueType activations_;
  const ValueType weights_;
};

}  // namespace horizon

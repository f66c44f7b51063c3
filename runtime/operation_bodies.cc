#include "runtime/operation_bodies.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>

#include "common/check.h"
#include "common/failure_source.h"
#include "common/status_macros.h"
#include "common/str_cat.h"
#include "kernels/head_loss.h"
#include "runtime/moment_layout.h"
#include "runtime/tensor_key.h"
#include "schedule/chunk_tensors.h"
#include "schedule/lay_out_memory.h"

namespace horizon {
namespace {

static_assert(sizeof(TokenRecord) == kTokenBytes);
static_assert(sizeof(TokenSums) == kTokenSumBytes);
static_assert(sizeof(LossSum) == kLossBytes);
static_assert(sizeof(ClipRecord) == kClipFactorBytes);
static_assert(kLossTileTokens == kLossTile);

}  // namespace

// One call: the accesses of its operation, looked up by what they hold.
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
        tokens_(job_.micro_batch_tokens()),
        hidden_(owner.spec_.hidden) {}

  absl::Status Run();

 private:
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
  template <typename T>
  T* At(const Access& access) const {
    return o_.memory_.As<T>(access.buffer);
  }
  BufferKind KindOf(const Access& access) const { return o_.memory_.buffer(access.buffer).kind; }
  // The operation goes on with what the written buffer holds.
  bool AddsTo(const Access& written) const {
    for (const Access& access : call_.phase.AccessesOf(op_)) {
      if (access.mode == AccessMode::kRead && access.buffer == written.buffer) return true;
    }
    return false;
  }

  const Chunk& chunk() const { return chunks_.chunks[op_.chunk]; }
  int64_t parameters() const { return static_cast<int64_t>(chunk().parameters); }
  UnitRange Rows(int32_t c) const { return chunks_.PiecesOf(chunks_.chunks[c]).front().units; }
  bool SummedOnDevice() const { return horizon::SummedOnDevice(job_, plan_) > 1; }
  bool RoundsGradients() const { return job_.gradient_type == NumberType::kBf16; }
  float* workspace() const {
    return o_.memory_.As<float>(o_.memory_.Find(BufferKind::kWorkspace, 0));
  }

  // A gradient, kept or on its way, as the type it has there.
  struct GradientView {
    float* fp32 = nullptr;
    uint16_t* bf16 = nullptr;
  };
  GradientView GradientAt(const Access& access) const {
    uint64_t bytes = o_.each_.gradient;
    if (KindOf(access) == BufferKind::kKeptGradient) {
      bytes = o_.each_.kept_gradient;
    } else if (KindOf(access) == BufferKind::kEmbeddingGradient || SummedOnDevice()) {
      bytes = 4;
    }
    if (bytes == 4) return {.fp32 = At<float>(access)};
    return {.bf16 = At<uint16_t>(access)};
  }

  // The gradient this operation writes on the device.
  GradientOut GradientOfChunk() const {
    const Access& written = Writes(ContentKind::kGradient);
    const GradientView view = GradientAt(written);
    return {.sum = view.fp32,
            .leaving = view.bf16,
            .add = AddsTo(written),
            .rounded = SummedOnDevice() && RoundsGradients()};
  }

  LayerShapes Shapes() const {
    return {.spec = o_.spec_,
            .batch = job_.micro_batch,
            .sequence = job_.sequence,
            .rotary_table = o_.memory_.As<float>(o_.memory_.Find(BufferKind::kRotaryTable, 0)),
            .kernels = k_};
  }

  absl::Status NextBatch() const;
  absl::Status Gather() const;
  absl::Status Pack() const;
  absl::Status LoadChunk() const;
  absl::Status Embed() const;
  absl::Status ForwardChunk() const;
  absl::Status BackwardChunk() const;
  absl::Status LogSumExp() const;
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
  void ReportNorms(StepResult& result) const;

  HeadShape ShapeOfLossChunk() const {
    const int64_t begin = op_.part * plan_.loss_chunk_tokens;
    const UnitRange rows = Rows(op_.chunk);
    return {.tokens = std::min(plan_.loss_chunk_tokens, tokens_ - begin),
            .hidden = hidden_,
            .first_row = rows.begin,
            .rows = rows.end - rows.begin};
  }
  int64_t FirstTokenOfLossChunk() const { return op_.part * plan_.loss_chunk_tokens; }

  const OperationBodies& o_;
  const Call& call_;
  const Operation& op_;
  const KernelTable& k_;
  const KernelContext& context_;
  const ChunkTable& chunks_;
  const TrainingJob& job_;
  const StreamPlan& plan_;
  const int64_t tokens_;
  const int64_t hidden_;
};

OperationBodies::OperationBodies(const ModelSpec& spec, const Schedule& schedule,
                                 const RunMemory& memory)
    : spec_(spec), schedule_(schedule), memory_(memory), each_(BytesOfParameter(schedule.job)) {
  for (int32_t c = 0; c < static_cast<int32_t>(schedule.chunks.chunks.size()); ++c) {
    ForEachSlice(schedule.chunks, c, [&](const TensorSlice& slice) {
      if (slice.first == 0) tensor_names_.push_back(slice.tensor->name);
    });
  }
}

absl::Status OperationBodies::Run(const Call& call, const KernelTable& kernels,
                                  const KernelContext& context) const {
  return Body(*this, call, kernels, context).Run();
}

bool OperationBodies::IsTransfer(OperationKind kind) {
  switch (kind) {
    case OperationKind::kLoadTokens:
    case OperationKind::kLoadRows:
    case OperationKind::kLoadAnchor:
    case OperationKind::kSaveAnchor:
    case OperationKind::kOffloadGradient:
    case OperationKind::kOffloadRows:
    case OperationKind::kOffloadLoss:
    case OperationKind::kOffloadLogits:
      return true;
    default:
      return false;
  }
}

OperationBodies::Transfer OperationBodies::TransferOf(const Call& call) const {
  Transfer transfer{.bytes = call.operation.bytes};
  for (const Access& access : call.phase.AccessesOf(call.operation)) {
    std::byte* at = memory_.At(access.buffer);
    (memory_.buffer(access.buffer).memory == Memory::kDevice ? transfer.device : transfer.host) =
        at;
  }
  CHECK(transfer.device != nullptr && transfer.host != nullptr);
  return transfer;
}

absl::Status OperationBodies::Body::Run() {
  switch (op_.kind) {
    case OperationKind::kNextBatch:
      return NextBatch();
    case OperationKind::kGather:
      return Gather();
    case OperationKind::kPack:
      return Pack();
    case OperationKind::kLoadChunk:
      return LoadChunk();
    case OperationKind::kEmbed:
      return Embed();
    case OperationKind::kForward:
    case OperationKind::kRecompute:
      return ForwardChunk();
    case OperationKind::kLogSumExp:
      return LogSumExp();
    case OperationKind::kLoss:
      return Loss();
    case OperationKind::kHeadGradient:
      return StoreHeadGradient();
    case OperationKind::kBackward:
      return BackwardChunk();
    case OperationKind::kEmbedBackward:
      return EmbedGradient();
    case OperationKind::kAccumulate:
      return AccumulateGradient();
    case OperationKind::kScatter:
      return Scatter();
    case OperationKind::kTiedSum:
      return TiedSum();
    case OperationKind::kNorm:
      return Norm();
    case OperationKind::kClipFactor:
      return ClipFactor();
    case OperationKind::kClipGradient:
      return ClipGradient();
    case OperationKind::kAdam:
      return Adam();
    default:
      return absl::UnimplementedError("the runtime has no body for this operation");
  }
}

absl::Status OperationBodies::Body::NextBatch() const {
  const TokenRecord* tokens = call_.input.tokens.data() + op_.micro_batch * tokens_;
  for (int64_t i = 0; i < tokens_; ++i) {
    const bool known =
        tokens[i].id >= 0 && tokens[i].id < o_.spec_.vocab && tokens[i].label < o_.spec_.vocab;
    if (known) continue;
    return absl::InvalidArgumentError(
        StrCat("token ", i, " of micro-batch ", op_.micro_batch, " has id ", tokens[i].id,
               " and label ", tokens[i].label, "; the vocabulary has ", o_.spec_.vocab));
  }
  std::memcpy(At<TokenRecord>(Writes(ContentKind::kTokens)), tokens,
              static_cast<size_t>(tokens_) * sizeof(TokenRecord));
  return absl::OkStatus();
}

absl::Status OperationBodies::Body::Gather() const {
  for (int32_t c = chunks_.embedding.begin; c < chunks_.embedding.end; ++c) {
    const UnitRange rows = Rows(c);
    const Access* lo = Find(AccessMode::kRead, ContentKind::kLowHalf, c);
    RETURN_IF_ERROR(
        k_.gather_rows(context_, {.tokens = tokens_,
                                  .hidden = hidden_,
                                  .first_row = rows.begin,
                                  .rows = rows.end - rows.begin,
                                  .records = At<TokenRecord>(Reads(ContentKind::kTokens)),
                                  .hi = At<uint16_t>(Reads(ContentKind::kWeights, c)),
                                  .lo = lo == nullptr ? nullptr : At<int16_t>(*lo),
                                  .output = At<float>(Writes(ContentKind::kRows))}));
  }
  return absl::OkStatus();
}

// A slab holds the high halves, then (compute in fp32) the low ones.
absl::Status OperationBodies::Body::Pack() const {
  std::byte* slab = At<std::byte>(Writes(ContentKind::kWeights));
  const int64_t bytes = 2 * parameters();
  RETURN_IF_ERROR(k_.copy_bytes(
      context_, {.bytes = bytes, .from = At<std::byte>(Reads(ContentKind::kWeights)), .to = slab}));
  const Access* lo = Find(AccessMode::kRead, ContentKind::kLowHalf);
  if (lo == nullptr) return absl::OkStatus();
  return k_.copy_bytes(context_, {.bytes = bytes, .from = At<std::byte>(*lo), .to = slab + bytes});
}

absl::Status OperationBodies::Body::LoadChunk() const {
  const Access& source = Reads(ContentKind::kWeights);
  const Access* low = Find(AccessMode::kRead, ContentKind::kLowHalf);
  const int16_t* lo = low == nullptr ? nullptr : At<int16_t>(*low);
  if (KindOf(source) == BufferKind::kPackSlab && job_.compute_type == NumberType::kFp32) {
    lo = At<int16_t>(source) + parameters();
  }
  return k_.expand_weights(context_, {.count = parameters(),
                                      .hi = At<uint16_t>(source),
                                      .lo = lo,
                                      .weights = At<float>(Writes(ContentKind::kWeights))});
}

absl::Status OperationBodies::Body::Embed() const {
  const UnitRange rows = Rows(op_.chunk);
  return k_.embed_forward(context_, {.tokens = tokens_,
                                     .hidden = hidden_,
                                     .first_row = rows.begin,
                                     .rows = rows.end - rows.begin,
                                     .records = At<TokenRecord>(Reads(ContentKind::kTokens)),
                                     .table = At<float>(Reads(ContentKind::kWeights)),
                                     .output = At<float>(Writes(ContentKind::kHidden))});
}

// Stage after stage. What a stage hands to the next is written where it is needed: into the next
// one's kept input when activations are kept, else into the output, in place from then on.
absl::Status OperationBodies::Body::ForwardChunk() const {
  const LayerShapes shapes = Shapes();
  const float* weights = At<float>(Reads(ContentKind::kWeights));
  const float* input = At<float>(Reads(ContentKind::kHidden));
  const Access* out = Find(AccessMode::kWrite, ContentKind::kHidden);
  const Access* kept_access = Find(AccessMode::kWrite, ContentKind::kActivations);
  float* kept = kept_access == nullptr ? nullptr : At<float>(*kept_access);
  const std::span<const ChunkPiece> pieces = chunks_.PiecesOf(chunk());
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Stage& stage = chunks_.stages[pieces[i].stage];
    const bool last = i + 1 == pieces.size();
    float* next_kept = kept == nullptr ? nullptr : kept + KeptValues(shapes, stage);
    float* output = out == nullptr ? nullptr : At<float>(*out);
    if (!last && next_kept != nullptr) output = next_kept;
    RETURN_IF_ERROR(ForwardOfStage(shapes,
                                   {.stage = stage,
                                    .weights = weights,
                                    .input = input,
                                    .output = output,
                                    .kept = kept,
                                    .workspace = workspace()},
                                   context_));
    weights += stage.parameters;
    input = output;
    kept = next_kept;
  }
  return absl::OkStatus();
}

absl::Status OperationBodies::Body::BackwardChunk() const {
  const LayerShapes shapes = Shapes();
  const GradientOut gradient = GradientOfChunk();
  const float* weights = At<float>(Reads(ContentKind::kWeights));
  const float* kept = At<float>(Reads(ContentKind::kActivations));
  const float* output_gradient = At<float>(Reads(ContentKind::kHiddenGradient));
  float* input_gradient = At<float>(Writes(ContentKind::kHiddenGradient));
  const std::span<const ChunkPiece> pieces = chunks_.PiecesOf(chunk());
  struct Begin {
    int64_t parameters = 0;
    int64_t kept = 0;
  };
  std::vector<Begin> begins(pieces.size() + 1);
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Stage& stage = chunks_.stages[pieces[i].stage];
    begins[i + 1] = {begins[i].parameters + static_cast<int64_t>(stage.parameters),
                     begins[i].kept + KeptValues(shapes, stage)};
  }
  for (size_t i = pieces.size(); i-- > 0;) {
    RETURN_IF_ERROR(BackwardOfStage(shapes,
                                    {.stage = chunks_.stages[pieces[i].stage],
                                     .weights = weights + begins[i].parameters,
                                     .kept = kept + begins[i].kept,
                                     .output_gradient = output_gradient,
                                     .input_gradient = input_gradient,
                                     .gradient = gradient.From(begins[i].parameters),
                                     .workspace = workspace()},
                                    context_));
    output_gradient = input_gradient;
  }
  return absl::OkStatus();
}

absl::Status OperationBodies::Body::LogSumExp() const {
  const int64_t first = FirstTokenOfLossChunk();
  return k_.head_log_sum_exp(context_,
                             {.shape = ShapeOfLossChunk(),
                              .input = At<float>(Reads(ContentKind::kHidden)) + first * hidden_,
                              .weights = At<float>(Reads(ContentKind::kWeights)),
                              .records = At<TokenRecord>(Reads(ContentKind::kTokens)) + first,
                              .sums = At<TokenSums>(Writes(ContentKind::kLogSumExp)) + first,
                              .logits = At<float>(Writes(ContentKind::kScratch))});
}

absl::Status OperationBodies::Body::Loss() const {
  const int64_t first = FirstTokenOfLossChunk();
  const HeadShape shape = ShapeOfLossChunk();
  const Access* sums = Find(AccessMode::kRead, ContentKind::kLogSumExp);
  float* logits = At<float>(Writes(ContentKind::kScratch));
  const Access& loss_access = Writes(ContentKind::kLoss);
  LossSum* loss = At<LossSum>(loss_access);
  if (loss_access.content.n == 1) *loss = {};
  const float scale = call_.input.counted == 0
                          ? 0.0f
                          : static_cast<float>(1.0 / static_cast<double>(call_.input.counted));
  return k_.head_loss(
      context_,
      {.shape = shape,
       .input = At<float>(Reads(ContentKind::kHidden)) + first * hidden_,
       .weights = At<float>(Reads(ContentKind::kWeights)),
       .records = At<TokenRecord>(Reads(ContentKind::kTokens)) + first,
       .sums = sums == nullptr ? reinterpret_cast<TokenSums*>(logits + shape.tokens * shape.rows)
                               : At<TokenSums>(*sums) + first,
       .sums_complete = sums != nullptr,
       .scale = scale,
       .logits = logits,
       .loss = loss,
       .input_gradient = At<float>(Writes(ContentKind::kHiddenGradient)) + first * hidden_,
       .weight_gradient = At<float>(Writes(ContentKind::kHeadGradient)),
       .first_chunk = op_.part == 0});
}

absl::Status OperationBodies::Body::StoreHeadGradient() const {
  return k_.store_gradient(context_, {.count = parameters(),
                                      .sum = At<float>(Reads(ContentKind::kHeadGradient)),
                                      .gradient = GradientOfChunk()});
}

absl::Status OperationBodies::Body::EmbedGradient() const {
  const UnitRange rows = Rows(op_.chunk);
  return k_.embed_backward(context_,
                           {.tokens = tokens_,
                            .hidden = hidden_,
                            .first_row = rows.begin,
                            .rows = rows.end - rows.begin,
                            .records = At<TokenRecord>(Reads(ContentKind::kTokens)),
                            .output_gradient = At<float>(Reads(ContentKind::kHiddenGradient)),
                            .gradient = GradientOfChunk()});
}

absl::Status OperationBodies::Body::AccumulateGradient() const {
  const Access* target = Find(AccessMode::kWrite, ContentKind::kGradient);
  if (target == nullptr) target = &Writes(ContentKind::kEmbeddingGradient);
  const Access* source = nullptr;
  for (const Access& access : call_.phase.AccessesOf(op_)) {
    if (access.mode == AccessMode::kRead && access.buffer != target->buffer) source = &access;
  }
  CHECK(source != nullptr);
  const GradientView from = GradientAt(*source);
  const GradientView kept = GradientAt(*target);
  return k_.accumulate(context_, {.count = parameters(),
                                  .gradient_fp32 = from.fp32,
                                  .gradient_bf16 = from.bf16,
                                  .add = AddsTo(*target),
                                  .kept_fp32 = kept.fp32,
                                  .kept_bf16 = kept.bf16});
}

absl::Status OperationBodies::Body::Scatter() const {
  const Access* target = Find(AccessMode::kWrite, ContentKind::kGradient);
  if (target == nullptr) target = &Writes(ContentKind::kEmbeddingGradient);
  const GradientView kept = GradientAt(*target);
  const UnitRange rows = Rows(op_.chunk);
  return k_.scatter_rows(context_, {.tokens = tokens_,
                                    .hidden = hidden_,
                                    .first_row = rows.begin,
                                    .rows = rows.end - rows.begin,
                                    .records = At<TokenRecord>(Reads(ContentKind::kTokens)),
                                    .row_gradients = At<float>(Reads(ContentKind::kRowGradients)),
                                    .rounded = RoundsGradients(),
                                    .clear = !AddsTo(*target),
                                    .kept_fp32 = kept.fp32,
                                    .kept_bf16 = kept.bf16});
}

absl::Status OperationBodies::Body::TiedSum() const {
  const Access& target = Writes(ContentKind::kGradient);
  return k_.accumulate(context_,
                       {.count = parameters(),
                        .gradient_fp32 = At<float>(Reads(ContentKind::kEmbeddingGradient)),
                        .add = AddsTo(target),
                        .kept_fp32 = At<float>(target)});
}

absl::Status OperationBodies::Body::Norm() const {
  const GradientView gradient = GradientAt(Reads(ContentKind::kGradient));
  double* partials = At<double>(Writes(ContentKind::kNormPartials));
  absl::Status status;
  ForEachSlice(chunks_, op_.chunk, [&](const TensorSlice& slice) {
    if (!status.ok()) return;
    status = k_.squared_norm(
        context_, {.count = static_cast<int64_t>(slice.count),
                   .block = static_cast<int64_t>(slice.norm_block),
                   .fp32 = gradient.fp32 == nullptr ? nullptr : gradient.fp32 + slice.offset,
                   .bf16 = gradient.bf16 == nullptr ? nullptr : gradient.bf16 + slice.offset,
                   .partials = partials});
    partials += NormBlocksOf(slice);
  });
  return status;
}

// Squared norms of the tensors, from the partials of all chunks in parameter order.
void OperationBodies::Body::ReportNorms(StepResult& result) const {
  double total = 0;
  std::vector<double> squares;
  // Backward carries a NaN to all earlier tensors: the last one in the model is where it came from.
  std::string culprit;
  for (int32_t c = 0; c < static_cast<int32_t>(chunks_.chunks.size()); ++c) {
    const double* partials = At<double>(Reads(ContentKind::kNormPartials, c));
    ForEachSlice(chunks_, c, [&](const TensorSlice& slice) {
      if (slice.first == 0) squares.push_back(0);
      const uint64_t blocks = NormBlocksOf(slice);
      for (uint64_t block = 0; block < blocks; ++block) {
        squares.back() += partials[block];
        total += partials[block];
      }
      partials += blocks;
      if (!std::isfinite(squares.back())) culprit = slice.tensor->name;
    });
  }
  if (!culprit.empty() && result.non_finite.empty()) {
    result.non_finite = StrCat("the gradient of ", culprit);
  }
  result.gradient_norm = std::sqrt(total);
  result.norms.clear();
  for (const double square : squares) result.norms.push_back(std::sqrt(square));
}

absl::Status OperationBodies::Body::ClipFactor() const {
  StepResult& result = call_.result;
  result = {.number = call_.input.number, .counted = call_.input.counted};
  double loss = 0;
  for (int32_t mb = 0; mb < static_cast<int32_t>(job_.accumulation); ++mb) {
    double sum = 0;
    for (const Access& access : call_.phase.AccessesOf(op_)) {
      if (access.content.kind == ContentKind::kLoss && access.content.b == mb) {
        sum = At<LossSum>(access)->sum;
      }
    }
    if (!std::isfinite(sum) && result.non_finite.empty()) {
      result.non_finite = StrCat("the loss of micro-batch ", mb);
    }
    loss += sum;
  }
  result.loss = result.counted == 0 ? 0 : loss / static_cast<double>(result.counted);
  ReportNorms(result);
  // As torch.nn.utils.clip_grad_norm_ has it.
  if (job_.clip_norm > 0) {
    result.clip_factor =
        static_cast<float>(std::min(1.0, job_.clip_norm / (result.gradient_norm + 1e-6)));
  }
  result.applied = result.non_finite.empty() && result.counted > 0;
  *At<ClipRecord>(Writes(ContentKind::kClipFactor)) = {.norm = result.gradient_norm,
                                                       .factor = result.clip_factor,
                                                       .applies = result.applied ? 1u : 0u};
  return absl::OkStatus();
}

absl::Status OperationBodies::Body::ClipGradient() const {
  const ClipRecord& clip = *At<ClipRecord>(Reads(ContentKind::kClipFactor));
  return k_.scale(context_, {.count = parameters(),
                             .factor = clip.applies != 0 ? clip.factor : 1.0f,
                             .values = At<float>(Writes(ContentKind::kClippedGradient))});
}

absl::Status OperationBodies::Body::Adam() const {
  const Access* clipped = Find(AccessMode::kRead, ContentKind::kClippedGradient);
  const Access& source = clipped != nullptr ? *clipped : Reads(ContentKind::kGradient);
  const StepInput& step = source.age == 0 ? call_.input : call_.previous;
  const Access* clip_access = Find(AccessMode::kRead, ContentKind::kClipFactor);
  float factor = 1.0f;
  if (clip_access != nullptr) {
    const ClipRecord& clip = *At<ClipRecord>(*clip_access);
    if (clip.applies == 0) return absl::OkStatus();
    if (clipped == nullptr) factor = clip.factor;
  }
  const GradientView gradient = GradientAt(source);
  const auto buffer = [&](BufferKind kind) { return o_.memory_.Find(kind, op_.chunk); };
  uint16_t* hi = o_.memory_.As<uint16_t>(buffer(BufferKind::kWeightsHi));
  const BufferId lo = buffer(BufferKind::kWeightsLo);
  const BufferId weights =
      plan_.strategy == Strategy::kResident ? buffer(BufferKind::kResidentWeights) : BufferId{-1};
  std::byte* moments = o_.memory_.At(buffer(BufferKind::kMoments));
  const MomentLayout layout(o_.schedule_, op_.chunk);
  absl::Status status;
  ForEachSlice(chunks_, op_.chunk, [&](const TensorSlice& slice) {
    if (!status.ok()) return;
    const bool decays = job_.decay_all || slice.tensor->decays;
    const auto parts = layout.PartsOf(slice);
    status = k_.adam_update(
        context_,
        {.count = static_cast<int64_t>(slice.count),
         .first = static_cast<int64_t>(slice.first),
         .key = TensorKey(static_cast<uint64_t>(job_.seed), slice.tensor->name),
         .constants = AdamConstantsOf({.learning_rate = step.learning_rate,
                                       .beta1 = job_.beta1,
                                       .beta2 = job_.beta2,
                                       .epsilon = job_.epsilon,
                                       .weight_decay = decays ? job_.weight_decay : 0.0,
                                       .step = step.number}),
         .step = step.number,
         .clip = factor,
         .gradient_fp32 = gradient.fp32 == nullptr ? nullptr : gradient.fp32 + slice.offset,
         .gradient_bf16 = gradient.bf16 == nullptr ? nullptr : gradient.bf16 + slice.offset,
         .hi = hi + slice.offset,
         .lo = lo < 0 ? nullptr : o_.memory_.As<int16_t>(lo) + slice.offset,
         .moments = layout.type(),
         .m = moments + parts[0].offset,
         .v = moments + parts[1].offset,
         .m_scales = reinterpret_cast<float*>(moments + parts[2].offset),
         .v_scales = reinterpret_cast<float*>(moments + parts[3].offset),
         .weights = weights < 0 ? nullptr : o_.memory_.As<float>(weights) + slice.offset,
         .weights_from_hi = job_.compute_type == NumberType::kBf16 || lo < 0});
    if (status.ok()) return;
    status = WithFailureSource(
        absl::Status(status.code(),
                     StrCat("updating ", slice.tensor->name, ": ", std::string(status.message()))),
        absl::IsOutOfRange(status) ? FailureSource::kNumerics : FailureSource::kOther);
  });
  return status;
}

}  // namespace horizon

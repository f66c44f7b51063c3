// What the operations of the compute lane do: embedding, layers forward and backward, head and
// loss.
#include <algorithm>
#include <vector>

#include "runtime/execution/operation_body.h"

namespace horizon {

absl::Status OperationBodies::Body::Embed() const {
  const UnitRange rows = Rows(op_.chunk);
  return k_.embed_forward(context_, {.tokens = tokens_,
                                     .hidden = hidden_,
                                     .first_row = rows.begin,
                                     .rows = rows.end - rows.begin,
                                     .scale = EmbeddingScale(),
                                     .records = At<TokenRecord>(Reads(ContentKind::kTokens)),
                                     .table = Weights(Reads(ContentKind::kWeights)),
                                     .output = Activations(Writes(ContentKind::kHidden))});
}

// Runs the chunk's stages one after the other, or some units of one stage. The output of a stage is
// written where the next one needs it: into the next stage's kept input when activations are kept,
// otherwise into the output buffer, in place from then on.
absl::Status OperationBodies::Body::ForwardChunk() const {
  const LayerShapes shapes = Shapes();
  ConstValues weights = Weights(Reads(ContentKind::kWeights));
  ConstValues input = Activations(Reads(ContentKind::kHidden));
  const Access* out = Find(AccessMode::kWrite, ContentKind::kHidden);
  const Access* kept_access = Find(AccessMode::kWrite, ContentKind::kActivations);
  std::span<std::byte> kept;
  if (kept_access != nullptr) kept = MemoryOf(*kept_access);
  const Access* cache_access = Find(AccessMode::kWrite, ContentKind::kKvCache);
  int64_t cached = 0;
  const bool is_last_shard = chunk().shard + 1 == chunk().shards;
  const bool output_follows = !is_last_shard && (op_.kind == OperationKind::kForward ||
                                                 chunks_.RecomputePassesOn(op_.chunk));
  const Access* routing = Find(AccessMode::kWrite, ContentKind::kRouterSums);
  int32_t router = chunk().routers.begin;
  const std::span<const ChunkPiece> pieces = chunks_.PiecesOf(chunk());
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Stage& stage = chunks_.stages[pieces[i].stage];
    RouterSums sums;
    if (HasRouter(pieces[i]) && routing != nullptr) sums = SumsOf(*routing, router++);
    KvCache cache;
    const bool caches = cache_access != nullptr && stage.kind == StageKind::kAttention;
    if (caches) {
      int64_t values = 0;
      cache = CacheOf(*cache_access, stage, cached, values);
      cached += values;
    }
    Values output = out == nullptr ? Values() : Activations(*out);
    std::span<std::byte> next_kept;
    if (i + 1 < pieces.size() && !kept.empty()) {
      next_kept = kept.subspan(o_.templates_.Of(stage.kind).kept_bytes().value());
      output = {next_kept.data(), activations_};
    }
    RETURN_IF_ERROR(RunStageForward(shapes,
                                    {.stage = stage,
                                     .units = pieces[i].units,
                                     .weights = weights,
                                     .input = input,
                                     .output = output,
                                     .output_follows = output_follows,
                                     .kept = kept,
                                     .workspace = Workspace(),
                                     .cache = caches ? &cache : nullptr,
                                     .router_sums = sums.counts == nullptr ? nullptr : &sums},
                                    context_));
    weights = weights.From(static_cast<int64_t>(ParametersInUnits(stage, pieces[i].units)));
    input = output;
    kept = next_kept;
  }
  return absl::OkStatus();
}

absl::Status OperationBodies::Body::BackwardChunk() const {
  const LayerShapes shapes = Shapes();
  const GradientOut gradient = GradientOfChunk();
  const ConstValues weights = Weights(Reads(ContentKind::kWeights));
  const std::span<std::byte> kept = MemoryOf(Reads(ContentKind::kActivations));
  ConstValues output_gradient = Activations(Reads(ContentKind::kHiddenGradient));
  // The gradient that passes from stage to stage and to the chunk before. Where no chunk before
  // needs it, the stages use the buffer in which it arrived.
  const Access* in = UpdatesIn(BufferKind::kResidualGradient);
  const Values input_gradient = in == nullptr ? Values() : Activations(*in);
  const std::span<const ChunkPiece> pieces = chunks_.PiecesOf(chunk());
  const RouterLoss router_loss = LossOfRouters();
  struct Begin {
    int64_t parameters = 0;
    int64_t trained = 0;
    int64_t kept = 0;
  };
  std::vector<Begin> begins(pieces.size() + 1);
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Stage& stage = chunks_.stages[pieces[i].stage];
    const auto parameters = static_cast<int64_t>(ParametersInUnits(stage, pieces[i].units));
    const auto trained = static_cast<int64_t>(TrainedInUnits(stage, pieces[i].units));
    begins[i + 1] = {
        .parameters = begins[i].parameters + parameters,
        .trained = begins[i].trained + trained,
        .kept = begins[i].kept +
                static_cast<int64_t>(o_.templates_.Of(stage.kind).kept_bytes().value())};
  }
  for (size_t i = pieces.size(); i-- > 0;) {
    const Stage& stage = chunks_.stages[pieces[i].stage];
    RETURN_IF_ERROR(
        RunStageBackward(shapes,
                         {.stage = stage,
                          .units = pieces[i].units,
                          .weights = weights.From(begins[i].parameters),
                          .kept = kept.subspan(static_cast<size_t>(begins[i].kept)),
                          .output_gradient = output_gradient,
                          .input_gradient = stage.needs_input_gradient ? input_gradient : Values(),
                          .gradient = gradient.From(begins[i].trained),
                          .workspace = Workspace(),
                          .router_loss = router_loss.counts == nullptr ? nullptr : &router_loss},
                         context_));
    output_gradient = input_gradient;
  }
  return absl::OkStatus();
}

// The gradient of the auxiliary loss (ReportRouting in gradient_bodies.cc), times the job's
// coefficient, by the probability of an expert for a token: a factor that is the same for all
// tokens that count, times how often all routers chose the expert.
RouterLoss OperationBodies::Body::LossOfRouters() const {
  const Access* sums = Find(AccessMode::kRead, ContentKind::kRouterSums);
  if (sums == nullptr) return {};
  const TokenRecord* records = call_.input.tokens.data() + op_.micro_batch * tokens_;
  const int64_t counted = std::count_if(records, records + tokens_, [](const TokenRecord& record) {
    return record.label != kPaddingLabel;
  });
  const double routed = static_cast<double>(counted) * chunks_.routers;
  const auto experts = static_cast<double>(o_.spec_.experts.experts);
  return {.layers = chunks_.routers,
          .counts = SumsOf(*sums, 0).counts,
          .layer_stride = 2 * o_.spec_.experts.experts,
          .scale = counted == 0 ? 0.0
                                : job_.router_aux_loss * experts /
                                      (static_cast<double>(job_.accumulation) * routed * routed)};
}

absl::Status OperationBodies::Body::LogSumExp() const {
  const int64_t first = FirstTokenOfLossChunk();
  return k_.head_log_sum_exp(
      context_, {.shape = ShapeOfLossChunk(),
                 .logit_scale = LogitScale(),
                 .input = Activations(Reads(ContentKind::kHidden)).From(first * hidden_),
                 .weights = Weights(Reads(ContentKind::kWeights)),
                 .records = At<TokenRecord>(Reads(ContentKind::kTokens)) + first,
                 .sums = At<TokenSums>(Writes(ContentKind::kLogSumExp)) + first,
                 .logits = At<float>(Writes(ContentKind::kScratch))});
}

// Computes the logits of the last token of each row's first sample; the tokens after it are
// padding. The tile width is fixed, so that a shard gives the same bits as a whole head.
absl::Status OperationBodies::Body::Logits() const {
  // The records on the device cannot be read by the host.
  const std::vector<TokenRecord>& records = call_.input.tokens;
  const ConstValues hidden = Activations(Reads(ContentKind::kHidden));
  const int64_t row_bytes = hidden_ * BytesOf(activations_);
  const Values last_tokens = Activations(Writes(ContentKind::kScratch));
  for (int64_t row = 0; row < job_.micro_batch; ++row) {
    int64_t last = row * sequence_;
    while (last + 1 < (row + 1) * sequence_ &&
           records[last + 1].position == records[last].position + 1) {
      ++last;
    }
    RETURN_IF_ERROR(k_.copy_bytes(context_, {.bytes = row_bytes,
                                             .from = hidden.From(last * hidden_).data(),
                                             .to = last_tokens.From(row * hidden_).data()}));
  }
  const UnitRange rows = Rows(op_.chunk);
  return k_.gemm(context_, {.form = GemmForm::kForward,
                            .m = job_.micro_batch,
                            .n = rows.end - rows.begin,
                            .k = hidden_,
                            .a = last_tokens,
                            .a_stride = hidden_,
                            .b = Weights(Reads(ContentKind::kWeights)),
                            .b_stride = hidden_,
                            .c = At<float>(Writes(ContentKind::kLogits)) + rows.begin,
                            .c_stride = LogitStride(o_.spec_.vocab),
                            .n_tile = kVocabularyTileRows});
}

absl::Status OperationBodies::Body::Loss() const {
  const int64_t first = FirstTokenOfLossChunk();
  const HeadShape shape = ShapeOfLossChunk();
  const Access* sums = Find(AccessMode::kRead, ContentKind::kLogSumExp);
  float* logits = At<float>(Writes(ContentKind::kScratch));
  const Access& loss_access = Writes(ContentKind::kLoss);
  const Access* input_gradient = Find(AccessMode::kWrite, ContentKind::kHiddenGradient);
  const Access* weight_gradient = Find(AccessMode::kWrite, ContentKind::kHeadGradient);
  const float scale = call_.input.counted == 0
                          ? 0.0f
                          : static_cast<float>(1.0 / static_cast<double>(call_.input.counted));
  return k_.head_loss(
      context_,
      {.shape = shape,
       .logit_scale = LogitScale(),
       .input = Activations(Reads(ContentKind::kHidden)).From(first * hidden_),
       .weights = Weights(Reads(ContentKind::kWeights)),
       .records = At<TokenRecord>(Reads(ContentKind::kTokens)) + first,
       .sums = sums == nullptr
                   ? reinterpret_cast<TokenSums*>(logits + shape.tokens * LogitStride(shape.rows))
                   : At<TokenSums>(*sums) + first,
       .sums_complete = sums != nullptr,
       .scale = scale,
       .logits = logits,
       .loss = At<LossSum>(loss_access),
       .clear_loss = loss_access.content.n == 1,
       .input_gradient = input_gradient == nullptr
                             ? Values()
                             : Activations(*input_gradient).From(first * hidden_),
       .weight_gradient = weight_gradient == nullptr ? nullptr : At<float>(*weight_gradient),
       .first_chunk = op_.part == 0,
       .input_gradient_sum = HeadInputSum(first * hidden_),
       .last_shard = op_.chunk + 1 == chunks_.head.end});
}

absl::Status OperationBodies::Body::StoreHeadGradient() const {
  return k_.store_gradient(context_, {.count = trained(),
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
                            .scale = EmbeddingScale(),
                            .records = At<TokenRecord>(Reads(ContentKind::kTokens)),
                            .output_gradient = Activations(Reads(ContentKind::kHiddenGradient)),
                            .gradient = GradientOfChunk()});
}

}  // namespace horizon

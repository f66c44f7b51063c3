// What the operations of the compute lane do: embedding, layers forward and backward, head and
// loss.
#include <vector>

#include "runtime/operation_body.h"

namespace horizon {

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
  const Access* cache_access = Find(AccessMode::kWrite, ContentKind::kKvCache);
  int64_t cached = 0;
  const std::span<const ChunkPiece> pieces = chunks_.PiecesOf(chunk());
  for (size_t i = 0; i < pieces.size(); ++i) {
    const Stage& stage = chunks_.stages[pieces[i].stage];
    KvCache cache;
    const bool caches = cache_access != nullptr && stage.kind == StageKind::kAttention;
    if (caches) {
      int64_t values = 0;
      cache = CacheOf(*cache_access, stage, cached, values);
      cached += values;
    }
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
                                    .workspace = workspace(),
                                    .cache = caches ? &cache : nullptr},
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

// Of the last token of each row's first sample: what follows it is padding. The tile of columns is
// given, so that a shard has the bits it has in a whole head.
absl::Status OperationBodies::Body::Logits() const {
  const TokenRecord* records = At<TokenRecord>(Reads(ContentKind::kTokens));
  const float* hidden = At<float>(Reads(ContentKind::kHidden));
  const int64_t row_bytes = hidden_ * static_cast<int64_t>(sizeof(float));
  float* last_tokens = At<float>(Writes(ContentKind::kScratch));
  for (int64_t row = 0; row < job_.micro_batch; ++row) {
    int64_t last = row * sequence_;
    while (last + 1 < (row + 1) * sequence_ &&
           records[last + 1].position == records[last].position + 1) {
      ++last;
    }
    RETURN_IF_ERROR(k_.copy_bytes(
        context_,
        {.bytes = row_bytes, .from = hidden + last * hidden_, .to = last_tokens + row * hidden_}));
  }
  const UnitRange rows = Rows(op_.chunk);
  return k_.gemm(context_, {.form = GemmForm::kForward,
                            .m = job_.micro_batch,
                            .n = rows.end - rows.begin,
                            .k = hidden_,
                            .a = last_tokens,
                            .a_stride = hidden_,
                            .b = At<float>(Reads(ContentKind::kWeights)),
                            .b_stride = hidden_,
                            .c = At<float>(Writes(ContentKind::kLogits)) + rows.begin,
                            .c_stride = o_.spec_.vocab,
                            .n_tile = kVocabularyTileRows});
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

}  // namespace horizon

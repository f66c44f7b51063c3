#include "schedule/schedule.h"

#include <algorithm>

#include "common/text/str_cat.h"

namespace horizon {
namespace {

constexpr EnumWord<Memory> kMemoryWords[] = {
    {Memory::kDevice, "device"}, {Memory::kPinned, "pinned"}, {Memory::kHost, "host"}};

constexpr EnumWord<BufferKind> kBufferWords[] = {
    {BufferKind::kWeightsHi, "weights_hi"},
    {BufferKind::kWeightsLo, "weights_lo"},
    {BufferKind::kMoments, "moments"},
    {BufferKind::kKeptGradient, "kept_gradient"},
    {BufferKind::kEmbeddingGradient, "embedding_gradient"},
    {BufferKind::kNormPartials, "norm_partials"},
    {BufferKind::kNormPartialsPinned, "norm_partials_pinned"},
    {BufferKind::kUpdateFaults, "update_faults"},
    {BufferKind::kUpdateFaultsPinned, "update_faults_pinned"},
    {BufferKind::kClipFactor, "clip_factor"},
    {BufferKind::kFrameworkCopy, "framework_copy"},
    {BufferKind::kRingSlot, "ring_slot"},
    {BufferKind::kResidentWeights, "resident_weights"},
    {BufferKind::kStagingBuffer, "staging_buffer"},
    {BufferKind::kGradient, "gradient"},
    {BufferKind::kGradientSlab, "gradient_slab"},
    {BufferKind::kTableSlab, "table_slab"},
    {BufferKind::kAnchor, "anchor"},
    {BufferKind::kAnchorStage, "anchor_stage"},
    {BufferKind::kTokensPinned, "tokens_pinned"},
    {BufferKind::kTokens, "tokens"},
    {BufferKind::kEmbeddingRows, "embedding_rows"},
    {BufferKind::kRowGradients, "row_gradients"},
    {BufferKind::kResidual, "residual"},
    {BufferKind::kResidualGradient, "residual_gradient"},
    {BufferKind::kActivations, "activations"},
    {BufferKind::kLogits, "logits"},
    {BufferKind::kLogSumExp, "log_sum_exp"},
    {BufferKind::kHeadGradient, "head_gradient"},
    {BufferKind::kLoss, "loss"},
    {BufferKind::kLossPinned, "loss_pinned"},
    {BufferKind::kRouterSums, "router_sums"},
    {BufferKind::kRouterSumsPinned, "router_sums_pinned"},
    {BufferKind::kKvCache, "kv_cache"},
    {BufferKind::kLogitsPinned, "logits_pinned"},
    {BufferKind::kWorkspace, "workspace"},
    {BufferKind::kTileScratch, "tile_scratch"},
    {BufferKind::kHeadInputSum, "head_input_sum"},
    {BufferKind::kRotaryTable, "rotary_table"},
};

constexpr EnumWord<Lane> kLaneWords[] = {{Lane::kH2d, "h2d"},
                                         {Lane::kCompute, "compute"},
                                         {Lane::kD2h, "d2h"},
                                         {Lane::kHost, "host"},
                                         {Lane::kOptimizer, "optimizer"}};

constexpr EnumWord<OperationKind> kOperationWords[] = {
    {OperationKind::kNextBatch, "next_batch"},
    {OperationKind::kLoadTokens, "load_tokens"},
    {OperationKind::kGather, "gather"},
    {OperationKind::kLoadRows, "load_rows"},
    {OperationKind::kPack, "pack"},
    {OperationKind::kLoadChunk, "load_chunk"},
    {OperationKind::kEmbed, "embed"},
    {OperationKind::kForward, "forward"},
    {OperationKind::kSaveAnchor, "save_anchor"},
    {OperationKind::kLoadAnchor, "load_anchor"},
    {OperationKind::kRecompute, "recompute"},
    {OperationKind::kLogSumExp, "log_sum_exp"},
    {OperationKind::kLoss, "loss"},
    {OperationKind::kHeadGradient, "head_gradient"},
    {OperationKind::kBackward, "backward"},
    {OperationKind::kEmbedBackward, "embed_backward"},
    {OperationKind::kOffloadGradient, "offload_gradient"},
    {OperationKind::kAccumulate, "accumulate"},
    {OperationKind::kOffloadRows, "offload_rows"},
    {OperationKind::kScatter, "scatter"},
    {OperationKind::kTiedSum, "tied_sum"},
    {OperationKind::kNorm, "norm"},
    {OperationKind::kOffloadNorms, "offload_norms"},
    {OperationKind::kClipFactor, "clip_factor"},
    {OperationKind::kClipGradient, "clip_gradient"},
    {OperationKind::kAdam, "adam"},
    {OperationKind::kOffloadFaults, "offload_faults"},
    {OperationKind::kCheckUpdate, "check_update"},
    {OperationKind::kOffloadLoss, "offload_loss"},
    {OperationKind::kOffloadRouting, "offload_routing"},
    {OperationKind::kLogits, "logits"},
    {OperationKind::kOffloadLogits, "offload_logits"},
    {OperationKind::kReport, "report"},
};

constexpr EnumWord<ContentKind> kContentWords[] = {
    {ContentKind::kNothing, "nothing"},
    {ContentKind::kWeights, "weights"},
    {ContentKind::kLowHalf, "low_half"},
    {ContentKind::kMoments, "moments"},
    {ContentKind::kGradient, "gradient"},
    {ContentKind::kEmbeddingGradient, "embedding_gradient"},
    {ContentKind::kClippedGradient, "clipped_gradient"},
    {ContentKind::kNormPartials, "norm_partials"},
    {ContentKind::kClipFactor, "clip_factor"},
    {ContentKind::kUpdateFaults, "update_faults"},
    {ContentKind::kTokens, "tokens"},
    {ContentKind::kRows, "rows"},
    {ContentKind::kRowGradients, "row_gradients"},
    {ContentKind::kHidden, "hidden"},
    {ContentKind::kHiddenGradient, "hidden_gradient"},
    {ContentKind::kActivations, "activations"},
    {ContentKind::kStageArrays, "stage_arrays"},
    {ContentKind::kStageGradients, "stage_gradients"},
    {ContentKind::kLogSumExp, "log_sum_exp"},
    {ContentKind::kHeadGradient, "head_gradient"},
    {ContentKind::kHeadInputSum, "head_input_sum"},
    {ContentKind::kLoss, "loss"},
    {ContentKind::kRouterSums, "router_sums"},
    {ContentKind::kKvCache, "kv_cache"},
    {ContentKind::kLogits, "logits"},
    {ContentKind::kRotaryTable, "rotary_table"},
    {ContentKind::kScratch, "scratch"},
    {ContentKind::kTileScratch, "tile_scratch"},
};

constexpr EnumWord<PassKind> kPassWords[] = {{PassKind::kTrain, "train"},
                                             {PassKind::kEvaluate, "evaluate"},
                                             {PassKind::kPrefill, "prefill"},
                                             {PassKind::kDecode, "decode"}};

std::string Spaced(std::string_view word) {
  std::string spaced(word);
  std::replace(spaced.begin(), spaced.end(), '_', ' ');
  return spaced;
}

}  // namespace

std::span<const EnumWord<Memory>> WordsOf(Memory) { return kMemoryWords; }
std::span<const EnumWord<BufferKind>> WordsOf(BufferKind) { return kBufferWords; }
std::span<const EnumWord<Lane>> WordsOf(Lane) { return kLaneWords; }
std::span<const EnumWord<OperationKind>> WordsOf(OperationKind) { return kOperationWords; }
std::span<const EnumWord<ContentKind>> WordsOf(ContentKind) { return kContentWords; }
std::span<const EnumWord<PassKind>> WordsOf(PassKind) { return kPassWords; }

std::string Schedule::NameOf(const Operation& operation) const {
  std::string name = Spaced(ToString(operation.kind));
  if (operation.chunk >= 0 && operation.chunk < static_cast<int32_t>(chunks.chunks.size())) {
    name += StrCat(" ", chunks.NameOf(operation.chunk));
  }
  if (operation.part >= 0) name += StrCat(" part ", operation.part);
  if (operation.micro_batch >= 0) {
    name += StrCat(", micro-batch ", operation.micro_batch);
  }
  return name;
}

std::string Schedule::NameOf(const Buffer& buffer) const {
  return StrCat(Spaced(ToString(buffer.kind)), " ", buffer.index, " (", ToString(buffer.memory),
                ")");
}

std::string Schedule::NameOf(const Content& content) const {
  return StrCat(Spaced(ToString(content.kind)), " (", content.a, ", ", content.b, ", ", content.n,
                ")");
}

}  // namespace horizon

#include "model/stages/describe.h"

#include "model/stages/attention.h"
#include "model/stages/embedding.h"
#include "model/stages/experts.h"
#include "model/stages/feed_forward.h"
#include "model/stages/head.h"

namespace horizon {

StageUnits UnitsOf(const ModelSpec& spec, StageKind kind) {
  switch (kind) {
    case StageKind::kEmbedding:
    case StageKind::kHead:
      return {.units = spec.vocab, .tile = kVocabularyTile, .active = spec.vocab};
    case StageKind::kAttention:
      return {.units = kAttentionUnits, .active = kAttentionUnits};
    case StageKind::kFeedForward:
      return {.units = kFeedForwardUnits, .active = kFeedForwardUnits};
    case StageKind::kExperts:
      return {.units = spec.experts.experts, .active = spec.experts.experts_per_token};
    case StageKind::kFinalNorm:
      return {};
  }
  return {};
}

std::vector<TensorSpec> TensorsOf(const ModelSpec& spec, StageKind kind) {
  switch (kind) {
    case StageKind::kEmbedding:
      return EmbeddingTensors(spec);
    case StageKind::kAttention:
      return AttentionTensors(spec);
    case StageKind::kFeedForward:
      return FeedForwardTensors(spec);
    case StageKind::kExperts:
      return ExpertsTensors(spec);
    case StageKind::kFinalNorm:
      return FinalNormTensors(spec);
    case StageKind::kHead:
      return HeadTensors(spec);
  }
  return {};
}

ArrayDescriptions ArraysOf(const ModelSpec& spec, StageKind kind, const StageOptions& options) {
  switch (kind) {
    case StageKind::kEmbedding:
      return {};
    case StageKind::kAttention:
      return AttentionArrays(spec);
    case StageKind::kFeedForward:
      return FeedForwardArrays(spec, options);
    case StageKind::kExperts:
      return ExpertsArrays(spec, options);
    case StageKind::kFinalNorm:
      return FinalNormArrays(spec);
    case StageKind::kHead:
      return HeadArrays(spec);
  }
  return {};
}

WorkDescription DescribeWork(const ModelSpec& spec, StageKind kind, const LayerSpec& layer,
                             const StageOptions& options) {
  switch (kind) {
    case StageKind::kEmbedding:
      return EmbeddingWork(spec);
    case StageKind::kAttention:
      return AttentionWork(spec, layer);
    case StageKind::kFeedForward:
      return FeedForwardWork(spec, options);
    case StageKind::kExperts:
      return ExpertsWork(spec, options);
    case StageKind::kFinalNorm:
      return FinalNormWork(spec);
    case StageKind::kHead:
      return HeadWork(spec);
  }
  return {};
}

}  // namespace horizon

#include <cmath>
#include <vector>

#include "absl/status/status.h"
#include "common/checked.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "model/stages.h"
#include "model/stages/describe.h"

namespace horizon {
namespace {

constexpr int64_t kMaxSize = (int64_t{1} << 31) - 1;  // of one dimension
constexpr int64_t kMaxExperts = int64_t{1} << 20;
constexpr uint64_t kCountLimit = uint64_t{1} << 62;

absl::Status CheckPositive(std::string_view field, int64_t value) {
  if (value > 0 && value <= kMaxSize) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("model: ", field, " is ", value, "; it must be 1 to ", kMaxSize));
}

absl::Status CheckNumber(std::string_view field, double value, double above) {
  if (std::isfinite(value) && value > above) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("model: ", field, " is ", value, "; it must be a finite number above ", above));
}

absl::Status CheckAtLeastZero(std::string_view field, double value) {
  if (std::isfinite(value) && value >= 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("model: ", field, " is ", value, "; it must be a finite number of at least 0"));
}

bool HasExperts(const ModelSpec& spec) {
  for (const LayerSpec& layer : spec.layers) {
    if (layer.has_experts) return true;
  }
  return false;
}

bool HasDense(const ModelSpec& spec) {
  for (const LayerSpec& layer : spec.layers) {
    if (!layer.has_experts) return true;
  }
  return false;
}

absl::Status CheckExperts(const ModelSpec& spec) {
  const ExpertsSpec& experts = spec.experts;
  RETURN_IF_ERROR(CheckPositive("experts", experts.experts));
  RETURN_IF_ERROR(CheckPositive("experts_per_token", experts.experts_per_token));
  RETURN_IF_ERROR(CheckPositive("intermediate size of an expert", experts.intermediate));
  if (experts.experts > kMaxExperts) {
    return absl::InvalidArgumentError(StrCat("model: it has ", experts.experts,
                                             " experts a layer; at most ", kMaxExperts,
                                             " are supported"));
  }
  if (experts.experts_per_token > experts.experts) {
    return absl::InvalidArgumentError(StrCat("model: experts_per_token is ",
                                             experts.experts_per_token, ", but there are ",
                                             experts.experts, " experts"));
  }
  return absl::OkStatus();
}

absl::Status CheckFactors(std::string_view field, const std::vector<double>& factors,
                          int64_t pairs) {
  if (static_cast<int64_t>(factors.size()) != pairs) {
    return absl::InvalidArgumentError(StrCat("model: ", field, " has ", factors.size(),
                                             " numbers; it must have ", pairs,
                                             ", one for each rotated pair of channels"));
  }
  for (const double factor : factors) RETURN_IF_ERROR(CheckNumber(field, factor, 0));
  return absl::OkStatus();
}

// What the kind of rope scales frequencies by.
absl::Status CheckScaling(const RopeSpec& rope, int64_t rotary_dim) {
  if (rope.kind == RopeKind::kDefault) return absl::OkStatus();
  if (!std::isfinite(rope.factor) || rope.factor < 1) {
    return absl::InvalidArgumentError(StrCat("model: rope factor is ", rope.factor,
                                             "; it must be a finite number of at least 1"));
  }
  if (rope.kind == RopeKind::kLinear) return absl::OkStatus();
  RETURN_IF_ERROR(
      CheckPositive("rope original_max_position_embeddings", rope.original_max_positions));
  if (rope.kind == RopeKind::kLlama3) {
    RETURN_IF_ERROR(CheckNumber("rope low_freq_factor", rope.low_frequency_factor, 0));
    RETURN_IF_ERROR(CheckNumber("rope high_freq_factor", rope.high_frequency_factor,
                                rope.low_frequency_factor));
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(CheckAtLeastZero("rope attention_factor", rope.attention_factor));
  if (rope.kind == RopeKind::kLongrope) {
    // The attention factor divides by the logarithm of these positions.
    RETURN_IF_ERROR(CheckNumber("rope original_max_position_embeddings",
                                static_cast<double>(rope.original_max_positions), 1));
    RETURN_IF_ERROR(CheckFactors("rope short_factor", rope.short_factors, rotary_dim / 2));
    return CheckFactors("rope long_factor", rope.long_factors, rotary_dim / 2);
  }
  RETURN_IF_ERROR(CheckNumber("rope beta_slow", rope.beta_slow, 0));
  RETURN_IF_ERROR(CheckNumber("rope beta_fast", rope.beta_fast, rope.beta_slow));
  RETURN_IF_ERROR(CheckAtLeastZero("rope mscale", rope.mscale));
  RETURN_IF_ERROR(CheckAtLeastZero("rope mscale_all_dim", rope.mscale_all_dim));
  return absl::OkStatus();
}

absl::Status CheckQueryScale(const RopeSpec& rope, bool is_partial) {
  RETURN_IF_ERROR(CheckAtLeastZero("rope llama_4_scaling_beta", rope.query_scale_beta));
  if (rope.query_scale_beta == 0) return absl::OkStatus();
  RETURN_IF_ERROR(
      CheckPositive("rope original_max_position_embeddings", rope.original_max_positions));
  if (!is_partial) return absl::OkStatus();
  return absl::InvalidArgumentError(
      StrCat("model: rope rotates ", rope.rotary_dim,
             " channels of a head and scales queries; partial rotation with a query scale is not "
             "supported"));
}

absl::Status CheckRope(const ModelSpec& spec, const RopeSpec& rope) {
  RETURN_IF_ERROR(CheckNumber("rope theta", rope.theta, 0));
  const int64_t rotary_dim = spec.RotaryDimOf(rope);
  if (rotary_dim < 2 || rotary_dim % 2 != 0 || rotary_dim > spec.head_dim) {
    return absl::InvalidArgumentError(StrCat("model: rope rotates ", rotary_dim,
                                             " channels of a head; it must be an even number",
                                             " of at most head_dim (", spec.head_dim, ")"));
  }
  RETURN_IF_ERROR(CheckScaling(rope, rotary_dim));
  return CheckQueryScale(rope, rotary_dim < spec.head_dim);
}

absl::Status CheckRopes(const ModelSpec& spec) {
  for (const RopeSpec& rope : spec.ropes) RETURN_IF_ERROR(CheckRope(spec, rope));
  const auto ropes = static_cast<int64_t>(spec.ropes.size());
  for (int64_t i = 0; i < spec.layer_count(); ++i) {
    const int64_t rope = spec.layers[i].rope;
    if (rope == kNoRotary || (0 <= rope && rope < ropes)) continue;
    return absl::InvalidArgumentError(
        StrCat("model: layer ", i, " has rope ", rope, ", but there are ", ropes));
  }
  return absl::OkStatus();
}

absl::Status CheckLayers(const ModelSpec& spec) {
  RETURN_IF_ERROR(CheckPositive("number of layers", spec.layer_count()));
  if (spec.layer_count() > kMaxLayers) {
    return absl::InvalidArgumentError(StrCat("model: it has ", spec.layer_count(),
                                             " layers; at most ", kMaxLayers, " are supported"));
  }
  for (int64_t i = 0; i < spec.layer_count(); ++i) {
    if (spec.layers[i].sliding_window < 0) {
      return absl::InvalidArgumentError(
          StrCat("model: sliding_window of layer ", i, " is ", spec.layers[i].sliding_window));
    }
  }
  return absl::OkStatus();
}

struct Counts {
  CheckedU64 tensors;
  CheckedU64 parameters;
};

// The counts of a stage, in numbers that cannot wrap.
Counts CountsOf(const ModelSpec& spec, StageKind kind) {
  Counts counts;
  for (const TensorSpec& tensor : TensorsOf(spec, kind)) {
    CheckedU64 parameters = 1;
    for (const int64_t length : tensor.shape) parameters *= CheckedU64::FromSigned(length);
    counts.parameters += parameters;
    counts.tensors += 1;
  }
  return counts;
}

absl::Status TooManyTensors(const ModelSpec& spec) {
  return absl::InvalidArgumentError(StrCat("model: ", spec.layer_count(), " layers with ",
                                           spec.experts.experts, " experts make more than ",
                                           kMaxTensors, " tensors"));
}

// The largest tensor is part of the sum, so the sum below the limit says that all are.
absl::Status CheckCounts(const ModelSpec& spec) {
  uint64_t with_experts = 0;
  for (const LayerSpec& layer : spec.layers) with_experts += layer.has_experts ? 1 : 0;
  // Nothing is listed that would be endless.
  if (with_experts > 0 && !spec.experts.fused_tensors &&
      static_cast<uint64_t>(spec.experts.experts) * 3 > kMaxTensors) {
    return TooManyTensors(spec);
  }
  Counts total;
  const auto add = [&](StageKind kind, uint64_t stages) {
    if (stages == 0) return;
    const Counts counts = CountsOf(spec, kind);
    total.parameters += counts.parameters * stages;
    total.tensors += counts.tensors * stages;
  };
  add(StageKind::kEmbedding, 1);
  add(StageKind::kAttention, spec.layers.size());
  add(StageKind::kFeedForward, spec.layers.size() - with_experts);
  add(StageKind::kExperts, with_experts);
  add(StageKind::kFinalNorm, 1);
  add(StageKind::kHead, 1);
  if (!total.parameters.ok() || total.parameters.value() >= kCountLimit) {
    return absl::InvalidArgumentError(StrCat(
        "model: the number of parameters does not fit 62 bits (hidden ", spec.hidden,
        ", intermediate ", spec.intermediate, ", vocab ", spec.vocab, ", heads ", spec.heads, " x ",
        spec.head_dim, ", ", spec.experts.experts, " experts, ", spec.layer_count(), " layers)"));
  }
  if (!total.tensors.ok() || total.tensors.value() > kMaxTensors) return TooManyTensors(spec);
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateSpec(const ModelSpec& spec) {
  RETURN_IF_ERROR(CheckLayers(spec));
  RETURN_IF_ERROR(CheckPositive("hidden", spec.hidden));
  RETURN_IF_ERROR(CheckPositive("heads", spec.heads));
  RETURN_IF_ERROR(CheckPositive("kv_heads", spec.kv_heads));
  RETURN_IF_ERROR(CheckPositive("head_dim", spec.head_dim));
  RETURN_IF_ERROR(CheckPositive("vocab", spec.vocab));
  RETURN_IF_ERROR(CheckPositive("max_positions", spec.max_positions));
  if (HasDense(spec)) RETURN_IF_ERROR(CheckPositive("intermediate", spec.intermediate));
  if (HasExperts(spec)) RETURN_IF_ERROR(CheckExperts(spec));
  if (spec.heads % spec.kv_heads != 0) {
    return absl::InvalidArgumentError(absl::StrCat(
        "model: heads (", spec.heads, ") is not a multiple of kv_heads (", spec.kv_heads, ")"));
  }
  if (spec.head_dim % 2 != 0) {
    return absl::InvalidArgumentError(absl::StrCat("model: head_dim is ", spec.head_dim,
                                                   "; rotary embedding needs an even number"));
  }
  RETURN_IF_ERROR(CheckNumber("norm_epsilon", spec.norm_epsilon, 0));
  RETURN_IF_ERROR(CheckAtLeastZero("initializer_range", spec.initializer_range));
  RETURN_IF_ERROR(CheckAtLeastZero("swiglu_limit", spec.swiglu_limit));
  RETURN_IF_ERROR(CheckNumber("swiglu_alpha", spec.swiglu_alpha, 0));
  RETURN_IF_ERROR(CheckAtLeastZero("attention_scale", spec.attention_scale));
  RETURN_IF_ERROR(CheckNumber("embedding_multiplier", spec.embedding_multiplier, 0));
  RETURN_IF_ERROR(CheckNumber("residual_multiplier", spec.residual_multiplier, 0));
  RETURN_IF_ERROR(CheckNumber("logit_multiplier", spec.logit_multiplier, 0));
  RETURN_IF_ERROR(CheckRopes(spec));
  return CheckCounts(spec);
}

}  // namespace horizon

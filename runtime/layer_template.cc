#include "runtime/layer_template.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "common/check.h"
#include "common/status_macros.h"

namespace horizon {
namespace {

// Hands out consecutive parts of one array.
class Parts {
 public:
  explicit Parts(float* begin) : begin_(begin), next_(begin) {}
  float* Take(int64_t values) {
    float* part = next_;
    if (next_ != nullptr) next_ += values;
    taken_ += values;
    return part;
  }
  int64_t taken() const { return taken_; }

 private:
  float* begin_;
  float* next_;
  int64_t taken_ = 0;
};

// What attention keeps for its backward. Without `kept` memory the same arrays lie in the
// workspace.
struct AttentionKept {
  float *input, *inverse_rms, *q, *k, *v, *output, *log_sum_exp;
  float *q_before, *k_before, *q_inverse_rms, *k_inverse_rms;  // q/k norm only, else null

  AttentionKept(const LayerShapes& s, Parts& parts, bool all) {
    const int64_t tokens = s.tokens();
    input = all ? parts.Take(tokens * s.spec.hidden) : nullptr;
    inverse_rms = parts.Take(tokens);
    q = parts.Take(tokens * s.query_width());
    k = parts.Take(tokens * s.key_width());
    v = parts.Take(tokens * s.key_width());
    output = parts.Take(tokens * s.query_width());
    log_sum_exp = parts.Take(tokens * s.spec.heads);
    const bool before = all && s.spec.qk_norm;
    q_before = before ? parts.Take(tokens * s.query_width()) : nullptr;
    k_before = before ? parts.Take(tokens * s.key_width()) : nullptr;
    q_inverse_rms = before ? parts.Take(tokens * s.spec.heads) : nullptr;
    k_inverse_rms = before ? parts.Take(tokens * s.spec.kv_heads) : nullptr;
  }
};

struct FeedForwardKept {
  float *input, *inverse_rms, *gate, *up;

  FeedForwardKept(const LayerShapes& s, Parts& parts, bool all) {
    const int64_t tokens = s.tokens();
    input = all ? parts.Take(tokens * s.spec.hidden) : nullptr;
    inverse_rms = parts.Take(tokens);
    gate = parts.Take(tokens * s.spec.intermediate);
    up = parts.Take(tokens * s.spec.intermediate);
  }
};

// The calls of one stage on one micro-batch, with what they share.
class StageCalls {
 public:
  StageCalls(const LayerShapes& shapes, const Stage& stage, const float* weights,
             const KernelContext& context)
      : s_(shapes),
        stage_(stage),
        at_(OffsetsOf(stage)),
        weights_(weights),
        context_(context),
        tokens_(shapes.tokens()),
        hidden_(shapes.spec.hidden) {}

  absl::Status Forward(const StageForward& args) {
    if (args.kept != nullptr && args.kept != args.input) {
      RETURN_IF_ERROR(s_.kernels.copy_bytes(
          context_, {.bytes = tokens_ * hidden_ * static_cast<int64_t>(sizeof(float)),
                     .from = args.input,
                     .to = args.kept}));
    }
    switch (stage_.kind) {
      case StageKind::kAttention:
        return AttentionForwardPass(args);
      case StageKind::kFeedForward:
        return FeedForwardForwardPass(args);
      case StageKind::kFinalNorm:
        return FinalNormForwardPass(args);
      default:
        return absl::UnimplementedError("this stage has no layer template");
    }
  }

  absl::Status Backward(const StageBackward& args) {
    gradient_ = args.gradient;
    switch (stage_.kind) {
      case StageKind::kAttention:
        return AttentionBackwardPass(args);
      case StageKind::kFeedForward:
        return FeedForwardBackwardPass(args);
      case StageKind::kFinalNorm:
        return FinalNormBackwardPass(args);
      default:
        return absl::UnimplementedError("this stage has no layer template");
    }
  }

 private:
  const float* Weight(int64_t offset) const { return offset < 0 ? nullptr : weights_ + offset; }
  float epsilon() const { return static_cast<float>(s_.spec.norm_epsilon); }

  // y[tokens, out] = x[tokens, in] W^T (+ bias) (+ initial)
  absl::Status Linear(const float* x, int64_t in, int64_t weight, int64_t bias, int64_t out,
                      float* y, const float* initial = nullptr) {
    return s_.kernels.gemm(context_, {.form = GemmForm::kForward,
                                      .m = tokens_,
                                      .n = out,
                                      .k = in,
                                      .a = x,
                                      .a_stride = in,
                                      .b = Weight(weight),
                                      .b_stride = in,
                                      .c = y,
                                      .c_stride = out,
                                      .bias = Weight(bias),
                                      .initial = initial});
  }

  enum class Sum { kBegins, kGoesOn };
  // dx[tokens, in] (+)= dy[tokens, out] W, and the gradients of W and its bias.
  absl::Status LinearBackward(const float* x, int64_t in, int64_t weight, int64_t bias, int64_t out,
                              const float* dy, float* dx, Sum sum) {
    RETURN_IF_ERROR(s_.kernels.gemm(context_, {.form = GemmForm::kInputGradient,
                                               .m = tokens_,
                                               .n = in,
                                               .k = out,
                                               .a = dy,
                                               .a_stride = out,
                                               .b = Weight(weight),
                                               .b_stride = in,
                                               .c = dx,
                                               .c_stride = in,
                                               .initial = sum == Sum::kGoesOn ? dx : nullptr}));
    return WeightGradients(x, in, weight, bias, out, dy);
  }

  absl::Status WeightGradients(const float* x, int64_t in, int64_t weight, int64_t bias,
                               int64_t out, const float* dy) {
    RETURN_IF_ERROR(s_.kernels.weight_gradient(context_, {.m = out,
                                                          .n = in,
                                                          .k = tokens_,
                                                          .output_gradient = dy,
                                                          .output_stride = out,
                                                          .input = x,
                                                          .input_stride = in,
                                                          .gradient = gradient_.From(weight)}));
    if (bias < 0) return absl::OkStatus();
    return s_.kernels.bias_gradient(
        context_,
        {.tokens = tokens_, .width = out, .output_gradient = dy, .gradient = gradient_.From(bias)});
  }

  absl::Status Norm(const float* x, float* y, float* inverse_rms) {
    return s_.kernels.rms_norm_forward(context_, {.rows = tokens_,
                                                  .width = hidden_,
                                                  .epsilon = epsilon(),
                                                  .x = x,
                                                  .weight = Weight(at_.norm),
                                                  .y = y,
                                                  .inverse_rms = inverse_rms});
  }

  absl::Status NormAgain(const float* x, const float* inverse_rms, float* y) {
    return s_.kernels.rms_norm_again(context_, {.rows = tokens_,
                                                .width = hidden_,
                                                .x = x,
                                                .inverse_rms = inverse_rms,
                                                .weight = Weight(at_.norm),
                                                .y = y});
  }

  absl::Status NormBackward(const float* x, const float* inverse_rms, const float* dy,
                            const float* residual, float* dx) {
    return s_.kernels.rms_norm_backward(context_, {.rows = tokens_,
                                                   .width = hidden_,
                                                   .x = x,
                                                   .inverse_rms = inverse_rms,
                                                   .weight = Weight(at_.norm),
                                                   .y_gradient = dy,
                                                   .residual_gradient = residual,
                                                   .x_gradient = dx,
                                                   .weight_gradient = gradient_.From(at_.norm)});
  }

  // Of q (or k): the norm over each head, where the model has one, then rotary. `before`: where the
  // values before the norm are kept; null: they are not.
  absl::Status TurnHeads(float* x, int64_t heads, int64_t norm, float* before, float* inverse_rms) {
    if (norm >= 0) {
      const int64_t rows = tokens_ * heads;
      if (before != nullptr) {
        RETURN_IF_ERROR(s_.kernels.copy_bytes(
            context_, {.bytes = rows * s_.spec.head_dim * static_cast<int64_t>(sizeof(float)),
                       .from = x,
                       .to = before}));
      }
      RETURN_IF_ERROR(s_.kernels.rms_norm_forward(context_, {.rows = rows,
                                                             .width = s_.spec.head_dim,
                                                             .epsilon = epsilon(),
                                                             .x = x,
                                                             .weight = Weight(norm),
                                                             .y = x,
                                                             .inverse_rms = inverse_rms}));
    }
    return Turn(x, heads, RotaryDirection::kForward);
  }

  absl::Status TurnHeadsBackward(float* dx, int64_t heads, int64_t norm, const float* before,
                                 const float* inverse_rms) {
    RETURN_IF_ERROR(Turn(dx, heads, RotaryDirection::kBackward));
    if (norm < 0) return absl::OkStatus();
    return s_.kernels.rms_norm_backward(context_, {.rows = tokens_ * heads,
                                                   .width = s_.spec.head_dim,
                                                   .x = before,
                                                   .inverse_rms = inverse_rms,
                                                   .weight = Weight(norm),
                                                   .y_gradient = dx,
                                                   .x_gradient = dx,
                                                   .weight_gradient = gradient_.From(norm)});
  }

  absl::Status Turn(float* x, int64_t heads, RotaryDirection direction) {
    return s_.kernels.rotary(context_, {.direction = direction,
                                        .tokens = tokens_,
                                        .heads = heads,
                                        .head_dim = s_.spec.head_dim,
                                        .records = s_.records,
                                        .table = s_.rotary_table,
                                        .x = x});
  }

  AttentionShape Shape() const {
    return {.batch = s_.batch,
            .sequence = s_.sequence,
            .heads = s_.spec.heads,
            .kv_heads = s_.spec.kv_heads,
            .head_dim = s_.spec.head_dim,
            .window = s_.spec.layers[stage_.layer].sliding_window,
            .scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(s_.spec.head_dim)))};
  }

  absl::Status Attend(const StageForward& args, const AttentionKept& kept) {
    if (args.cache != nullptr) {
      RETURN_IF_ERROR(s_.kernels.store_keys(context_, {.cache = *args.cache,
                                                       .sequence = s_.sequence,
                                                       .records = s_.records,
                                                       .k = kept.k,
                                                       .v = kept.v}));
    }
    const AttentionShape shape = Shape();
    if (s_.decodes) {
      CHECK(args.cache != nullptr && s_.sequence == 1);
      return s_.kernels.cached_attention(context_, {.cache = *args.cache,
                                                    .heads = shape.heads,
                                                    .scale = shape.scale,
                                                    .records = s_.records,
                                                    .q = kept.q,
                                                    .output = kept.output});
    }
    return s_.kernels.attention_forward(context_, {.shape = shape,
                                                   .records = s_.records,
                                                   .q = kept.q,
                                                   .k = kept.k,
                                                   .v = kept.v,
                                                   .output = kept.output,
                                                   .log_sum_exp = kept.log_sum_exp});
  }

  absl::Status AttentionForwardPass(const StageForward& args) {
    Parts work(args.workspace);
    float* normed = work.Take(tokens_ * hidden_);
    Parts kept_parts(args.kept);
    const bool keeps = args.kept != nullptr;
    const AttentionKept kept(s_, keeps ? kept_parts : work, keeps);
    const int64_t query = s_.query_width();
    const int64_t key = s_.key_width();
    RETURN_IF_ERROR(Norm(args.input, normed, kept.inverse_rms));
    RETURN_IF_ERROR(Linear(normed, hidden_, at_.q, at_.q_bias, query, kept.q));
    RETURN_IF_ERROR(Linear(normed, hidden_, at_.k, at_.k_bias, key, kept.k));
    RETURN_IF_ERROR(Linear(normed, hidden_, at_.v, at_.v_bias, key, kept.v));
    RETURN_IF_ERROR(
        TurnHeads(kept.q, s_.spec.heads, at_.q_norm, kept.q_before, kept.q_inverse_rms));
    RETURN_IF_ERROR(
        TurnHeads(kept.k, s_.spec.kv_heads, at_.k_norm, kept.k_before, kept.k_inverse_rms));
    RETURN_IF_ERROR(Attend(args, kept));
    if (args.output == nullptr) return absl::OkStatus();
    return Linear(kept.output, query, at_.o, at_.o_bias, hidden_, args.output, args.input);
  }

  absl::Status AttentionBackwardPass(const StageBackward& args) {
    Parts kept_parts(const_cast<float*>(args.kept));
    const AttentionKept kept(s_, kept_parts, true);
    const int64_t query = s_.query_width();
    const int64_t key = s_.key_width();
    Parts work(args.workspace);
    float* normed = work.Take(tokens_ * hidden_);
    float* normed_gradient = work.Take(tokens_ * hidden_);
    float* dq = work.Take(tokens_ * query);
    float* dk = work.Take(tokens_ * key);
    float* dv = work.Take(tokens_ * key);
    float* output_gradient = work.Take(tokens_ * query);
    float* output_dot = work.Take(tokens_ * s_.spec.heads);
    RETURN_IF_ERROR(LinearBackward(kept.output, query, at_.o, at_.o_bias, hidden_,
                                   args.output_gradient, output_gradient, Sum::kBegins));
    RETURN_IF_ERROR(s_.kernels.attention_backward(context_, {.shape = Shape(),
                                                             .records = s_.records,
                                                             .q = kept.q,
                                                             .k = kept.k,
                                                             .v = kept.v,
                                                             .output = kept.output,
                                                             .log_sum_exp = kept.log_sum_exp,
                                                             .output_gradient = output_gradient,
                                                             .output_dot = output_dot,
                                                             .q_gradient = dq,
                                                             .k_gradient = dk,
                                                             .v_gradient = dv}));
    RETURN_IF_ERROR(
        TurnHeadsBackward(dq, s_.spec.heads, at_.q_norm, kept.q_before, kept.q_inverse_rms));
    RETURN_IF_ERROR(
        TurnHeadsBackward(dk, s_.spec.kv_heads, at_.k_norm, kept.k_before, kept.k_inverse_rms));
    RETURN_IF_ERROR(NormAgain(kept.input, kept.inverse_rms, normed));
    RETURN_IF_ERROR(LinearBackward(normed, hidden_, at_.q, at_.q_bias, query, dq, normed_gradient,
                                   Sum::kBegins));
    RETURN_IF_ERROR(
        LinearBackward(normed, hidden_, at_.k, at_.k_bias, key, dk, normed_gradient, Sum::kGoesOn));
    RETURN_IF_ERROR(
        LinearBackward(normed, hidden_, at_.v, at_.v_bias, key, dv, normed_gradient, Sum::kGoesOn));
    return NormBackward(kept.input, kept.inverse_rms, normed_gradient, args.output_gradient,
                        args.input_gradient);
  }

  absl::Status FeedForwardForwardPass(const StageForward& args) {
    Parts work(args.workspace);
    float* normed = work.Take(tokens_ * hidden_);
    Parts kept_parts(args.kept);
    const bool keeps = args.kept != nullptr;
    const FeedForwardKept kept(s_, keeps ? kept_parts : work, keeps);
    const int64_t width = s_.spec.intermediate;
    RETURN_IF_ERROR(Norm(args.input, normed, kept.inverse_rms));
    RETURN_IF_ERROR(Linear(normed, hidden_, at_.gate, at_.gate_bias, width, kept.gate));
    RETURN_IF_ERROR(Linear(normed, hidden_, at_.up, at_.up_bias, width, kept.up));
    if (args.output == nullptr) return absl::OkStatus();
    float* activated = work.Take(tokens_ * width);
    RETURN_IF_ERROR(s_.kernels.swiglu_forward(
        context_,
        {.count = tokens_ * width, .gate = kept.gate, .up = kept.up, .output = activated}));
    return Linear(activated, width, at_.down, at_.down_bias, hidden_, args.output, args.input);
  }

  absl::Status FeedForwardBackwardPass(const StageBackward& args) {
    Parts kept_parts(const_cast<float*>(args.kept));
    const FeedForwardKept kept(s_, kept_parts, true);
    const int64_t width = s_.spec.intermediate;
    Parts work(args.workspace);
    float* normed = work.Take(tokens_ * hidden_);
    float* normed_gradient = work.Take(tokens_ * hidden_);
    float* activated = work.Take(tokens_ * width);
    float* gate_gradient = work.Take(tokens_ * width);
    float* up_gradient = work.Take(tokens_ * width);
    // The gradient of what was activated becomes that of the gate in place.
    RETURN_IF_ERROR(s_.kernels.gemm(context_, {.form = GemmForm::kInputGradient,
                                               .m = tokens_,
                                               .n = width,
                                               .k = hidden_,
                                               .a = args.output_gradient,
                                               .a_stride = hidden_,
                                               .b = Weight(at_.down),
                                               .b_stride = width,
                                               .c = gate_gradient,
                                               .c_stride = width}));
    RETURN_IF_ERROR(s_.kernels.swiglu_backward(context_, {.count = tokens_ * width,
                                                          .gate = kept.gate,
                                                          .up = kept.up,
                                                          .output_gradient = gate_gradient,
                                                          .output = activated,
                                                          .gate_gradient = gate_gradient,
                                                          .up_gradient = up_gradient}));
    RETURN_IF_ERROR(
        WeightGradients(activated, width, at_.down, at_.down_bias, hidden_, args.output_gradient));
    RETURN_IF_ERROR(NormAgain(kept.input, kept.inverse_rms, normed));
    RETURN_IF_ERROR(LinearBackward(normed, hidden_, at_.gate, at_.gate_bias, width, gate_gradient,
                                   normed_gradient, Sum::kBegins));
    RETURN_IF_ERROR(LinearBackward(normed, hidden_, at_.up, at_.up_bias, width, up_gradient,
                                   normed_gradient, Sum::kGoesOn));
    return NormBackward(kept.input, kept.inverse_rms, normed_gradient, args.output_gradient,
                        args.input_gradient);
  }

  absl::Status FinalNormForwardPass(const StageForward& args) {
    float* inverse_rms = args.kept == nullptr ? args.workspace : args.kept + tokens_ * hidden_;
    // Without an output only the inverse rms is wanted, and the values go where nobody looks.
    float* y = args.output == nullptr ? args.workspace + tokens_ : args.output;
    return Norm(args.input, y, inverse_rms);
  }

  absl::Status FinalNormBackwardPass(const StageBackward& args) {
    return NormBackward(args.kept, args.kept + tokens_ * hidden_, args.output_gradient, nullptr,
                        args.input_gradient);
  }

  const LayerShapes& s_;
  const Stage& stage_;
  const StageOffsets at_;
  const float* weights_;
  const KernelContext& context_;
  const int64_t tokens_;
  const int64_t hidden_;
  GradientOut gradient_;
};

bool EndsWith(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

}  // namespace

StageOffsets OffsetsOf(const Stage& stage) {
  StageOffsets at;
  struct Name {
    std::string_view end;
    int64_t StageOffsets::*offset;
  };
  static constexpr Name kNames[] = {
      {"layernorm.weight", &StageOffsets::norm}, {"model.norm.weight", &StageOffsets::norm},
      {"q_proj.weight", &StageOffsets::q},       {"k_proj.weight", &StageOffsets::k},
      {"v_proj.weight", &StageOffsets::v},       {"o_proj.weight", &StageOffsets::o},
      {"q_proj.bias", &StageOffsets::q_bias},    {"k_proj.bias", &StageOffsets::k_bias},
      {"v_proj.bias", &StageOffsets::v_bias},    {"o_proj.bias", &StageOffsets::o_bias},
      {"q_norm.weight", &StageOffsets::q_norm},  {"k_norm.weight", &StageOffsets::k_norm},
      {"gate_proj.weight", &StageOffsets::gate}, {"up_proj.weight", &StageOffsets::up},
      {"down_proj.weight", &StageOffsets::down}, {"gate_proj.bias", &StageOffsets::gate_bias},
      {"up_proj.bias", &StageOffsets::up_bias},  {"down_proj.bias", &StageOffsets::down_bias},
  };
  int64_t offset = 0;
  for (const TensorSpec& tensor : stage.tensors) {
    const auto name = std::find_if(std::begin(kNames), std::end(kNames),
                                   [&](const Name& n) { return EndsWith(tensor.name, n.end); });
    CHECK(name != std::end(kNames));
    at.*(name->offset) = offset;
    offset += static_cast<int64_t>(tensor.parameters);
  }
  return at;
}

absl::Status ForwardOfStage(const LayerShapes& shapes, const StageForward& args,
                            const KernelContext& context) {
  return StageCalls(shapes, args.stage, args.weights, context).Forward(args);
}

absl::Status BackwardOfStage(const LayerShapes& shapes, const StageBackward& args,
                             const KernelContext& context) {
  return StageCalls(shapes, args.stage, args.weights, context).Backward(args);
}

int64_t KeptValues(const LayerShapes& shapes, const Stage& stage) {
  Parts parts(nullptr);
  switch (stage.kind) {
    case StageKind::kAttention:
      AttentionKept(shapes, parts, true);
      return parts.taken();
    case StageKind::kFeedForward:
      FeedForwardKept(shapes, parts, true);
      return parts.taken();
    case StageKind::kFinalNorm:
      return shapes.tokens() * (shapes.spec.hidden + 1);
    default:
      return 0;
  }
}

int64_t WorkspaceValues(const LayerShapes& shapes, const Stage& stage) {
  const int64_t tokens = shapes.tokens();
  const int64_t hidden = shapes.spec.hidden;
  const int64_t query = shapes.query_width();
  const int64_t key = shapes.key_width();
  const int64_t width = shapes.spec.intermediate;
  switch (stage.kind) {
    case StageKind::kAttention: {
      const int64_t forward = hidden + 1 + 2 * query + 2 * key + shapes.spec.heads;
      const int64_t backward = 2 * hidden + 2 * query + 2 * key + shapes.spec.heads;
      return tokens * std::max(forward, backward);
    }
    case StageKind::kFeedForward:
      return tokens * std::max(hidden + 1 + 3 * width, 2 * hidden + 3 * width);
    case StageKind::kFinalNorm:
      return tokens * (1 + hidden);
    default:
      return 0;
  }
}

}  // namespace horizon

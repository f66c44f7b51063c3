#include "runtime/layer_template.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "common/check.h"
#include "common/status_macros.h"
#include "schedule/lay_out_memory.h"

namespace horizon {
namespace {

// Hands out consecutive parts of some memory. Arrays come first and scalars after them, so that
// all lie at multiples of their size; widths are multiples of 8 where a device needs more.
class Parts {
 public:
  Parts(std::byte* begin, ValueType type) : begin_(begin), type_(type) {}
  Values Take(int64_t values) {
    CHECK(!scalars_);
    return {Next(values * BytesOf(type_)), type_};
  }
  float* TakeScalars(int64_t count) {
    scalars_ = true;
    return reinterpret_cast<float*>(Next(count * static_cast<int64_t>(sizeof(float))));
  }
  int64_t taken() const { return taken_; }

 private:
  std::byte* Next(int64_t bytes) {
    std::byte* part = begin_ == nullptr ? nullptr : begin_ + taken_;
    taken_ += bytes;
    return part;
  }

  std::byte* begin_;
  ValueType type_;
  int64_t taken_ = 0;
  bool scalars_ = false;  // from here on
};

// What attention keeps for its backward. Without `kept` memory the same arrays lie in the
// workspace.
struct AttentionKept {
  Values input, q, k, v, output;
  Values q_before, k_before;  // q/k norm only, else null
  float *inverse_rms, *log_sum_exp;
  float *q_inverse_rms, *k_inverse_rms;  // q/k norm only, else null

  AttentionKept(const LayerShapes& s, Parts& parts, bool all) {
    const int64_t tokens = s.tokens();
    const bool before = all && s.spec.qk_norm;
    if (all) input = parts.Take(tokens * s.spec.hidden);
    q = parts.Take(tokens * s.query_width());
    k = parts.Take(tokens * s.key_width());
    v = parts.Take(tokens * s.key_width());
    output = parts.Take(tokens * s.query_width());
    if (before) q_before = parts.Take(tokens * s.query_width());
    if (before) k_before = parts.Take(tokens * s.key_width());
    inverse_rms = parts.TakeScalars(tokens);
    log_sum_exp = parts.TakeScalars(tokens * s.spec.heads);
    q_inverse_rms = before ? parts.TakeScalars(tokens * s.spec.heads) : nullptr;
    k_inverse_rms = before ? parts.TakeScalars(tokens * s.spec.kv_heads) : nullptr;
  }
};

struct FeedForwardKept {
  Values input, gate, up;
  float* inverse_rms;

  FeedForwardKept(const LayerShapes& s, Parts& parts, bool all) {
    const int64_t tokens = s.tokens();
    if (all) input = parts.Take(tokens * s.spec.hidden);
    gate = parts.Take(tokens * s.spec.intermediate);
    up = parts.Take(tokens * s.spec.intermediate);
    inverse_rms = parts.TakeScalars(tokens);
  }
};

struct FinalNormKept {
  Values input;
  float* inverse_rms;

  FinalNormKept(const LayerShapes& s, Parts& parts, bool all) {
    if (all) input = parts.Take(s.tokens() * s.spec.hidden);
    inverse_rms = parts.TakeScalars(s.tokens());
  }
};

// The calls of one stage on one micro-batch, with what they share.
class StageCalls {
 public:
  StageCalls(const LayerShapes& shapes, const Stage& stage, ConstValues weights,
             const KernelContext& context)
      : s_(shapes),
        stage_(stage),
        at_(OffsetsOf(stage)),
        weights_(weights),
        context_(context),
        tokens_(shapes.tokens()),
        hidden_(shapes.spec.hidden) {}

  absl::Status Forward(const StageForward& args) {
    if (args.kept != nullptr && args.kept != args.input.data()) {
      RETURN_IF_ERROR(
          s_.kernels.copy_bytes(context_, {.bytes = tokens_ * hidden_ * BytesOf(s_.activations),
                                           .from = args.input.data(),
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
  ConstValues Weight(int64_t offset) const {
    return offset < 0 ? ConstValues() : weights_.From(offset);
  }
  float epsilon() const { return static_cast<float>(s_.spec.norm_epsilon); }

  // y[tokens, out] = x[tokens, in] W^T (+ bias) (+ initial)
  absl::Status Linear(ConstValues x, int64_t in, int64_t weight, int64_t bias, int64_t out,
                      Values y, ConstValues initial = {}) {
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
  absl::Status LinearBackward(ConstValues x, int64_t in, int64_t weight, int64_t bias, int64_t out,
                              ConstValues dy, Values dx, Sum sum) {
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
                                               .initial = sum == Sum::kGoesOn ? dx : Values()}));
    return WeightGradients(x, in, weight, bias, out, dy);
  }

  absl::Status WeightGradients(ConstValues x, int64_t in, int64_t weight, int64_t bias, int64_t out,
                               ConstValues dy) {
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

  absl::Status Norm(ConstValues x, Values y, float* inverse_rms) {
    return s_.kernels.rms_norm_forward(context_, {.rows = tokens_,
                                                  .width = hidden_,
                                                  .epsilon = epsilon(),
                                                  .x = x,
                                                  .weight = Weight(at_.norm),
                                                  .y = y,
                                                  .inverse_rms = inverse_rms});
  }

  absl::Status NormAgain(ConstValues x, const float* inverse_rms, Values y) {
    return s_.kernels.rms_norm_again(context_, {.rows = tokens_,
                                                .width = hidden_,
                                                .x = x,
                                                .inverse_rms = inverse_rms,
                                                .weight = Weight(at_.norm),
                                                .y = y});
  }

  absl::Status NormBackward(ConstValues x, const float* inverse_rms, ConstValues dy,
                            ConstValues residual, Values dx) {
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
  absl::Status TurnHeads(Values x, int64_t heads, int64_t norm, Values before, float* inverse_rms) {
    if (norm >= 0) {
      const int64_t rows = tokens_ * heads;
      if (before != nullptr) {
        RETURN_IF_ERROR(s_.kernels.copy_bytes(
            context_, {.bytes = rows * s_.spec.head_dim * BytesOf(s_.activations),
                       .from = x.data(),
                       .to = before.data()}));
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

  absl::Status TurnHeadsBackward(Values dx, int64_t heads, int64_t norm, ConstValues before,
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

  absl::Status Turn(Values x, int64_t heads, RotaryDirection direction) {
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
    Parts work(args.workspace, s_.activations);
    const Values normed = work.Take(tokens_ * hidden_);
    Parts kept_parts(args.kept, s_.activations);
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
    Parts kept_parts(args.kept, s_.activations);
    const AttentionKept kept(s_, kept_parts, true);
    const int64_t query = s_.query_width();
    const int64_t key = s_.key_width();
    Parts work(args.workspace, s_.activations);
    const Values normed = work.Take(tokens_ * hidden_);
    const Values normed_gradient = work.Take(tokens_ * hidden_);
    const Values dq = work.Take(tokens_ * query);
    const Values dk = work.Take(tokens_ * key);
    const Values dv = work.Take(tokens_ * key);
    const Values output_gradient = work.Take(tokens_ * query);
    float* output_dot = work.TakeScalars(tokens_ * s_.spec.heads);
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
    Parts work(args.workspace, s_.activations);
    const int64_t width = s_.spec.intermediate;
    const Values normed = work.Take(tokens_ * hidden_);
    const Values activated = args.output == nullptr ? Values() : work.Take(tokens_ * width);
    Parts kept_parts(args.kept, s_.activations);
    const bool keeps = args.kept != nullptr;
    const FeedForwardKept kept(s_, keeps ? kept_parts : work, keeps);
    RETURN_IF_ERROR(Norm(args.input, normed, kept.inverse_rms));
    RETURN_IF_ERROR(Linear(normed, hidden_, at_.gate, at_.gate_bias, width, kept.gate));
    RETURN_IF_ERROR(Linear(normed, hidden_, at_.up, at_.up_bias, width, kept.up));
    if (args.output == nullptr) return absl::OkStatus();
    RETURN_IF_ERROR(s_.kernels.swiglu_forward(
        context_,
        {.count = tokens_ * width, .gate = kept.gate, .up = kept.up, .output = activated}));
    return Linear(activated, width, at_.down, at_.down_bias, hidden_, args.output, args.input);
  }

  absl::Status FeedForwardBackwardPass(const StageBackward& args) {
    Parts kept_parts(args.kept, s_.activations);
    const FeedForwardKept kept(s_, kept_parts, true);
    const int64_t width = s_.spec.intermediate;
    Parts work(args.workspace, s_.activations);
    const Values normed = work.Take(tokens_ * hidden_);
    const Values normed_gradient = work.Take(tokens_ * hidden_);
    const Values activated = work.Take(tokens_ * width);
    const Values gate_gradient = work.Take(tokens_ * width);
    const Values up_gradient = work.Take(tokens_ * width);
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
    Parts work(args.workspace, s_.activations);
    Parts kept_parts(args.kept, s_.activations);
    const bool keeps = args.kept != nullptr;
    // Without an output only the inverse rms is wanted, and the values go where nobody looks.
    const Values y = args.output == nullptr ? work.Take(tokens_ * hidden_) : args.output;
    const FinalNormKept kept(s_, keeps ? kept_parts : work, keeps);
    return Norm(args.input, y, kept.inverse_rms);
  }

  absl::Status FinalNormBackwardPass(const StageBackward& args) {
    Parts kept_parts(args.kept, s_.activations);
    const FinalNormKept kept(s_, kept_parts, true);
    return NormBackward(kept.input, kept.inverse_rms, args.output_gradient, {},
                        args.input_gradient);
  }

  const LayerShapes& s_;
  const Stage& stage_;
  const StageOffsets at_;
  const ConstValues weights_;
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

int64_t KeptBytes(const LayerShapes& shapes, const Stage& stage) {
  Parts parts(nullptr, shapes.activations);
  switch (stage.kind) {
    case StageKind::kAttention:
      AttentionKept(shapes, parts, true);
      break;
    case StageKind::kFeedForward:
      FeedForwardKept(shapes, parts, true);
      break;
    case StageKind::kFinalNorm:
      FinalNormKept(shapes, parts, true);
      break;
    default:
      break;
  }
  constexpr auto kAlignment = static_cast<int64_t>(kActivationAlignment);
  return (parts.taken() + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace horizon

// The template of an experts stage: router, dispatch, grouped matrix multiplies, combine.
#include <array>
#include <utility>

#include "common/check.h"
#include "common/status_macros.h"
#include "kernels/experts/dispatch.h"
#include "kernels/experts/expert_gemm.h"
#include "kernels/experts/expert_glu.h"
#include "kernels/experts/router.h"
#include "model/stages/branch.h"
#include "runtime/execution/stage_calls.h"

namespace horizon {
namespace {

// A call covers the experts of a chunk. Where a stage is cut into shards, the first one (in
// forward) routes, and each adds what its experts make of the tokens to a sum that the last one
// adds to the residual stream. Backward begins with the last shard; the first one ends it with
// router and norm.
class ExpertsCalls : public BranchCalls {
 public:
  ExpertsCalls(const LayerShapes& shapes, const Stage& stage, UnitRange units, ConstValues weights,
               const KernelContext& context)
      : BranchCalls(shapes, stage, units, weights, context),
        experts_(shapes.spec.experts),
        fused_(shapes.spec.experts.fused_tensors) {
    FindTrained();
  }

  absl::Status Forward(const StageForward& args) {
    StageArrays all = ForwardArrays(args, AllTokens());
    const Branch branch(all);
    const Routing routing(all);
    float* sum = all.GetFp32(ArrayRole::kExpertSum);
    // The memory of a piece is checked before anything is written, too.
    const Rows unused(all);
    all.Get(ArrayRole::kActivated);
    all.Get(ArrayRole::kRowOutput);
    RETURN_IF_ERROR(all.status());
    RETURN_IF_ERROR(KeepInput(args));
    if (HasUnit(0)) {
      RETURN_IF_ERROR(NormInput(AllTokens(), branch, args.input));
      RETURN_IF_ERROR(Route(args, branch, routing));
    }
    const bool projects = args.output != nullptr || args.output_follows || s_.spec.norm_after();
    if (!projects && !keeps()) return absl::OkStatus();
    RETURN_IF_ERROR(ForEachPiece(tokens_, [&](const TokenRange& piece) {
      return ForwardOfPiece(piece, args, branch, projects ? sum : nullptr);
    }));
    if (!HasUnit(stage_.units - 1) || !projects) return absl::OkStatus();
    return FinishForward(args, branch, sum);
  }

  absl::Status Backward(const StageBackward& args) {
    gradient_ = args.gradient;
    StageArrays all = BackwardArrays(args, AllTokens());
    const Branch branch(all);
    const Routing routing(all);
    float* weight_gradient = all.GetFp32(ArrayRole::kRouterWeightGradient);
    gradient_sum_ = all.GetFp32IfAny(ArrayRole::kWeightGradientSum);
    const Rows unused(all);
    for (const ArrayRole role :
         {ArrayRole::kActivated, ArrayRole::kActivatedGradient, ArrayRole::kGateUpGradient,
          ArrayRole::kRowInputGradient, ArrayRole::kRouterGradient}) {
      all.Get(role);
    }
    all.GetFp32(ArrayRole::kRouterLossGradient);
    RETURN_IF_ERROR(all.status());
    // All shards read it; the last one, which is called first, computes it.
    ConstValues gradient = args.output_gradient;
    if (HasUnit(stage_.units - 1)) {
      RETURN_IF_ERROR(StartBackward(AllTokens(), args, branch, gradient));
      if (depth_ >= BackwardDepth::kOutputProjection) {
        RETURN_IF_ERROR(RecomputeNormedInput(AllTokens(), branch, args.kept));
      }
    } else if (HasProjectedArray(s_.spec)) {
      gradient = branch.projected_gradient;
    }
    if (depth_ >= BackwardDepth::kOutputProjection) {
      RETURN_IF_ERROR(ForEachPiece(tokens_, [&](const TokenRange& piece) {
        return BackwardOfPiece(piece, args, branch, gradient, weight_gradient);
      }));
    }
    if (HasUnit(0) && depth_ >= BackwardDepth::kInputProjections) {
      RETURN_IF_ERROR(BackwardOfRouter(args, all, branch, routing, weight_gradient));
      RETURN_IF_ERROR(FinishBackward(AllTokens(), args, branch));
    }
    return StoreSums();
  }

 private:
  // What the router made, for the tokens from the beginning of the arrays on.
  struct Routing {
    float* probabilities;
    int32_t* chosen;
    float* weights;
    explicit Routing(StageArrays& arrays)
        : probabilities(arrays.GetFp32(ArrayRole::kRouterProbabilities)),
          chosen(Integers(arrays, ArrayRole::kChosenExperts)),
          weights(arrays.GetFp32(ArrayRole::kRouterWeights)) {}
  };
  // The pairs of a piece of tokens, sorted by expert, and gate and up of their rows.
  struct Rows {
    int32_t *begins, *row_pairs, *row_tokens, *pair_rows;
    Values gate_up;
    explicit Rows(StageArrays& arrays)
        : begins(Integers(arrays, ArrayRole::kExpertBegins)),
          row_pairs(Integers(arrays, ArrayRole::kRowPairs)),
          row_tokens(Integers(arrays, ArrayRole::kRowTokens)),
          pair_rows(Integers(arrays, ArrayRole::kPairRows)),
          gate_up(arrays.Get(ArrayRole::kGateUp)) {}
  };
  static int32_t* Integers(StageArrays& arrays, ArrayRole role) {
    return reinterpret_cast<int32_t*>(arrays.GetFp32(role));
  }

  absl::Status Route(const StageForward& args, const Branch& branch, const Routing& routing) {
    const ConstValues x = ProjectionInput(branch, args.input);
    RETURN_IF_ERROR(ForEachPiece(tokens_, [&](const TokenRange& piece) {
      return s_.kernels.gemm(context_, {.form = GemmForm::kForward,
                                        .m = piece.count,
                                        .n = experts_.experts,
                                        .k = hidden_,
                                        .a = From(x, piece),
                                        .a_stride = hidden_,
                                        .b = Weight(TensorRole::kRouter),
                                        .b_stride = hidden_,
                                        .c = routing.probabilities + piece.begin * experts_.experts,
                                        .c_stride = experts_.experts});
    }));
    RETURN_IF_ERROR(s_.kernels.router_forward(context_, {.kind = KindOfWeights(),
                                                         .tokens = tokens_,
                                                         .experts = experts_.experts,
                                                         .per_token = experts_.experts_per_token,
                                                         .logits = routing.probabilities,
                                                         .bias = Weight(TensorRole::kRouterBias),
                                                         .probabilities = routing.probabilities,
                                                         .chosen = routing.chosen,
                                                         .weights = routing.weights}));
    if (args.router_sums == nullptr) return absl::OkStatus();
    return s_.kernels.router_statistics(context_,
                                        {.tokens = tokens_,
                                         .experts = experts_.experts,
                                         .per_token = experts_.experts_per_token,
                                         .records = s_.records,
                                         .probabilities = routing.probabilities,
                                         .chosen = routing.chosen,
                                         .counts = args.router_sums->counts,
                                         .probability_sums = args.router_sums->probabilities});
  }

  absl::Status SortPairs(const TokenRange& piece, const Routing& routing, const Rows& rows) {
    return s_.kernels.dispatch(context_, {.tokens = piece.count,
                                          .experts = experts_.experts,
                                          .per_token = experts_.experts_per_token,
                                          .chosen = routing.chosen,
                                          .begins = rows.begins,
                                          .row_pairs = rows.row_pairs,
                                          .row_tokens = rows.row_tokens,
                                          .pair_rows = rows.pair_rows});
  }

  // gate | up of the rows, from the inputs of a piece of tokens.
  absl::Status MultiplyGateUp(const TokenRange& piece, ConstValues x, const Rows& rows) {
    return s_.kernels.expert_gemm(context_,
                                  {.experts = count(),
                                   .begins = Begins(rows),
                                   .most_rows = RowsOf(piece),
                                   .n = 2 * width(),
                                   .k = hidden_,
                                   .a = x,
                                   .a_stride = hidden_,
                                   .a_rows = rows.row_tokens,
                                   .b = OfExperts(GateUpRole()),
                                   .b_transposed = fused_ ? Transposed::kNo : Transposed::kYes,
                                   .b_stride = fused_ ? 2 * width() : hidden_,
                                   .b_expert_stride = template_.expert_stride(),
                                   .c = rows.gate_up,
                                   .c_stride = 2 * width(),
                                   .bias = OfExperts(TensorRole::kGateUpBias),
                                   .bias_expert_stride = template_.expert_stride()});
  }

  CombinePairs Combine(const TokenRange& piece, CombineOrder order, const Routing& routing,
                       const Rows& rows, ConstValues values, bool add, float* sum) const {
    return {.order = order,
            .tokens = piece.count,
            .per_token = experts_.experts_per_token,
            .width = hidden_,
            .first_expert = units_.begin,
            .end_expert = units_.end,
            .chosen = routing.chosen,
            .pair_rows = rows.pair_rows,
            .rows = values,
            .add = add,
            .sum = sum};
  }

  // The experts of the call, for one piece of tokens; adds what they make of each token to `sum`,
  // unless that is null.
  absl::Status ForwardOfPiece(const TokenRange& piece, const StageForward& args,
                              const Branch& branch, float* sum) {
    StageArrays arrays = ForwardArrays(args, piece);
    const Routing routing(arrays);
    const Rows rows(arrays);
    const Values activated = arrays.Get(ArrayRole::kActivated);
    const Values output = arrays.Get(ArrayRole::kRowOutput);
    RETURN_IF_ERROR(arrays.status());
    RETURN_IF_ERROR(SortPairs(piece, routing, rows));
    RETURN_IF_ERROR(MultiplyGateUp(piece, InputOf(branch, args.input, piece), rows));
    if (sum == nullptr) return absl::OkStatus();
    RETURN_IF_ERROR(s_.kernels.expert_glu_forward(
        context_,
        {.shape = Glu(piece, routing, rows), .gate_up = rows.gate_up, .output = activated}));
    RETURN_IF_ERROR(s_.kernels.expert_gemm(
        context_, {.experts = count(),
                   .begins = Begins(rows),
                   .most_rows = RowsOf(piece),
                   .n = hidden_,
                   .k = width(),
                   .a = activated,
                   .a_stride = width(),
                   .b = OfExperts(DownRole()),
                   .b_transposed = fused_ ? Transposed::kNo : Transposed::kYes,
                   .b_stride = fused_ ? hidden_ : width(),
                   .b_expert_stride = template_.expert_stride(),
                   .c = output,
                   .c_stride = hidden_,
                   .bias = OfExperts(TensorRole::kExpertsDownBias),
                   .bias_expert_stride = template_.expert_stride(),
                   .row_scales = routing.weights,
                   .scale_pairs = rows.row_pairs}));
    return s_.kernels.combine_pairs(context_,
                                    Combine(piece, CombineOrder::kAscending, routing, rows, output,
                                            /*add=*/units_.begin > 0, sum + piece.begin * hidden_));
  }

  // The experts of the call, for one piece of tokens. `gradient` is that of the stage's output.
  absl::Status BackwardOfPiece(const TokenRange& piece, const StageBackward& args,
                               const Branch& all_branch, ConstValues all_gradient,
                               float* all_weight_gradients) {
    StageArrays arrays = BackwardArrays(args, piece);
    const Routing routing(arrays);
    const Rows rows(arrays);
    const Values activated = arrays.Get(ArrayRole::kActivated);
    const Values activated_gradient = arrays.Get(ArrayRole::kActivatedGradient);
    const Values gate_up_gradient = arrays.Get(ArrayRole::kGateUpGradient);
    const Values row_gradient = arrays.Get(ArrayRole::kRowInputGradient);
    RETURN_IF_ERROR(arrays.status());
    const ConstValues gradient = From(all_gradient, piece);
    const ConstValues x = InputOf(all_branch, all_branch.input, piece);
    RETURN_IF_ERROR(SortPairs(piece, routing, rows));
    const bool reads_gate_up = GoesBelow(BackwardDepth::kOutputProjection) || Trains(DownRole());
    if (!keeps() && reads_gate_up) RETURN_IF_ERROR(MultiplyGateUp(piece, x, rows));
    const ExpertGluShape glu = Glu(piece, routing, rows);
    if (GoesBelow(BackwardDepth::kOutputProjection)) {
      RETURN_IF_ERROR(s_.kernels.expert_gemm(
          context_, {.experts = count(),
                     .begins = Begins(rows),
                     .most_rows = RowsOf(piece),
                     .n = width(),
                     .k = hidden_,
                     .a = gradient,
                     .a_stride = hidden_,
                     .a_rows = rows.row_tokens,
                     .b = OfExperts(DownRole()),
                     .b_transposed = fused_ ? Transposed::kYes : Transposed::kNo,
                     .b_stride = fused_ ? hidden_ : width(),
                     .b_expert_stride = template_.expert_stride(),
                     .c = activated_gradient,
                     .c_stride = width()}));
      RETURN_IF_ERROR(s_.kernels.expert_glu_backward(
          context_,
          {.shape = glu,
           .gate_up = rows.gate_up,
           .output_gradient = activated_gradient,
           .output = activated,
           .gate_up_gradient = gate_up_gradient,
           .weight_gradient = all_weight_gradients + piece.begin * experts_.experts_per_token,
           .down_bias = OfExperts(TensorRole::kExpertsDownBias),
           .down_bias_expert_stride = template_.expert_stride(),
           .hidden = hidden_,
           .down_gradient = gradient,
           .row_tokens = rows.row_tokens}));
    } else if (Trains(DownRole())) {
      RETURN_IF_ERROR(s_.kernels.expert_glu_forward(
          context_, {.shape = glu, .gate_up = rows.gate_up, .output = activated}));
    }
    RETURN_IF_ERROR(DownGradients(piece, routing, rows, activated, gradient));
    if (!GoesBelow(BackwardDepth::kOutputProjection)) return absl::OkStatus();
    RETURN_IF_ERROR(GateUpGradients(piece, rows, x, gate_up_gradient));
    if (!GoesBelow(BackwardDepth::kInputProjections)) return absl::OkStatus();
    RETURN_IF_ERROR(s_.kernels.expert_gemm(
        context_, {.experts = count(),
                   .begins = Begins(rows),
                   .most_rows = RowsOf(piece),
                   .n = hidden_,
                   .k = 2 * width(),
                   .a = gate_up_gradient,
                   .a_stride = 2 * width(),
                   .b = OfExperts(GateUpRole()),
                   .b_transposed = fused_ ? Transposed::kYes : Transposed::kNo,
                   .b_stride = fused_ ? 2 * width() : hidden_,
                   .b_expert_stride = template_.expert_stride(),
                   .c = row_gradient,
                   .c_stride = hidden_}));
    return s_.kernels.combine_pairs(
        context_, Combine(piece, CombineOrder::kDescending, routing, rows, row_gradient,
                          /*add=*/units_.end < stage_.units,
                          all_branch.normed_gradient + piece.begin * hidden_));
  }

  absl::Status DownGradients(const TokenRange& piece, const Routing& routing, const Rows& rows,
                             ConstValues activated, ConstValues gradient) {
    if (Trains(DownRole())) {
      ExpertWeightGradient args = {.experts = count(),
                                   .begins = Begins(rows),
                                   .most_rows = RowsOf(piece),
                                   .m = hidden_,
                                   .n = width(),
                                   .a = gradient,
                                   .a_stride = hidden_,
                                   .a_rows = rows.row_tokens,
                                   .b = activated,
                                   .b_stride = width(),
                                   .gradient = GradientFrom(DownRole(), piece),
                                   .gradient_expert_stride = GradientStride()};
      if (fused_) {
        std::swap(args.m, args.n);
        std::swap(args.a, args.b);
        std::swap(args.a_stride, args.b_stride);
        std::swap(args.a_rows, args.b_rows);
      }
      RETURN_IF_ERROR(s_.kernels.expert_weight_gradient(context_, args));
    }
    if (!Trains(TensorRole::kExpertsDownBias)) return absl::OkStatus();
    return s_.kernels.expert_bias_gradient(
        context_, {.experts = count(),
                   .begins = Begins(rows),
                   .most_rows = RowsOf(piece),
                   .width = hidden_,
                   .output_gradient = gradient,
                   .output_stride = hidden_,
                   .rows = rows.row_tokens,
                   .row_scales = routing.weights,
                   .scale_pairs = rows.row_pairs,
                   .gradient = GradientFrom(TensorRole::kExpertsDownBias, piece),
                   .gradient_expert_stride = GradientStride()});
  }

  // Gate and up are one tensor, or two that may be trained one without the other.
  absl::Status GateUpGradients(const TokenRange& piece, const Rows& rows, ConstValues x,
                               ConstValues gate_up_gradient) {
    const auto of = [&](TensorRole role, int64_t first_column, int64_t columns) {
      if (!Trains(role)) return absl::OkStatus();
      ExpertWeightGradient args = {.experts = count(),
                                   .begins = Begins(rows),
                                   .most_rows = RowsOf(piece),
                                   .m = columns,
                                   .n = hidden_,
                                   .a = gate_up_gradient.From(first_column),
                                   .a_stride = 2 * width(),
                                   .b = x,
                                   .b_stride = hidden_,
                                   .b_rows = rows.row_tokens,
                                   .gradient = GradientFrom(role, piece),
                                   .gradient_expert_stride = GradientStride()};
      if (fused_) {
        std::swap(args.m, args.n);
        std::swap(args.a, args.b);
        std::swap(args.a_stride, args.b_stride);
        std::swap(args.a_rows, args.b_rows);
      }
      return s_.kernels.expert_weight_gradient(context_, args);
    };
    if (!fused_) {
      RETURN_IF_ERROR(of(TensorRole::kGate, 0, width()));
      return of(TensorRole::kUp, width(), width());
    }
    RETURN_IF_ERROR(of(TensorRole::kGateUp, 0, 2 * width()));
    if (!Trains(TensorRole::kGateUpBias)) return absl::OkStatus();
    return s_.kernels.expert_bias_gradient(
        context_, {.experts = count(),
                   .begins = Begins(rows),
                   .most_rows = RowsOf(piece),
                   .width = 2 * width(),
                   .output_gradient = gate_up_gradient,
                   .output_stride = 2 * width(),
                   .gradient = GradientFrom(TensorRole::kGateUpBias, piece),
                   .gradient_expert_stride = GradientStride()});
  }

  absl::Status BackwardOfRouter(const StageBackward& args, StageArrays& arrays,
                                const Branch& branch, const Routing& routing,
                                const float* weight_gradient) {
    const Values logits = arrays.Get(ArrayRole::kRouterGradient);
    float* probability_gradient = arrays.GetFp32(ArrayRole::kRouterLossGradient);
    RETURN_IF_ERROR(arrays.status());
    if (args.router_loss != nullptr) {
      const RouterLoss& loss = *args.router_loss;
      RETURN_IF_ERROR(
          s_.kernels.router_loss_gradient(context_, {.layers = loss.layers,
                                                     .experts = experts_.experts,
                                                     .counts = loss.counts,
                                                     .layer_stride = loss.layer_stride,
                                                     .scale = loss.scale,
                                                     .gradient = probability_gradient}));
    } else {
      probability_gradient = nullptr;
    }
    RETURN_IF_ERROR(
        s_.kernels.router_backward(context_, {.kind = KindOfWeights(),
                                              .tokens = tokens_,
                                              .experts = experts_.experts,
                                              .per_token = experts_.experts_per_token,
                                              .probabilities = routing.probabilities,
                                              .chosen = routing.chosen,
                                              .weights = routing.weights,
                                              .weight_gradient = weight_gradient,
                                              .probability_gradient = probability_gradient,
                                              .records = s_.records,
                                              .logit_gradient = logits}));
    const Matrix router = {TensorRole::kRouter, TensorRole::kRouterBias, hidden_, experts_.experts};
    RETURN_IF_ERROR(ForEachPiece(tokens_, [&](const TokenRange& piece) {
      return RouterGradients(piece, From(ProjectionInput(branch, branch.input), piece),
                             logits.From(piece.begin * experts_.experts));
    }));
    if (!GoesBelow(BackwardDepth::kInputProjections)) return absl::OkStatus();
    const Values sum(branch.normed_gradient);
    return InputGradient(AllTokens(), logits, router, sum, sum);
  }

  absl::Status RouterGradients(const TokenRange& piece, ConstValues x, ConstValues logits) {
    if (Trains(TensorRole::kRouter)) {
      RETURN_IF_ERROR(s_.kernels.weight_gradient(
          context_, {.m = experts_.experts,
                     .n = hidden_,
                     .k = piece.count,
                     .output_gradient = logits,
                     .output_stride = experts_.experts,
                     .input = x,
                     .input_stride = hidden_,
                     .gradient = GradientFrom(TensorRole::kRouter, piece)}));
    }
    if (!Trains(TensorRole::kRouterBias)) return absl::OkStatus();
    return s_.kernels.bias_gradient(context_,
                                    {.tokens = piece.count,
                                     .width = experts_.experts,
                                     .output_gradient = logits,
                                     .gradient = GradientFrom(TensorRole::kRouterBias, piece)});
  }

  // Where the trained tensors of these units are among the trained parameters of the chunk, by role
  // (of an expert's: those of the first one), and what one expert has of them.
  void FindTrained() {
    trained_offset_.fill(-1);
    int64_t offset = 0;
    const auto visit = [&](const TensorSpec& tensor, int64_t parameters) {
      if (!tensor.trained) return;
      int64_t& place = trained_offset_[static_cast<size_t>(tensor.role)];
      if (place < 0) place = offset;
      offset += parameters;
    };
    const auto visit_unit = [&](int64_t unit) {
      for (const TensorSpec& tensor : stage_.tensors) {
        const auto parameters = static_cast<int64_t>(tensor.parameters);
        if (tensor.split_axis >= 0) {
          visit(tensor, parameters / stage_.units);
        } else if (tensor.unit == unit) {
          visit(tensor, parameters);
        }
      }
    };
    visit_unit(units_.begin);
    // The others have the same, but for what belongs to the first or the last unit alone.
    trained_stride_ = 0;
    for (const TensorSpec& tensor : stage_.tensors) {
      if (!tensor.trained) continue;
      if (tensor.split_axis >= 0) {
        trained_stride_ += static_cast<int64_t>(tensor.parameters) / stage_.units;
      } else if (tensor.expert == 0) {
        trained_stride_ += static_cast<int64_t>(tensor.parameters);
      }
    }
  }

  // Where the gradient that comes from a piece of the tokens goes: to the gradient of the chunk, or
  // to the sum over the pieces.
  GradientOut GradientFrom(TensorRole role, const TokenRange& piece) const {
    const int64_t offset = trained_offset_[static_cast<size_t>(role)];
    CHECK(offset >= 0);
    if (piece.count == tokens_) return gradient_.From(offset);
    CHECK(gradient_sum_ != nullptr);
    return {.sum = gradient_sum_ + offset, .add = piece.begin > 0};
  }
  int64_t GradientStride() const { return trained_stride_; }

  // Rounds the sums over several pieces. The norms' gradients are not among them: they have all
  // tokens at once.
  absl::Status StoreSums() {
    if (gradient_sum_ == nullptr) return absl::OkStatus();
    const auto trained = static_cast<int64_t>(TrainedInUnits(stage_, units_));
    int64_t begin = 0;
    int64_t end = trained;
    if (HasUnit(0) && Trains(TensorRole::kNorm)) begin = hidden_;
    if (HasUnit(stage_.units - 1) && Trains(TensorRole::kNormAfter)) end -= hidden_;
    return begin < end ? StoreGradientSum(end - begin, gradient_sum_ + begin, gradient_.From(begin))
                       : absl::OkStatus();
  }

  // The input of the experts, for the tokens of a piece.
  ConstValues InputOf(const Branch& branch, ConstValues input, const TokenRange& piece) const {
    return From(ProjectionInput(branch, input), piece);
  }

  // The weights of the first expert of the call; null where the model has no such tensor.
  ConstValues OfExperts(TensorRole role) const {
    const StageTemplate::TensorPlace& place = template_.TensorAt(role);
    if (place.offset < 0) return {};
    return weights_.From(place.offset + units_.begin * template_.expert_stride() -
                         template_.BeginOfUnit(units_.begin));
  }
  TensorRole GateUpRole() const { return fused_ ? TensorRole::kGateUp : TensorRole::kGate; }
  TensorRole DownRole() const { return fused_ ? TensorRole::kExpertsDown : TensorRole::kDown; }

  ExpertGluShape Glu(const TokenRange& piece, const Routing& routing, const Rows& rows) const {
    return {.activation = s_.spec.activation == Activation::kGeluTanh ? GluActivation::kGeluTanh
                                                                      : GluActivation::kSilu,
            .layout = fused_ ? GateUpLayout::kInterleaved : GateUpLayout::kHalves,
            .limit = static_cast<float>(s_.spec.swiglu_limit),
            .alpha = static_cast<float>(s_.spec.swiglu_alpha),
            .width = width(),
            .experts = count(),
            .begins = Begins(rows),
            .most_rows = RowsOf(piece),
            .row_pairs = rows.row_pairs,
            .weights = routing.weights};
  }

  RouterWeights KindOfWeights() const {
    return experts_.normalise_top_k ? RouterWeights::kSoftmaxOfChosen
                                    : RouterWeights::kSoftmaxOfAll;
  }
  bool keeps() const { return template_.options().keep_feed_forward; }
  int64_t width() const { return experts_.intermediate; }
  int64_t count() const { return units_.end - units_.begin; }
  const int32_t* Begins(const Rows& rows) const { return rows.begins + units_.begin; }
  int64_t RowsOf(const TokenRange& piece) const { return piece.count * experts_.experts_per_token; }

  const ExpertsSpec& experts_;
  const bool fused_;
  std::array<int64_t, kTensorRoles> trained_offset_;
  int64_t trained_stride_ = 0;
};

}  // namespace

absl::Status ExpertsForwardPass(const LayerShapes& shapes, const StageForward& args,
                                const KernelContext& context) {
  return ExpertsCalls(shapes, args.stage, args.units, args.weights, context).Forward(args);
}

absl::Status ExpertsBackwardPass(const LayerShapes& shapes, const StageBackward& args,
                                 const KernelContext& context) {
  return ExpertsCalls(shapes, args.stage, args.units, args.weights, context).Backward(args);
}

}  // namespace horizon

#include <algorithm>
#include <limits>
#include <string_view>

#include "common/cuda_status.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/cuda/cuda_arguments.h"
#include "kernels/gemm/cublas_gemm.h"
#include "kernels/head/head_loss.h"
#include "kernels/head/head_loss_launch.h"

namespace horizon {
namespace {

constexpr std::string_view kWhat = "compute the loss on the CUDA device";
constexpr std::string_view kOperation = "the loss";  // before " on CUDA"

// Algorithms are chosen for these, so that they are the same for every loss chunk and shard.
constexpr int64_t kChosenForTokens = 1024;
constexpr int64_t kChosenForRows = 8192;
// Rows of the weight gradient that tokens are summed into before the next rows have their turn:
// few enough to stay in the second-level cache (1024 x 4096 fp32 are 16 MiB) from one tile of
// tokens to the next, which only gives them little work each.
constexpr int64_t kWeightRowsAtOnce = 1024;
static_assert(kWeightRowsAtOnce % kVocabularyTileRows == 0);

absl::Status Check(const KernelContext& context, const HeadShape& shape,
                   std::initializer_list<ConstValues> arrays,
                   std::initializer_list<const void*> others) {
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max() / 2;
  const bool sizes_are_right = shape.tokens >= 0 && shape.tokens <= kMost && shape.hidden > 0 &&
                               shape.hidden <= kMost && shape.hidden % 8 == 0 && shape.rows >= 0 &&
                               shape.rows <= kMost && CudaLogitStride(shape.rows) <= kMost &&
                               shape.first_row >= 0 && shape.first_row % kVocabularyTileRows == 0;
  if (!sizes_are_right) {
    return absl::InvalidArgumentError(StrCat(
        "the loss of ", shape.tokens, " tokens of width ", shape.hidden, " over ", shape.rows,
        " rows of the vocabulary from ", shape.first_row, " on: on CUDA all are below 2^30, the ",
        "width is a multiple of 8, and a shard begins at a multiple of ", kVocabularyTileRows));
  }
  CudaArguments arguments(context, kOperation);
  RETURN_IF_ERROR(arguments.status());
  if (shape.tokens == 0 || shape.rows == 0) return absl::OkStatus();
  for (const void* other : others) {
    if (other == nullptr || reinterpret_cast<uintptr_t>(other) % 4 != 0) {
      return absl::InvalidArgumentError(
          StrCat("cannot ", kWhat, ": records, sums or scratch are missing"));
    }
  }
  for (const ConstValues& array : arrays) arguments.AlignedBf16("input or weights", array);
  return arguments.status();
}

// Args: HeadLogSumExp or HeadLoss.
template <typename Args>
LogitRows RowsOf(const Args& args) {
  return {.tokens = args.shape.tokens,
          .first_row = args.shape.first_row,
          .rows = args.shape.rows,
          .stride = CudaLogitStride(args.shape.rows),
          .logit_scale = args.logit_scale,
          .logits = args.logits,
          .records = args.records};
}

absl::Status ComputeLogits(const KernelContext& context, const HeadShape& shape, ConstValues input,
                           ConstValues weights, float* logits) {
  return MultiplyOnDevice(context, {.m = shape.tokens,
                                    .n = shape.rows,
                                    .k = shape.hidden,
                                    .b_transposed = Transposed::kYes,
                                    .a = input,
                                    .a_stride = shape.hidden,
                                    .b = weights,
                                    .b_stride = shape.hidden,
                                    .c = logits,
                                    .c_stride = CudaLogitStride(shape.rows),
                                    .chosen_for_m = kChosenForTokens,
                                    .chosen_for_n = kChosenForRows});
}

// What the gradients of logits, which lie in the first half of each row of logits, are multiplied
// with to give those of weights and input.
class HeadGradients {
 public:
  HeadGradients(const KernelContext& context, const HeadLoss& args)
      : context_(context),
        args_(args),
        shape_(args.shape),
        logit_gradients_(static_cast<const void*>(args.logits), ValueType::kBf16) {}

  // Tile of tokens by tile, so that chunks add up to the same bits.
  absl::Status AddToWeights() const {
    for (int64_t row = 0; row < shape_.rows; row += kWeightRowsAtOnce) {
      for (int64_t token = 0; token < shape_.tokens; token += kLossTileTokens) {
        float* sums = args_.weight_gradient + row * shape_.hidden;
        RETURN_IF_ERROR(MultiplyOnDevice(
            context_,
            {.m = std::min(kWeightRowsAtOnce, shape_.rows - row),
             .n = shape_.hidden,
             .k = std::min(kLossTileTokens, shape_.tokens - token),
             .a_transposed = Transposed::kYes,
             .a = logit_gradients_.From(token * stride() + row),
             .a_stride = stride(),
             .b = args_.input.From(token * shape_.hidden),
             .b_stride = shape_.hidden,
             .c = sums,
             .c_stride = shape_.hidden,
             .initial = args_.first_chunk && token == 0 ? ConstValues() : ConstValues(sums),
             .chosen_for_m = kWeightRowsAtOnce}));
      }
    }
    return absl::OkStatus();
  }

  // Tile of the vocabulary by tile, so that shards add up to the same bits.
  absl::Status AddToInput(float* sums) const {
    for (int64_t row = 0; row < shape_.rows; row += kVocabularyTileRows) {
      const bool begins = shape_.first_row == 0 && row == 0;
      RETURN_IF_ERROR(
          MultiplyOnDevice(context_, {.m = shape_.tokens,
                                      .n = shape_.hidden,
                                      .k = std::min(kVocabularyTileRows, shape_.rows - row),
                                      .a = logit_gradients_.From(row),
                                      .a_stride = stride(),
                                      .b = args_.weights.From(row * shape_.hidden),
                                      .b_stride = shape_.hidden,
                                      .c = sums,
                                      .c_stride = shape_.hidden,
                                      .initial = begins ? ConstValues() : ConstValues(sums),
                                      .chosen_for_m = kChosenForTokens}));
    }
    return absl::OkStatus();
  }

 private:
  int64_t stride() const { return 2 * CudaLogitStride(shape_.rows); }

  const KernelContext& context_;
  const HeadLoss& args_;
  const HeadShape& shape_;
  ConstValues logit_gradients_;
};

// Where the input's gradient is summed: in itself, where it is kept between shards, or in the
// workspace; nowhere when it is not wanted.
absl::StatusOr<float*> InputSums(const KernelContext& context, const HeadLoss& args) {
  if (args.input_gradient == nullptr) return nullptr;
  if (args.input_gradient.type() == ValueType::kFp32) return args.input_gradient.fp32();
  if (args.input_gradient_sum != nullptr) return args.input_gradient_sum;
  if (args.sums_complete || args.shape.first_row != 0 || !args.last_shard) {
    return absl::InvalidArgumentError(StrCat(
        "cannot ", kWhat, ": a shard of the head needs memory that keeps the input's gradient"));
  }
  RETURN_IF_ERROR(
      CudaArguments(context, kOperation).Workspace(HeadLossWorkspaceBytes(args.shape)).status());
  return reinterpret_cast<float*>(context.device_workspace.data());
}

// Gradients may be missing, but not lie anywhere.
absl::Status CheckGradients(const HeadLoss& args) {
  const std::initializer_list<const void*> gradients = {args.weight_gradient,
                                                        args.input_gradient.data()};
  for (const void* gradient : gradients) {
    if (reinterpret_cast<uintptr_t>(gradient) % 16 == 0) continue;
    return absl::InvalidArgumentError(
        StrCat("cannot ", kWhat, ": a gradient is not on a border of 16 bytes"));
  }
  return absl::OkStatus();
}

// What is left to do where there are no tokens, or no rows.
absl::Status StoreNothing(const KernelContext& context, const HeadLoss& args) {
  const HeadShape& shape = args.shape;
  const auto weights = static_cast<uint64_t>(shape.rows * shape.hidden);
  const auto inputs = static_cast<uint64_t>(shape.tokens * shape.hidden);
  if (args.first_chunk && weights > 0 && args.weight_gradient != nullptr) {
    RETURN_IF_ERROR(RunOnCuda(kWhat, [&] {
      return LaunchZeroBytes(args.weight_gradient, weights * sizeof(float), context.stream);
    }));
  }
  if (shape.first_row > 0 || inputs == 0 || args.input_gradient == nullptr) {
    return absl::OkStatus();
  }
  if (args.input_gradient_sum != nullptr) {
    RETURN_IF_ERROR(RunOnCuda(kWhat, [&] {
      return LaunchZeroBytes(args.input_gradient_sum, inputs * sizeof(float), context.stream);
    }));
  }
  const auto bytes = static_cast<uint64_t>(BytesOf(args.input_gradient.type()));
  return RunOnCuda(kWhat, [&] {
    return LaunchZeroBytes(args.input_gradient.data(), inputs * bytes, context.stream);
  });
}

// Of logits and complete sums, with the gradients of the logits in the place of the logits.
// `input_sums` as InputSums says.
absl::Status Differentiate(const KernelContext& context, const HeadLoss& args, float* input_sums) {
  RETURN_IF_ERROR(RunOnCuda(kWhat, [&] {
    return LaunchDifferentiateLogits(RowsOf(args), args.sums, args.logit_scale * args.scale,
                                     context.stream);
  }));
  const HeadGradients gradients(context, args);
  if (args.weight_gradient != nullptr) RETURN_IF_ERROR(gradients.AddToWeights());
  if (input_sums == nullptr) return absl::OkStatus();
  RETURN_IF_ERROR(gradients.AddToInput(input_sums));
  if (args.input_gradient.type() == ValueType::kFp32 || !args.last_shard) return absl::OkStatus();
  return RunOnCuda(kWhat, [&] {
    return LaunchRoundValues(args.shape.tokens * args.shape.hidden, input_sums,
                             args.input_gradient.bf16(), context.stream);
  });
}

}  // namespace

absl::Status HeadLogSumExpCuda(const KernelContext& context, const HeadLogSumExp& args) {
  const HeadShape& shape = args.shape;
  RETURN_IF_ERROR(
      Check(context, shape, {args.input, args.weights}, {args.records, args.sums, args.logits}));
  if (shape.tokens == 0 || shape.rows == 0) return absl::OkStatus();
  RETURN_IF_ERROR(ComputeLogits(context, shape, args.input, args.weights, args.logits));
  return RunOnCuda(kWhat, [&] { return LaunchSumLogits(RowsOf(args), args.sums, context.stream); });
}

absl::Status HeadLossCuda(const KernelContext& context, const HeadLoss& args) {
  const HeadShape& shape = args.shape;
  RETURN_IF_ERROR(Check(context, shape, {args.input, args.weights},
                        {args.records, args.sums, args.logits, args.loss}));
  if (!args.sums_complete && shape.first_row != 0) {
    return absl::InvalidArgumentError(StrCat("the loss over ", shape.rows, " rows from ",
                                             shape.first_row,
                                             " on: not the whole vocabulary, and no sums given"));
  }
  if (args.clear_loss) {
    RETURN_IF_ERROR(RunOnCuda(
        kWhat, [&] { return LaunchZeroBytes(args.loss, sizeof(LossSum), context.stream); }));
  }
  if (shape.tokens == 0 || shape.rows == 0) return StoreNothing(context, args);
  RETURN_IF_ERROR(CheckGradients(args));
  ASSIGN_OR_RETURN(float* const input_sums, InputSums(context, args));
  const bool has_gradients = args.weight_gradient != nullptr || input_sums != nullptr;
  if (has_gradients || !args.sums_complete) {
    RETURN_IF_ERROR(ComputeLogits(context, shape, args.input, args.weights, args.logits));
  }
  if (!args.sums_complete) {
    RETURN_IF_ERROR(
        RunOnCuda(kWhat, [&] { return LaunchSumLogits(RowsOf(args), args.sums, context.stream); }));
  }
  if (shape.first_row == 0) {
    RETURN_IF_ERROR(RunOnCuda(kWhat, [&] {
      return LaunchAddLosses(shape.tokens, args.records, args.sums, args.loss, context.stream);
    }));
  }
  return has_gradients ? Differentiate(context, args, input_sums) : absl::OkStatus();
}

}  // namespace horizon

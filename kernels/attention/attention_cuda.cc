#include <algorithm>
#include <string>

#include "common/cuda_status.h"
#include "common/status_macros.h"
#include "common/text/str_cat.h"
#include "kernels/attention/attention.h"
#include "kernels/attention/attention_device_memory.h"
#include "kernels/attention/attention_launch.h"
#include "kernels/attention/attention_tiles.h"
#include "kernels/attention/sink_gradient.h"
#include "kernels/cuda/cuda_arguments.h"
#include "kernels/gemm/cublas_gemm.h"

namespace horizon {
namespace {

// The matrix multiplies of attention between one tile of queries and one tile of keys. In
// head-major layout the heads of a group are contiguous, so one multiply with a batch of kv_heads
// matrices serves all heads: its rows are the queries of all heads of a group.
class AttentionGemms {
 public:
  AttentionGemms(const KernelContext& context, const AttentionShape& shape, int64_t queries)
      : context_(context), shape_(shape), rows_(shape.heads / shape.kv_heads * queries) {}

  // scores[rows, keys] = alpha x[rows, head_dim] y[keys, head_dim]^T
  absl::Status ComputeScores(const uint16_t* x, ConstValues y, int64_t keys, float alpha,
                             float* scores) const {
    return MultiplyOnDevice(context_, {.m = rows_,
                                       .n = keys,
                                       .k = shape_.head_dim,
                                       .batch = shape_.kv_heads,
                                       .b_transposed = Transposed::kYes,
                                       .alpha = alpha,
                                       .a = x,
                                       .a_stride = shape_.head_dim,
                                       .a_batch_stride = rows_ * shape_.head_dim,
                                       .b = y,
                                       .b_stride = KeyStride(shape_),
                                       .b_batch_stride = shape_.head_dim,
                                       .c = scores,
                                       .c_stride = kDeviceKeyTile,
                                       .c_batch_stride = rows_ * kDeviceKeyTile});
  }

  // sums[rows, head_dim] (+)= alpha x[rows, keys] y[keys, head_dim]
  absl::Status SumOverKeys(const float* x, ConstValues y, int64_t keys, float alpha,
                           bool is_first_tile, float* sums) const {
    return MultiplyOnDevice(context_, {.m = rows_,
                                       .n = shape_.head_dim,
                                       .k = keys,
                                       .batch = shape_.kv_heads,
                                       .alpha = alpha,
                                       .a = Rounded(x),
                                       .a_stride = kRoundedStride,
                                       .a_batch_stride = rows_ * kRoundedStride,
                                       .b = y,
                                       .b_stride = KeyStride(shape_),
                                       .b_batch_stride = shape_.head_dim,
                                       .c = sums,
                                       .c_stride = shape_.head_dim,
                                       .c_batch_stride = rows_ * shape_.head_dim,
                                       .initial = is_first_tile ? nullptr : sums});
  }

  // sums[keys, head_dim] += alpha x[rows, keys]^T y[rows, head_dim]
  absl::Status SumOverQueries(const float* x, const uint16_t* y, int64_t keys, float alpha,
                              float* sums) const {
    return MultiplyOnDevice(context_, {.m = keys,
                                       .n = shape_.head_dim,
                                       .k = rows_,
                                       .batch = shape_.kv_heads,
                                       .a_transposed = Transposed::kYes,
                                       .alpha = alpha,
                                       .a = Rounded(x),
                                       .a_stride = kRoundedStride,
                                       .a_batch_stride = rows_ * kRoundedStride,
                                       .b = y,
                                       .b_stride = shape_.head_dim,
                                       .b_batch_stride = rows_ * shape_.head_dim,
                                       .c = sums,
                                       .c_stride = KeyStride(shape_),
                                       .c_batch_stride = shape_.head_dim,
                                       .initial = sums});
  }

 private:
  static constexpr int64_t kRoundedStride = 2 * int64_t{kDeviceKeyTile};
  static ConstValues Rounded(const float* scores) { return {scores, ValueType::kBf16}; }

  const KernelContext& context_;
  const AttentionShape& shape_;
  int64_t rows_;
};

// The keys that the queries may attend to, whatever the samples, from the beginning of a key tile
// on.
Positions KeysOf(const AttentionShape& shape, const Positions& queries) {
  const int64_t first =
      shape.window > 0 ? std::max<int64_t>(0, queries.begin - shape.window + 1) : 0;
  return {.begin = first / kDeviceKeyTile * kDeviceKeyTile, .end = queries.end};
}

HeadsOfTokens HeadsOf(const AttentionShape& shape, const Positions& queries) {
  return {.tokens = queries.size(), .heads = shape.heads, .width = shape.head_dim};
}

ScoreTile TileOf(const AttentionShape& shape, const TokenRecord* records, const Positions& queries,
                 const Positions& keys) {
  return {.records = records,
          .heads = shape.heads,
          .queries = queries.size(),
          .first_query = queries.begin,
          .first_key = keys.begin,
          .keys = keys.size(),
          .window = shape.window};
}

Positions KeyTileFrom(int64_t begin, const Positions& keys) {
  return {.begin = begin, .end = std::min(begin + kDeviceKeyTile, keys.end)};
}

absl::Status ForwardOfTile(const KernelContext& context, const AttentionForward& args,
                           int64_t batch, const Positions& queries,
                           const AttentionForwardMemory& memory) {
  constexpr std::string_view kWhat = "attend on the CUDA device";
  const AttentionShape& shape = args.shape;
  const AttentionGemms gemms(context, shape, queries.size());
  const HeadsOfTokens heads = HeadsOf(shape, queries);
  const int64_t query_row = QueryRow(shape, batch, 0, queries.begin);
  RETURN_IF_ERROR(RunOnCuda(kWhat, [&] {
    return LaunchPackHeads(heads, args.q.bf16() + query_row, memory.q, context.stream);
  }));
  const Positions all_keys = KeysOf(shape, queries);
  for (int64_t begin = all_keys.begin; begin < all_keys.end; begin += kDeviceKeyTile) {
    const Positions keys = KeyTileFrom(begin, all_keys);
    const int64_t key_row = KeyRow(shape, batch, 0, keys.begin);
    const bool is_first_tile = begin == all_keys.begin;
    RETURN_IF_ERROR(gemms.ComputeScores(memory.q, args.k.From(key_row), keys.size(), shape.scale,
                                        memory.scores));
    RETURN_IF_ERROR(RunOnCuda(kWhat, [&] {
      return LaunchSoftmaxTile(
          {.tile = TileOf(shape, args.records + batch * shape.sequence, queries, keys),
           .sinks = args.sinks.bf16(),
           .scores = memory.scores,
           .largest = memory.largest,
           .sum = memory.sum,
           .output = memory.output,
           .width = shape.head_dim,
           .is_first_tile = is_first_tile},
          context.stream);
    }));
    RETURN_IF_ERROR(gemms.SumOverKeys(memory.scores, args.v.From(key_row), keys.size(), 1.0f,
                                      is_first_tile, memory.output));
  }
  return RunOnCuda(kWhat, [&] {
    return LaunchNormalizeOutput(
        {.shape = heads,
         .largest = memory.largest,
         .sum = memory.sum,
         .head_major = memory.output,
         .output = args.output.bf16() + query_row,
         .log_sum_exp = args.log_sum_exp + HeadEntry(shape, batch, 0, queries.begin)},
        context.stream);
  });
}

constexpr std::string_view kBackward = "differentiate attention on the CUDA device";

absl::Status BackwardOfTile(const KernelContext& context, const AttentionBackward& args,
                            int64_t batch, const Positions& queries,
                            const AttentionBackwardMemory& memory) {
  const AttentionShape& shape = args.shape;
  const AttentionGemms gemms(context, shape, queries.size());
  const HeadsOfTokens heads = HeadsOf(shape, queries);
  const int64_t query_row = QueryRow(shape, batch, 0, queries.begin);
  const int64_t entry = HeadEntry(shape, batch, 0, queries.begin);
  RETURN_IF_ERROR(RunOnCuda(kBackward, [&] {
    return LaunchPackHeads(heads, args.q.bf16() + query_row, memory.q, context.stream);
  }));
  RETURN_IF_ERROR(RunOnCuda(kBackward, [&] {
    return LaunchPackHeads(heads, args.output_gradient.bf16() + query_row, memory.output_gradient,
                           context.stream);
  }));
  const Positions all_keys = KeysOf(shape, queries);
  for (int64_t begin = all_keys.begin; begin < all_keys.end; begin += kDeviceKeyTile) {
    const Positions keys = KeyTileFrom(begin, all_keys);
    const ConstValues k = args.k.From(KeyRow(shape, batch, 0, keys.begin));
    const ConstValues v = args.v.From(KeyRow(shape, batch, 0, keys.begin));
    const int64_t sums = keys.begin * KeyStride(shape);
    const int64_t count = keys.size();
    RETURN_IF_ERROR(gemms.ComputeScores(memory.q, k, count, shape.scale, memory.scores));
    RETURN_IF_ERROR(
        gemms.ComputeScores(memory.output_gradient, v, count, 1.0f, memory.score_gradients));
    RETURN_IF_ERROR(RunOnCuda(kBackward, [&] {
      return LaunchScoreGradients(
          {.tile = TileOf(shape, args.records + batch * shape.sequence, queries, keys),
           .log_sum_exp = args.log_sum_exp + entry,
           .output_dot = args.output_dot + entry,
           .scores = memory.scores,
           .gradients = memory.score_gradients},
          context.stream);
    }));
    RETURN_IF_ERROR(gemms.SumOverQueries(memory.scores, memory.output_gradient, count, 1.0f,
                                         memory.v_gradient + sums));
    RETURN_IF_ERROR(gemms.SumOverQueries(memory.score_gradients, memory.q, count, shape.scale,
                                         memory.k_gradient + sums));
    RETURN_IF_ERROR(gemms.SumOverKeys(memory.score_gradients, k, count, shape.scale,
                                      begin == all_keys.begin, memory.q_gradient));
  }
  return RunOnCuda(kBackward, [&] {
    return LaunchUnpackHeads(heads, memory.q_gradient, args.q_gradient.bf16() + query_row,
                             context.stream);
  });
}

// The gradients of keys and values start at 0 and are summed over tiles of queries.
absl::Status BackwardOfSequence(const KernelContext& context, const AttentionBackward& args,
                                int64_t batch, const AttentionBackwardMemory& memory) {
  const AttentionShape& shape = args.shape;
  const HeadsOfTokens keys = {.tokens = shape.sequence, .heads = 1, .width = KeyStride(shape)};
  for (float* sums : {memory.k_gradient, memory.v_gradient}) {
    RETURN_IF_ERROR(RunOnCuda(
        kBackward, [&] { return LaunchZeros(sums, keys.tokens * keys.width, context.stream); }));
  }
  for (int64_t tile = 0; tile < TileCount(shape.sequence, kDeviceQueryTile); ++tile) {
    RETURN_IF_ERROR(BackwardOfTile(context, args, batch,
                                   TileAt(shape.sequence, kDeviceQueryTile, tile), memory));
  }
  const int64_t key_row = KeyRow(shape, batch, 0, 0);
  RETURN_IF_ERROR(RunOnCuda(kBackward, [&] {
    return LaunchUnpackHeads(keys, memory.k_gradient, args.k_gradient.bf16() + key_row,
                             context.stream);
  }));
  return RunOnCuda(kBackward, [&] {
    return LaunchUnpackHeads(keys, memory.v_gradient, args.v_gradient.bf16() + key_row,
                             context.stream);
  });
}

// Uses the workspace before the tiles do.
absl::Status BackwardOfSinks(const KernelContext& context, const AttentionBackward& args) {
  if (!args.sinks_gradient.is_needed()) return absl::OkStatus();
  return SinkGradientCuda(context, {.tokens = args.shape.batch * args.shape.sequence,
                                    .heads = args.shape.heads,
                                    .sinks = args.sinks,
                                    .log_sum_exp = args.log_sum_exp,
                                    .output_dot = args.output_dot,
                                    .gradient = args.sinks_gradient});
}

absl::Status CheckDeviceShape(const AttentionShape& shape) {
  RETURN_IF_ERROR(CheckAttentionShape(shape));
  if (shape.head_dim % 8 == 0) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("attention of heads of ", shape.head_dim,
                                           " on the CUDA device: widths are multiples of 8"));
}

}  // namespace

absl::Status AttentionForwardCuda(const KernelContext& context, const AttentionForward& args) {
  const AttentionShape& shape = args.shape;
  RETURN_IF_ERROR(CheckDeviceShape(shape));
  if (shape.batch == 0 || shape.sequence == 0) return absl::OkStatus();
  RETURN_IF_ERROR(CudaArguments(context, "attention")
                      .Workspace(AttentionForwardWorkspaceBytes(shape))
                      .AlignedBf16("q", args.q)
                      .AlignedBf16("k", args.k)
                      .AlignedBf16("v", args.v)
                      .Bf16OrNull("sinks", args.sinks)
                      .AlignedBf16("output", args.output)
                      .Array("records", args.records)
                      .Array("log_sum_exp", args.log_sum_exp)
                      .status());
  WorkspaceAllocator workspace(context.device_workspace.data());
  const AttentionForwardMemory memory(shape, workspace);
  for (int64_t batch = 0; batch < shape.batch; ++batch) {
    for (int64_t tile = 0; tile < TileCount(shape.sequence, kDeviceQueryTile); ++tile) {
      RETURN_IF_ERROR(ForwardOfTile(context, args, batch,
                                    TileAt(shape.sequence, kDeviceQueryTile, tile), memory));
    }
  }
  return absl::OkStatus();
}

absl::Status AttentionBackwardCuda(const KernelContext& context, const AttentionBackward& args) {
  const AttentionShape& shape = args.shape;
  RETURN_IF_ERROR(CheckDeviceShape(shape));
  if (shape.batch == 0 || shape.sequence == 0) return BackwardOfSinks(context, args);
  RETURN_IF_ERROR(CudaArguments(context, "the gradient of attention")
                      .Workspace(AttentionBackwardWorkspaceBytes(shape))
                      .AlignedBf16("q", args.q)
                      .AlignedBf16("k", args.k)
                      .AlignedBf16("v", args.v)
                      .AlignedBf16("output", args.output)
                      .AlignedBf16("output_gradient", args.output_gradient)
                      .AlignedBf16("q_gradient", args.q_gradient)
                      .AlignedBf16("k_gradient", args.k_gradient)
                      .AlignedBf16("v_gradient", args.v_gradient)
                      .Array("records", args.records)
                      .Array("log_sum_exp", args.log_sum_exp)
                      .Array("output_dot", args.output_dot)
                      .status());
  RETURN_IF_ERROR(RunOnCuda(kBackward, [&] {
    return LaunchRowDots({.rows = shape.batch * shape.sequence * shape.heads,
                          .width = shape.head_dim,
                          .a = args.output.bf16(),
                          .b = args.output_gradient.bf16(),
                          .dots = args.output_dot},
                         context.stream);
  }));
  RETURN_IF_ERROR(BackwardOfSinks(context, args));
  WorkspaceAllocator workspace(context.device_workspace.data());
  const AttentionBackwardMemory memory(shape, workspace);
  for (int64_t batch = 0; batch < shape.batch; ++batch) {
    RETURN_IF_ERROR(BackwardOfSequence(context, args, batch, memory));
  }
  return absl::OkStatus();
}

}  // namespace horizon
